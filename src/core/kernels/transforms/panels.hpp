// Products of a matrix with a column of vectors, a panel of outputs at a time.
//
// A panel is 8 rows of the matrix (then 4, 2 and 1 for what is left), stored column by column,
// so that entries are read in the order in which they are used.
#pragma once

#include "kernels/simd/vector.hpp"

namespace fost {
namespace FOST_NAMESPACE {

template <class T, int COUNT>
FOST_INLINE const T* multiply_panel(const T* panel, int columns, const T* x, Vec<T> start, T* y, Index step) {
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
void multiply_panels(const T* panels, int rows, int columns, const T* x, Vec<T> start, T* y, Index step) {
  int k = 0;
  for (; k + 8 <= rows; k += 8)
    panels = multiply_panel<T, 8>(panels, columns, x, start, y + k * step, step);
  if (rows & 4) panels = multiply_panel<T, 4>(panels, columns, x, start, y + k * step, step), k += 4;
  if (rows & 2) panels = multiply_panel<T, 2>(panels, columns, x, start, y + k * step, step), k += 2;
  if (rows & 1) multiply_panel<T, 1>(panels, columns, x, start, y + k * step, step);
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
