// The statistic of learning, added up in float64 from the codes of a batch of signals:
//
//     M += sum over signals of x y^T,    energy += sum of ||x||^2
//
// A code x has s entries, so a signal adds s scaled copies of its row y to rows of M. The
// columns are taken in chunks of eight vectors: a chunk of y stays in registers for all s
// entries, and one chunk of all rows of M stays in the cache for the whole batch.
#pragma once

#include "simd.hpp"

namespace fost {
namespace FOST_NAMESPACE {

constexpr int CHUNK = 8;

// LANES<double> entries of a row as float64.
FOST_INLINE Vec<double> load_double(const double* p) { return load(p); }
FOST_INLINE Vec<double> load_double(const float* p) {
  typedef float Half __attribute__((vector_size(FOST_VECTOR_BYTES / 2), aligned(4), may_alias));
  return __builtin_convertvector(*reinterpret_cast<const Half*>(p), Vec<double>);
}

// Columns [column, column + VECTORS * lanes) of M.
template <class T, int VECTORS>
void add_columns(const T* signals, Index stride, int rows, int n, int column, const Codes<T>& codes,
                 double* matrix) {
  constexpr int L = LANES<double>;
  for (int r = 0; r < rows; ++r) {
    Vec<double> y[VECTORS];
    for (int v = 0; v < VECTORS; ++v) y[v] = load_double(signals + r * stride + column + v * L);
    const T* values = codes.values + r * static_cast<Index>(codes.s);
    const std::int32_t* indices = codes.indices + r * static_cast<Index>(codes.s);
    for (int k = 0; k < codes.counts[r]; ++k) {
      double* row = matrix + indices[k] * static_cast<Index>(n) + column;
      const double value = values[k];
      for (int v = 0; v < VECTORS; ++v) store(row + v * L, load(row + v * L) + value * y[v]);
    }
  }
}

// signals[r * stride + i] is feature i of the signal with code r.
template <class T>
void add_outer_products(const T* signals, Index stride, int rows, int n, const Codes<T>& codes,
                        Statistic& sums) {
  constexpr int L = LANES<double>;
  int column = 0;
  for (; column + CHUNK * L <= n; column += CHUNK * L)
    add_columns<T, CHUNK>(signals, stride, rows, n, column, codes, sums.matrix);
  for (; column + L <= n; column += L)
    add_columns<T, 1>(signals, stride, rows, n, column, codes, sums.matrix);
  for (int r = 0; r < rows; ++r)
    for (int k = 0; k < codes.counts[r]; ++k) {
      const Index at = r * static_cast<Index>(codes.s) + k;
      const double value = codes.values[at];
      double* row = sums.matrix + codes.indices[at] * static_cast<Index>(n);
      for (int i = column; i < n; ++i) row[i] += value * static_cast<double>(signals[r * stride + i]);
      sums.energy += value * value;
    }
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
