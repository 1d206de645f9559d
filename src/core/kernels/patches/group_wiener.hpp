// Wiener filter of a group of similar blocks, with the covariance of their pilot estimates.
//
// With k pilots P and blocks Y in columns, both minus the mean of the pilots, the best linear
// estimate under noise of variance v is C (C + v I)^-1 Y for C = P P^T / k. That equals
//
//     P (P^T P + k v I)^-1 P^T Y,
//
// a system of k equations for any block size: an adapted transform per group, without eigenvectors.
// Under coloured noise of covariance v S, it is P (P^T S^-1 P + k v I)^-1 P^T S^-1 Y.
// NumPy twin: tests/reference.py, filter_groups.
#pragma once

#include "kernels/simd/vector.hpp"
#include "types/groups.hpp"

namespace fost {
namespace FOST_NAMESPACE {

template <class T> constexpr T EPSILON =
    sizeof(T) == 4 ? T(1.1920929e-7) : T(2.220446049250313e-16);

// out[a, b] = sum over i < n of left[i * along + a * across] right[i, b], for ROWS rows a and WIDTH
// columns b.
template <class T, int ROWS>
FOST_INLINE void product_part(Index n, const T* left, Index along, Index across, const T* right,
                              Index right_pitch, T* out, Index out_pitch) {
  constexpr int L = LANES<T>;
  Vec<T> sums[ROWS][UNROLL] = {};
  for (Index i = 0; i < n; ++i, left += along, right += right_pitch) {
    Vec<T> row[UNROLL];
#pragma GCC unroll 2
    for (int v = 0; v < UNROLL; ++v) row[v] = load(right + v * L);
#pragma GCC unroll 4
    for (int a = 0; a < ROWS; ++a)
#pragma GCC unroll 2
      for (int v = 0; v < UNROLL; ++v) sums[a][v] += left[a * across] * row[v];
  }
#pragma GCC unroll 4
  for (int a = 0; a < ROWS; ++a)
#pragma GCC unroll 2
    for (int v = 0; v < UNROLL; ++v) store(out + a * out_pitch + v * L, sums[a][v]);
}

// The same for all rows and columns; if only the upper triangle is wanted, little more than that.
template <class T>
void product(Index n, Index rows, const T* left, Index along, Index across, const T* right,
             Index columns, Index right_pitch, T* out, Index out_pitch, bool upper) {
  Index a = 0;
  for (; a + 4 <= rows; a += 4)
    for (Index b = upper ? a / WIDTH<T> * WIDTH<T> : 0; b < columns; b += WIDTH<T>)
      product_part<T, 4>(n, left + a * across, along, across, right + b, right_pitch,
                         out + a * out_pitch + b, out_pitch);
  for (; a < rows; ++a)
    for (Index b = upper ? a / WIDTH<T> * WIDTH<T> : 0; b < columns; b += WIDTH<T>)
      product_part<T, 1>(n, left + a * across, along, across, right + b, right_pitch,
                         out + a * out_pitch + b, out_pitch);
}

// Subtracts from V vectors of a row factors[k] times those of `count` other rows. Row k is k steps
// away from `from`; a negative step goes up.
template <class T, int V>
FOST_INLINE void subtract_part(const T* factors, const T* from, Index step, int count, T* to) {
  constexpr int L = LANES<T>;
  Vec<T> left[V];
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) left[v] = load(to + v * L);
  for (int k = 0; k < count; ++k, from += step)
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) left[v] -= factors[k] * load(from + v * L);
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) store(to + v * L, left[v]);
}

// The same for `width` numbers, a multiple of LANES.
template <class T>
FOST_INLINE void subtract_rows(const T* factors, const T* from, Index step, int count, T* to,
                               Index width) {
  constexpr int L = LANES<T>;
  Index c = 0;
  for (; c + 8 * L <= width; c += 8 * L)
    subtract_part<T, 8>(factors, from + c, step, count, to + c);
  for (; c + 4 * L <= width; c += 4 * L)
    subtract_part<T, 4>(factors, from + c, step, count, to + c);
  for (; c + 2 * L <= width; c += 2 * L)
    subtract_part<T, 2>(factors, from + c, step, count, to + c);
  for (; c < width; c += L) subtract_part<T, 1>(factors, from + c, step, count, to + c);
}

// Solves A X = B for a system of `count` rows [A B] with the upper triangle of A given, by Cholesky
// elimination; X replaces B. A is positive semidefinite plus `least` on its diagonal, so no exact
// pivot is smaller, and pivots are bounded by it. Each row stays in registers until it is done;
// `factors` has room for `count`.
template <class T> void solve(int count, T* system, Index pitch, T least, T* factors) {
  const Index width = 2 * pitch;
  for (int a = 0; a < count; ++a) {
    T* row = system + a * width;
    for (int k = 0; k < a; ++k) factors[k] = system[k * width + a] * system[k * width + k];
    const Index first = Index(a) / LANES<T> * LANES<T>;
    subtract_rows(factors, system + first, width, a, row + first, width - first);
    row[a] = T(1) / (row[a] > least ? row[a] : least);  // replaced by its reciprocal
  }
  for (int a = count - 1; a >= 0; --a) {
    T *row = system + a * width, *right = row + pitch;
    for (Index c = 0; c < pitch; c += LANES<T>) store(right + c, load(right + c) * row[a]);
    for (int k = count - 1; k > a; --k) factors[count - 1 - k] = row[k] * row[a];
    subtract_rows(factors, system + (count - 1) * width + pitch, -width, count - 1 - a, right,
                  pitch);
  }
}

// Replaces memory.blocks by the estimate from memory.pilots and memory.blocks, both n x pitch with
// zeros in the columns from `count` on.
template <class T>
void filter_group(Index n, int count, T level, const T* inverse, const GroupMemory<T>& memory) {
  const Index pitch = memory.pitch, width = 2 * pitch;
  const T* left = memory.pilots;
  if (inverse) {  // S^-1 P, in memory that is free here
    product(n, n, inverse, Index(1), n, memory.pilots, pitch, pitch, memory.rows, pitch, false);
    left = memory.rows;
  }
  product(n, count, left, pitch, Index(1), memory.pilots, pitch, pitch, memory.system, width, true);
  product(n, count, left, pitch, Index(1), memory.blocks, pitch, pitch, memory.system + pitch,
          width, false);
  T energy = 0;
  for (int k = 0; k < count; ++k) {
    const T square = memory.system[k * width + k];
    energy = square > energy ? square : energy;
  }
  // Noise below the rounding of the products is raised to that level.
  const T floor = EPSILON<T> * energy,
          least = (level > floor ? level : floor) * static_cast<T>(count);
  for (int k = 0; k < count; ++k) memory.system[k * width + k] += least;
  solve(count, memory.system, pitch, least, memory.distances);
  product(count, n, memory.pilots, Index(1), pitch, memory.system + pitch, pitch, width,
          memory.blocks, pitch, false);
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
