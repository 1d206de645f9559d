// A dense matrix on a tile, for signals that are short enough for the matrix to stay in the
// second-level cache: y_j = sum over i of x_i A_ij, several outputs at a time in registers.
// (Longer signals go through BLAS: see stages.hpp.)
#pragma once

#include "kernels/simd/vector.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// Outputs j ... j + COUNT - 1 of one tile.
template <class T, int COUNT>
FOST_INLINE void multiply_columns(const T* matrix, int n, int j, const T* x, T* y, int width,
                                  Prefetch& ahead) {
  Vec<T> sum[COUNT][UNROLL];
#pragma GCC unroll 8
  for (int k = 0; k < COUNT; ++k)
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) sum[k][v] = Vec<T>{};
  const T* row = matrix + j;
  for (int i = 0; i < n; ++i, row += n, x += width) {
    Vec<T> xi[UNROLL];
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) xi[v] = load(x + v * LANES<T>);
#pragma GCC unroll 8
    for (int k = 0; k < COUNT; ++k)
#pragma GCC unroll 4
      for (int v = 0; v < UNROLL; ++v) sum[k][v] += row[k] * xi[v];
  }
  Prefetch local = ahead;
#pragma GCC unroll 8
  for (int k = 0; k < COUNT; ++k)
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) {
      store(y + (j + k) * static_cast<Index>(width) + v * LANES<T>, sum[k][v]);
      local.step();
    }
  ahead = local;
}

// Outputs from j on: COUNT at a time, and what is left by halves of that.
template <class T, int COUNT>
FOST_INLINE void multiply_from(const T* matrix, int n, int j, const T* x, T* y, int width,
                               Prefetch& ahead) {
  for (; j + COUNT <= n; j += COUNT) multiply_columns<T, COUNT>(matrix, n, j, x, y, width, ahead);
  if constexpr (COUNT > 1) multiply_from<T, COUNT == 6 ? 4 : COUNT / 2>(matrix, n, j, x, y, width, ahead);
}

template <class T>
void multiply_tile(const T* matrix, int n, const T* x, T* y, int width, Prefetch& ahead) {
  // As many as leave their sums and the numbers of the tile in registers.
  constexpr int AT_ONCE = FOST_VECTOR_BYTES == 64 ? 8 : 6;
  multiply_from<T, AT_ONCE>(matrix, n, 0, x, y, width, ahead);
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
