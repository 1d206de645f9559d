// Products of dense matrices with tiles, for matrices that fit in the second-level cache:
//
//     y_j = sum over i of x_i A_ij,
//
// several outputs at a time in registers. (Longer signals use BLAS: see stages.hpp.) The second
// part, panels, serves the matrices of cosine and Fourier transforms.
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

// Outputs from j on: COUNT at a time, the remainder in halves of COUNT.
template <class T, int COUNT>
FOST_INLINE void multiply_from(const T* matrix, int n, int j, const T* x, T* y, int width,
                               Prefetch& ahead) {
  for (; j + COUNT <= n; j += COUNT) multiply_columns<T, COUNT>(matrix, n, j, x, y, width, ahead);
  if constexpr (COUNT > 1)
    multiply_from<T, COUNT == 6 ? 4 : COUNT / 2>(matrix, n, j, x, y, width, ahead);
}

template <class T>
void multiply_tile(const T* matrix, int n, const T* x, T* y, int width, Prefetch& ahead) {
  // As many as keep their sums and the entries of the tile in registers.
  constexpr int AT_ONCE = FOST_VECTOR_BYTES == 64 ? 8 : 6;
  multiply_from<T, AT_ONCE>(matrix, n, 0, x, y, width, ahead);
}

// Products of a matrix with a column of vectors, one panel of outputs at a time.
//
// A panel consists of 8 rows of the matrix (4, 2 and 1 for the remainder), stored column by column
// so that entries are read in the order of use.

template <class T, int COUNT>
FOST_INLINE const T* multiply_panel(const T* panel, int columns, const T* x, Vec<T> start, T* y,
                                    Index step) {
  Vec<T> sums[COUNT];
#pragma GCC unroll 8
  for (int q = 0; q < COUNT; ++q) sums[q] = start;
  for (int j = 0; j < columns; ++j, panel += COUNT) {
    const Vec<T> xj = load(x + j * LANES<T>);
#pragma GCC unroll 8
    for (int q = 0; q < COUNT; ++q) sums[q] += panel[q] * xj;
  }
#pragma GCC unroll 8
  for (int q = 0; q < COUNT; ++q) store(y + q * step, sums[q]);
  return panel;
}

// y_k = start + sum over j of A_kj x_j for k < rows; the x_j are contiguous, the y_k `step` apart.
template <class T>
void multiply_panels(const T* panels, int rows, int columns, const T* x, Vec<T> start, T* y,
                     Index step) {
  int k = 0;
  for (; k + 8 <= rows; k += 8)
    panels = multiply_panel<T, 8>(panels, columns, x, start, y + k * step, step);
  if (rows & 4)
    panels = multiply_panel<T, 4>(panels, columns, x, start, y + k * step, step), k += 4;
  if (rows & 2)
    panels = multiply_panel<T, 2>(panels, columns, x, start, y + k * step, step), k += 2;
  if (rows & 1) multiply_panel<T, 1>(panels, columns, x, start, y + k * step, step);
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
