// Givens rotations (and 2 x 2 reflections) on a tile:
//
//     forward   (y_i, y_j) <- B^T (y_i, y_j)   from G_g to G_1
//     inverse   (y_i, y_j) <- B (y_i, y_j)     from G_1 to G_g
//
// in two operations instead of four. Write y_i = d_i p and y_j = d_j q, where the factors d belong
// to the plan and are the same for all signals. A rotation then computes p + alpha q and q + beta
// p, and the factors d change by the larger of cosine and sine. The final factors are multiplied at
// the end. NumPy twins: tests/reference.py, givens_forward and givens_inverse.
#pragma once

#include "kernels/simd/vector.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// STRIDE is the width if it is known at compile time, else 0.
template <class T, int STRIDE>
FOST_INLINE void rotate_rows(const Rotations<T>& rotations, T* tile, Index width, Prefetch& ahead) {
  const Index stride = STRIDE ? STRIDE : width;
  const RowPair* rows = rotations.rows;
  const T* factors = rotations.factors;
  Prefetch local = ahead;
  for (const RowPair* end = rows + 2 * rotations.count; rows < end; rows += 2, factors += 2) {
    const RowPair from = rows[0], to = rows[1];
    const T *p = tile + first_row(from) * stride, *q = tile + second_row(from) * stride;
    T *i = tile + first_row(to) * stride, *j = tile + second_row(to) * stride;
    Vec<T> alpha = factors[0] - Vec<T>{}, beta = factors[1] - Vec<T>{};
    keep_in_register(alpha);
    keep_in_register(beta);
#pragma GCC unroll 4
    for (int v = 0; v < WIDTH<T>; v += LANES<T>) {
      const Vec<T> a = load(p + v), b = load(q + v);
      store(i + v, a + alpha * b);
      store(j + v, b + beta * a);
    }
    local.step();
  }
  ahead = local;
}

// All rotations, without the final factors d.
template <class T>
void rotate(const Rotations<T>& rotations, T* tile, Index width, Prefetch& ahead) {
  if (width == WIDTH<T>)
    rotate_rows<T, WIDTH<T>>(rotations, tile, width, ahead);
  else
    rotate_rows<T, 0>(rotations, tile, width, ahead);
}

template <class T, bool INVERSE>
void apply_rotations(const Stage<T>& stage, T* tile, Index width, Prefetch& ahead) {
  const Rotations<T>& rotations = INVERSE ? stage.inverse : stage.forward;
  rotate(rotations, tile, width, ahead);
  for (int k = 0; k < rotations.n_scaled; ++k) {
    T* x = tile + rotations.scaled[k] * width;
#pragma GCC unroll 4
    for (int v = 0; v < WIDTH<T>; v += LANES<T>) store(x + v, rotations.scales[k] * load(x + v));
  }
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
