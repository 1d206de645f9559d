// The statistic of learning, accumulated in float64 from the codes of a batch of signals:
//
//     M += sum over signals of x y^T,    energy += sum of ||x||^2
//
// A code x has s entries, so a signal adds s scaled copies of its row y to rows of M.
//
//   1. If M fits in the caches, y is converted once and stays in registers while it is added to the
//      rows. For a bank, M means the block of one member: signals are sorted by member.
//   2. Otherwise the entries of the batch are linked by the row of M that they add to. A chunk of
//      columns of that row stays in registers while all its entries are added.
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
  std::int32_t* heads;  // first entry of each row of M, or -1
  Link* links;          // of each entry
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
  std::int32_t* ends = batch.heads;
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

template <class T> void link_entries(const Batch<T>& batch) {
  const Codes<T>& codes = batch.codes;
  for (int i = 0; i < batch.n_rows; ++i) batch.heads[i] = -1;
  for (int r = batch.rows - 1; r >= 0; --r)
    for (int k = codes.counts[r] - 1; k >= 0; --k) {
      const int entry = r * codes.s + k;
      std::int32_t& head = batch.heads[codes.indices[entry]];
      batch.links[entry] = {head, r};
      head = entry;
    }
}

// The same row by row of M, along the links.
template <class T, int VECTORS>
void add_columns(const Batch<T>& batch, int column, const Statistic& sums) {
  constexpr int L = LANES<double>;
  for (int i = 0; i < batch.n_rows; ++i) {
    int entry = batch.heads[i];
    if (entry < 0) continue;
    double* row = sums.matrix + i * sums.pitch + column;
    Vec<double> sum[VECTORS];
#pragma GCC unroll 8
    for (int v = 0; v < VECTORS; ++v) sum[v] = load(row + v * L);
    while (entry >= 0) {
      const Link link = batch.links[entry];
      const double value = batch.codes.values[entry];
      const T* y = batch.signals + link.row * batch.stride + column;
#pragma GCC unroll 8
      for (int v = 0; v < VECTORS; ++v) sum[v] += value * load_double(y + v * L);
      entry = link.next;
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

template <class T> int add_linked(const Batch<T>& batch, const Statistic& sums) {
  constexpr int L = LANES<double>;
  int column = 0;
  link_entries(batch);
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
                                                : add_linked(batch, sums);
  if (column < batch.n) add_last_columns(batch, column, sums);
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
