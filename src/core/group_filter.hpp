// Wiener's filter for a group of blocks, whose covariance is that of their pilots.
//
// With pilots P and blocks Y in columns, both without the mean of the pilots, k of them, the best
// linear estimate under noise of variance v is C (C + v I)^-1 Y for C = P P^T / k. That is
//
//     P (P^T P + k v I)^-1 P^T Y,
//
// a system of k equations, however large the blocks are: their own transform for each group,
// without its eigenvectors.
#pragma once

#include "group_types.hpp"
#include "simd.hpp"

namespace fost {
namespace FOST_NAMESPACE {

template <class T> constexpr T EPSILON = sizeof(T) == 4 ? T(1.1920929e-7) : T(2.220446049250313e-16);

// out[a, b] = sum over i < n of left[i * along + a * across] right[i, b], for ROWS rows a and
// WIDTH columns b. The pitches are those of right and out.
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

// The same for all rows and columns; where only the upper triangle is wanted, hardly more.
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

// to[c] -= factor * from[c] for first <= c < last, which are multiples of LANES.
template <class T> FOST_INLINE void subtract_row(T factor, const T* from, T* to, Index first, Index last) {
  for (Index c = first; c < last; c += LANES<T>) store(to + c, load(to + c) - factor * load(from + c));
}

// Solves A X = B for a system of `count` rows [A B], of which A's upper triangle is given, and
// leaves X in the place of B. A is positive semidefinite plus `least` on its diagonal, so that no
// pivot is less, whatever rounding says.
template <class T> void solve(int count, T* system, Index pitch, T least) {
  const Index width = 2 * pitch;
  for (int k = 0; k < count; ++k) {
    T* row = system + k * width;
    const T pivot = row[k] > least ? row[k] : least;
    const T scale = T(1) / pivot;
    for (int a = k + 1; a < count; ++a)
      subtract_row(row[a] * scale, row, system + a * width, Index(a) / LANES<T> * LANES<T>, width);
    for (Index c = pitch; c < width; c += LANES<T>) store(row + c, load(row + c) * scale);
    for (int a = k + 1; a < count; ++a) row[a] *= scale;
  }
  for (int k = count - 1; k > 0; --k)
    for (int a = 0; a < k; ++a)
      subtract_row(system[a * width + k], system + k * width, system + a * width, pitch, width);
}

// memory.blocks = the estimate, from memory.pilots and memory.blocks, n x pitch both, with zeros in
// the columns from `count` on.
template <class T> void filter_group(Index n, int count, T level, const GroupMemory<T>& memory) {
  const Index pitch = memory.pitch, width = 2 * pitch;
  product(n, count, memory.pilots, pitch, Index(1), memory.pilots, pitch, pitch, memory.system, width, true);
  product(n, count, memory.pilots, pitch, Index(1), memory.blocks, pitch, pitch, memory.system + pitch,
          width, false);
  T energy = 0;
  for (int k = 0; k < count; ++k) {
    const T square = memory.system[k * width + k];
    energy = square > energy ? square : energy;
  }
  // Noise below the rounding of the products is as good as that.
  const T floor = EPSILON<T> * energy, least = (level > floor ? level : floor) * static_cast<T>(count);
  for (int k = 0; k < count; ++k) memory.system[k * width + k] += least;
  solve(count, memory.system, pitch, least);
  product(count, n, memory.pilots, Index(1), pitch, memory.system + pitch, pitch, width, memory.blocks, pitch,
          false);
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
