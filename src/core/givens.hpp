// Rotations (and 2 x 2 reflections) on a tile:
//
//     forward   (y_i, y_j) <- B^T (y_i, y_j)   from G_g to G_1
//     inverse   (y_i, y_j) <- B (y_i, y_j)     from G_1 to G_g
#pragma once

#include "simd.hpp"

namespace fost {
namespace FOST_NAMESPACE {

template <class T, bool INVERSE>
void apply_rotations(const Stage<T>& stage, T* tile, int width, Prefetch& ahead) {
  Prefetch local = ahead;
  for (int k = 0; k < stage.count; ++k) {
    const int g = INVERSE ? k : stage.count - 1 - k;
    const T* block = stage.blocks + 4 * static_cast<Index>(g);
    const T ii = block[0], ij = block[INVERSE ? 1 : 2], ji = block[INVERSE ? 2 : 1], jj = block[3];
    T* xi = tile + stage.pairs[2 * g] * static_cast<Index>(width);
    T* xj = tile + stage.pairs[2 * g + 1] * static_cast<Index>(width);
#pragma GCC unroll 4
    for (int v = 0; v < WIDTH<T>; v += LANES<T>) {
      const Vec<T> a = load(xi + v), b = load(xj + v);
      store(xi + v, ii * a + ij * b);
      store(xj + v, ji * a + jj * b);
    }
    local.step();
  }
  ahead = local;
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
