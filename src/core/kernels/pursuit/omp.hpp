// Orthogonal matching pursuit of whole signals in a general dictionary.
#pragma once

#include "kernels/pursuit/batch_omp.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// Signals in contiguous rows.
template <class T> struct SignalRows {
  const T* data;
  Index stride;
};

// `count` signals where they lie, or, where that is not in such rows, copied.
template <class T> SignalRows<T> rows_of(const View<const T>& y, Index begin, int count, T* copy) {
  const Index n = y.columns;
  const T* rows = y.data + begin * y.row_stride;
  if (y.column_stride == 1 && y.row_stride >= n && y.row_stride < (1 << 30)) return {rows, y.row_stride};
  for (Index r = 0; r < count; ++r)
    for (Index i = 0; i < n; ++i) copy[r * n + i] = rows[r * y.row_stride + i * y.column_stride];
  return {copy, n};
}

// The codes of `count` signals whose correlations are in memory. False where an entry is not finite
// or a row not within reach.
template <class T>
bool pursue_tile(const Atoms<T>& atoms, const SignalRows<T>& rows, int count, Codes<T> codes,
                 const PursuitMemory<T>& memory) {
  for (int r = 0; r < count; r += memory.together, advance(codes, memory.together)) {
    const int some = count - r < memory.together ? count - r : memory.together;
    Pursuits<T> pursuits(atoms, memory, codes, some, memory.correlations + static_cast<Index>(r) * atoms.pitch);
    for (int p = 0; p < some; ++p)
      if (!pursuits.begin(p, rows.data + (r + p) * rows.stride)) return false;
    pursuits.run();
  }
  return true;
}

// The codes of the rows first:last of y. False where an entry is not finite or a row not within
// reach.
template <class T>
bool pursue(const Atoms<T>& atoms, const View<const T>& y, Index first, Index last,
            const Codes<T>& codes, const PursuitMemory<T>& memory) {
  Codes<T> here = codes;
  advance(here, first);
  for (Index begin = first; begin < last; begin += memory.tile, advance(here, memory.tile)) {
    const int count = static_cast<int>(last - begin < memory.tile ? last - begin : memory.tile);
    const SignalRows<T> rows = rows_of(y, begin, count, memory.rows);
    correlate(atoms, atoms.rows, rows.data, rows.stride, count, memory.correlations, memory.gemm);
    if (!pursue_tile(atoms, rows, count, here, memory)) return false;
  }
  return true;
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
