// The statistic of learning, accumulated in float64 from the codes of a batch of signals:
//
//     M += sum over signals of x y^T,    energy += sum of ||x||^2
//
// A code x has s entries, so a signal adds s scaled copies of its row y to rows of M.
//
//   1. If M fits in the caches, y is converted once and stays in registers while it is added to the
//      rows. For a bank, M means the block of one member: signals are sorted by member.
//   2. Otherwise the entries of the batch are sorted by the row of M that they add to. A chunk of
//      columns of that row stays in registers while all its entries are added. These columns of
//      long signals are copied first: rows a power of two apart share few sets of the cache.
//
// In both cases each row is summed in the order of the signals, to the same bits. NumPy twin:
// tests/reference.py, statistic.
#pragma once

#include "kernels/simd/vector.hpp"
#include "types/coding.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// Vectors of columns that are summed at once.
constexpr int CHUNK = 8;
// Largest M in bytes (a share of the second-level cache) that is read and written for every entry.
constexpr Index MAX_SCATTER_BYTES = 256 * 1024;
// Largest M in bytes (the first-level cache) for which signals are not sorted by member.
constexpr Index MAX_L1_BYTES = 32 * 1024;

// A batch of signals with their codes: signals[r * stride + i] is feature i of signal r.
template <class T> struct Batch {
  const T* signals;
  Index stride;
  int rows;
  int n;
  int n_rows;  // of M: the number of atoms
  Codes<T> codes;
  std::int32_t* ends;   // of the entries of each row of M
  Use<T>* uses;         // entries, sorted by row
  T* columns;           // of all signals, contiguous
  std::int32_t* order;  // of the signals
};

// The order of signals: as given, or as listed.
struct GivenOrder {
  FOST_INLINE int operator()(int k) const { return k; }
};
struct ListedOrder {
  const std::int32_t* order;
  FOST_INLINE int operator()(int k) const { return order[k]; }
};

// Signals sorted by the member of their codes (a stable counting sort).
template <class T> ListedOrder by_member(const Batch<T>& batch) {
  const Codes<T>& codes = batch.codes;
  std::int32_t* ends = batch.ends;
  const int count = batch.n_rows / batch.n;
  const auto member = [&](int r) {
    return codes.counts[r] ? codes.indices[r * codes.s] / batch.n : 0;
  };
  for (int b = 0; b < count; ++b) ends[b] = 0;
  for (int r = 0; r < batch.rows; ++r) ++ends[member(r)];
  for (int b = 1; b < count; ++b) ends[b] += ends[b - 1];
  for (int r = batch.rows - 1; r >= 0; --r) batch.order[--ends[member(r)]] = r;
  return {batch.order};
}

// ||X||_F^2, signal by signal, which shortens the dependency chains.
template <class T> void add_energies(const Batch<T>& batch, Statistic& sums) {
  const Codes<T>& codes = batch.codes;
  for (int r = batch.rows - 1; r >= 0; --r) {
    double energy = 0;
    for (int k = codes.counts[r] - 1; k >= 0; --k) {
      const double value = codes.values[r * codes.s + k];
      energy += value * value;
    }
    sums.energy += energy;
  }
}

// VECTORS vectors of columns of M, from `column` on, signal by signal.
template <class T, int VECTORS, class Order>
void scatter_columns(const Batch<T>& batch, const Order order, int column, const Statistic& sums) {
  constexpr int L = LANES<double>;
  // Copies: fields behind references would be read again after each store.
  const Codes<T> codes = batch.codes;
  const T* const signals = batch.signals + column;
  double* const matrix = sums.matrix + column;
  const Index stride = batch.stride, pitch = sums.pitch;
  const int rows = batch.rows;
  for (int k = 0; k < rows; ++k) {
    const int r = order(k);
    const T* signal = signals + r * stride;
    Vec<double> y[VECTORS];
#pragma GCC unroll 8
    for (int v = 0; v < VECTORS; ++v) y[v] = load_double(signal + v * L);
    const Index first = static_cast<Index>(r) * codes.s, last = first + codes.counts[r];
    for (Index entry = first; entry < last; ++entry) {
      const double value = codes.values[entry];
      double* row = matrix + codes.indices[entry] * pitch;
      keep_address(row);
#pragma GCC unroll 8
      for (int v = 0; v < VECTORS; ++v) store(row + v * L, load(row + v * L) + value * y[v]);
    }
  }
}

// Entries sorted by the row of M, in the order of the signals (a stable counting sort).
template <class T> void sort_entries(const Batch<T>& batch) {
  const Codes<T>& codes = batch.codes;
  std::int32_t* ends = batch.ends;
  for (int i = 0; i < batch.n_rows; ++i) ends[i] = 0;
  for (int r = 0; r < batch.rows; ++r)
    for (int k = 0; k < codes.counts[r]; ++k) ++ends[codes.indices[r * codes.s + k]];
  // Each row begins where the one before it ends, and moves on to its own end.
  for (int i = 0, begin = 0; i < batch.n_rows; ++i) {
    const int count = ends[i];
    ends[i] = begin;
    begin += count;
  }
  for (int r = 0; r < batch.rows; ++r)
    for (int k = 0; k < codes.counts[r]; ++k) {
      const int entry = r * codes.s + k;
      batch.uses[ends[codes.indices[entry]]++] = {codes.values[entry], r};
    }
}

// The same row by row of M, for sorted entries.
template <class T, int VECTORS>
void add_columns(const Batch<T>& batch, int column, const Statistic& sums) {
  constexpr int L = LANES<double>, COLUMNS = VECTORS * L;
  static_assert(COLUMNS <= MAX_COLUMNS);
  const T* signals = batch.signals + column;
  Index stride = batch.stride;
  if (batch.n >= LONG_SIGNALS) {
    for (int r = 0; r < batch.rows; ++r)
      for (int i = 0; i < COLUMNS; ++i) batch.columns[r * COLUMNS + i] = signals[r * stride + i];
    signals = batch.columns;
    stride = COLUMNS;
  }
  const Use<T>* use = batch.uses;
  for (int i = 0; i < batch.n_rows; ++i) {
    const Use<T>* end = batch.uses + batch.ends[i];
    if (use == end) continue;
    double* row = sums.matrix + i * sums.pitch + column;
    Vec<double> sum[VECTORS];
#pragma GCC unroll 8
    for (int v = 0; v < VECTORS; ++v) sum[v] = load(row + v * L);
    for (; use < end; ++use) {
      const double value = use->value;
      const T* y = signals + use->signal * stride;
#pragma GCC unroll 8
      for (int v = 0; v < VECTORS; ++v) sum[v] += value * load_double(y + v * L);
    }
#pragma GCC unroll 8
    for (int v = 0; v < VECTORS; ++v) store(row + v * L, sum[v]);
  }
}

// The remaining columns, fewer than a vector.
template <class T> void add_last_columns(const Batch<T>& batch, int column, const Statistic& sums) {
  const Codes<T>& codes = batch.codes;
  for (int r = 0; r < batch.rows; ++r)
    for (int entry = r * codes.s; entry < r * codes.s + codes.counts[r]; ++entry) {
      double* row = sums.matrix + codes.indices[entry] * sums.pitch;
      const double value = codes.values[entry];
      const T* y = batch.signals + r * batch.stride;
      for (int c = column; c < batch.n; ++c) row[c] += value * static_cast<double>(y[c]);
    }
}

// All whole vectors of columns; returns the first remaining column.
template <class T, class Order>
int scatter(const Batch<T>& batch, const Order& order, const Statistic& sums) {
  constexpr int L = LANES<double>;
  int column = 0;
  for (; column + CHUNK * L <= batch.n; column += CHUNK * L)
    scatter_columns<T, CHUNK>(batch, order, column, sums);
  for (; column + 4 * L <= batch.n; column += 4 * L)
    scatter_columns<T, 4>(batch, order, column, sums);
  for (; column + L <= batch.n; column += L) scatter_columns<T, 1>(batch, order, column, sums);
  return column;
}

template <class T> int add_sorted(const Batch<T>& batch, const Statistic& sums) {
  constexpr int L = LANES<double>;
  int column = 0;
  sort_entries(batch);
  for (; column + CHUNK * L <= batch.n; column += CHUNK * L)
    add_columns<T, CHUNK>(batch, column, sums);
  for (; column + 4 * L <= batch.n; column += 4 * L) add_columns<T, 4>(batch, column, sums);
  for (; column + L <= batch.n; column += L) add_columns<T, 1>(batch, column, sums);
  return column;
}

template <class T> void add_outer_products(const Batch<T>& batch, Statistic& sums) {
  const Index row = sums.pitch * Index(sizeof(double)), all = batch.n_rows * row,
              one = batch.n * row;
  add_energies(batch, sums);
  const int column = all <= MAX_L1_BYTES || (all == one && all <= MAX_SCATTER_BYTES)
                         ? scatter(batch, GivenOrder{}, sums)
                     : one <= MAX_SCATTER_BYTES ? scatter(batch, by_member(batch), sums)
                                                : add_sorted(batch, sums);
  if (column < batch.n) add_last_columns(batch, column, sums);
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
