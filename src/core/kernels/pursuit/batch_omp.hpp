// Batch-OMP: orthogonal matching pursuit of several complete signals at once, with the Gram matrix
// G of the atoms. The correlations of all atoms with the residual are
//
//     alpha = <y, all atoms> - sum over i of x_i G_i,
//
// which is the longest part of a step and is vectorised along the atoms, signal by signal. NumPy
// twins: tests/reference.py, omp and omp_steps.
#pragma once

#include "kernels/pursuit/omp_steps.hpp"

namespace fost {
namespace FOST_NAMESPACE {

template <class T> class BatchOmp : OmpSteps<T, BATCH_SIGNALS> {
 public:
  // The pursuits of `count` signals with initial correlations `start`, `pitch` apart.
  BatchOmp(const Atoms<T>& atoms, const PursuitMemory<T>& memory, const Codes<T>& codes, int count,
           const T* start)
      : Steps(atoms, memory, codes, count), start_(start) {}

  // Begins with signal p; false if its entries are not finite or its norm is out of range.
  bool begin(int p, const T* row) {
    if (!Steps::begin(p, row)) return false;
    maxima_[p] = find_maxima(start(p), atoms_.scales, atoms_.pitch);
    return true;
  }

  // Runs all steps and writes the codes.
  void run() {
    while (taken_ < codes_.s && this->any_open()) {
      choose();
      this->template orthogonalise<true>();
      this->take();
      for (int p = 0; p < count_ && taken_ < codes_.s; ++p)
        if (open_[p] != 0) subtract(p);
    }
    this->write();
  }

 private:
  using Steps = OmpSteps<T, BATCH_SIGNALS>;
  using Steps::atom_, Steps::atoms_, Steps::chosen, Steps::codes_, Steps::count_, Steps::counts_;
  using Steps::memory_, Steps::open_, Steps::taken_;
  static constexpr int P = BATCH_SIGNALS;
  static constexpr int ROWS = 4;  // of the Gram matrix that are read concurrently

  const T* start(int p) const { return start_ + static_cast<Index>(p) * atoms_.pitch; }
  T* alpha(int p) const { return memory_.alpha + static_cast<Index>(p) * atoms_.pitch; }

  // The next atom of each signal, if one is left to take.
  void choose() {
    for (int p = 0; p < P; ++p) {
      if (open_[p] != 0) open_[p] = choose(p);
      this->load_products(p, open_[p] != 0 ? start(p)[atom_[p]] : 0);
    }
  }

  bool choose(int p) {
    T* now = taken_ ? alpha(p) : const_cast<T*>(start(p));
    int k = maxima_[p].first(now, atoms_.scales);
    // If a chosen atom is the largest, all correlations are rounding; those of chosen atoms are
    // zero in exact arithmetic and are set to zero.
    if (this->has(p, k)) {
      for (int i = 0; i < counts_[p]; ++i) now[chosen(p)[i]] = 0;
      k = largest_correlation(now, atoms_.scales, atoms_.pitch);
    }
    return this->try_atom(p, k, now[k], squared_atom(atoms_, k));
  }

  // Updates the correlations of a signal, a few rows of the Gram matrix at a time.
  void subtract(int p) {
    const T* from = start(p);
    int i = 0;
    find_row(atoms_, chosen(p)[taken_ - 1], taken_ % 2 == 0);
    for (; taken_ - i > ROWS; i += ROWS, from = alpha(p)) subtract_rows<ROWS, false>(p, i, from);
    switch (taken_ - i) {
      case 1: return subtract_rows<1, true>(p, i, from);
      case 2: return subtract_rows<2, true>(p, i, from);
      case 3: return subtract_rows<3, true>(p, i, from);
      case 4: return subtract_rows<4, true>(p, i, from);
    }
    unreachable();
  }

  // The contribution of the chosen atoms i to i + COUNT - 1. With the last of them, finds the
  // maxima and prefetches the Gram row of the next signal.
  template <int COUNT, bool LAST> void subtract_rows(int p, int i, const T* from) {
    constexpr int V = BlockMaxima<T>::VECTORS;
    const T *gram[COUNT], *scales = atoms_.scales;
    Vec<T> factors[COUNT];
#pragma GCC unroll 4
    for (int q = 0; q < COUNT; ++q) {
      gram[q] = atoms_.gram + static_cast<Index>(chosen(p)[i + q]) * atoms_.pitch;
      factors[q] = static_cast<T>(memory_.x[(i + q) * P + p]) - Vec<T>{};
    }
    const T* next = atoms_.gram + static_cast<Index>(atom_[(p + 1) % count_]) * atoms_.pitch;
    T* to = alpha(p);
    BlockMaxima<T> maxima;
    for (int k = 0; k < atoms_.pitch; k += PITCH) {
      if constexpr (LAST)
        for (int line = 0; line < PITCH; line += 64 / static_cast<int>(sizeof(T)))
          __builtin_prefetch(next + k + line);
      Vec<T> sums[V];
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) {
        sums[v] = load(from + k + v * LANES<T>);
#pragma GCC unroll 4
        for (int q = 0; q < COUNT; ++q) sums[v] -= factors[q] * load(gram[q] + k + v * LANES<T>);
        store(to + k + v * LANES<T>, sums[v]);
      }
      if constexpr (LAST) {
#pragma GCC unroll 16
        for (int v = 0; v < V; ++v)
          sums[v] = absolute(scales ? sums[v] * load(scales + k + v * LANES<T>) : sums[v]);
        maxima.add(k, sums);
      }
    }
    if constexpr (LAST) maxima_[p] = maxima;
  }

  const T* start_;
  BlockMaxima<T> maxima_[P];
};

// Signals in contiguous rows.
template <class T> struct SignalRows {
  const T* data;
  Index stride;
};

// `count` signals in place if their rows are contiguous, otherwise a copy.
template <class T> SignalRows<T> rows_of(const View<const T>& y, Index begin, int count, T* copy) {
  const Index n = y.columns;
  const T* rows = y.data + begin * y.row_stride;
  if (y.column_stride == 1 && y.row_stride >= n && y.row_stride < (1 << 30))
    return {rows, y.row_stride};
  for (Index r = 0; r < count; ++r)
    for (Index i = 0; i < n; ++i) copy[r * n + i] = rows[r * y.row_stride + i * y.column_stride];
  return {copy, n};
}

// The codes of `count` signals with given correlations. Returns false if an entry is not finite or
// a norm is out of range.
template <class T>
bool pursue_tile(const Atoms<T>& atoms, const SignalRows<T>& rows, int count, Codes<T> codes,
                 const PursuitMemory<T>& memory) {
  for (int r = 0; r < count; r += memory.batch, advance(codes, memory.batch)) {
    const int some = count - r < memory.batch ? count - r : memory.batch;
    BatchOmp<T> pursuit(atoms, memory, codes, some,
                        memory.correlations + static_cast<Index>(r) * atoms.pitch);
    for (int p = 0; p < some; ++p)
      if (!pursuit.begin(p, rows.data + (r + p) * rows.stride)) return false;
    pursuit.run();
  }
  return true;
}

// The codes of the rows first:last of y. Returns false if an entry is not finite or a norm is out
// of range.
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
