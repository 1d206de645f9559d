// Orthogonal matching pursuits of several signals side by side, by inner products.
//
// With G, all inner products of atoms, the correlations of all atoms with the residual are
//   alpha = <y, all atoms> - sum over i of x_i G_i.
// This, what is long, is done signal by signal, in vectors along the atoms.
#pragma once

#include "kernels/pursuit/omp_steps.hpp"

namespace fost {
namespace FOST_NAMESPACE {

template <class T> class Pursuits : PursuitSteps<T, PURSUITS> {
 public:
  // Those of `count` signals, which have the correlations `start`, `pitch` apart.
  Pursuits(const Atoms<T>& atoms, const PursuitMemory<T>& memory, const Codes<T>& codes, int count,
           const T* start)
      : Steps(atoms, memory, codes, count), start_(start) {}

  // Begins with signal p; false where its entries are not finite or not within reach.
  bool begin(int p, const T* row) {
    if (!Steps::begin(p, row)) return false;
    leaders_[p] = find_leaders(start(p), atoms_.scales, atoms_.pitch);
    return true;
  }

  // All steps, and the codes.
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
  using Steps = PursuitSteps<T, PURSUITS>;
  using Steps::atom_, Steps::atoms_, Steps::chosen, Steps::codes_, Steps::count_, Steps::counts_;
  using Steps::memory_, Steps::open_, Steps::taken_;
  static constexpr int P = PURSUITS;
  static constexpr int ROWS = 4;  // of inner products that are read side by side

  const T* start(int p) const { return start_ + static_cast<Index>(p) * atoms_.pitch; }
  T* alpha(int p) const { return memory_.alpha + static_cast<Index>(p) * atoms_.pitch; }

  // The next atom of each signal, if there is one left to take.
  void choose() {
    for (int p = 0; p < P; ++p) {
      if (open_[p] != 0) open_[p] = choose(p);
      this->compare(p, open_[p] != 0 ? start(p)[atom_[p]] : 0);
    }
  }

  bool choose(int p) {
    T* now = taken_ ? alpha(p) : const_cast<T*>(start(p));
    int k = leaders_[p].first(now, atoms_.scales);
    if (this->has(p, k)) {  // all are close to zero; the chosen ones are to be exactly that
      for (int i = 0; i < counts_[p]; ++i) now[chosen(p)[i]] = 0;
      k = strongest(now, atoms_.scales, atoms_.pitch);
    }
    return this->prefers(p, k, now[k], squared_atom(atoms_, k));
  }

  // What is left of the correlations of a signal, a few inner products at a time.
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
    impossible();
  }

  // The part of the chosen atoms i to i + COUNT - 1. After the last one finds the leaders, and
  // fetches what the next signal begins with.
  template <int COUNT, bool LAST> void subtract_rows(int p, int i, const T* from) {
    constexpr int V = Leaders<T>::VECTORS;
    const T *gram[COUNT], *scales = atoms_.scales;
    Vec<T> factors[COUNT];
#pragma GCC unroll 4
    for (int q = 0; q < COUNT; ++q) {
      gram[q] = atoms_.gram + static_cast<Index>(chosen(p)[i + q]) * atoms_.pitch;
      factors[q] = static_cast<T>(memory_.x[(i + q) * P + p]) - Vec<T>{};
    }
    const T* next = atoms_.gram + static_cast<Index>(atom_[(p + 1) % count_]) * atoms_.pitch;
    T* to = alpha(p);
    Leaders<T> leaders;
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
        leaders.add(k, sums);
      }
    }
    if constexpr (LAST) leaders_[p] = leaders;
  }

  const T* start_;
  Leaders<T> leaders_[P];
};

}  // namespace FOST_NAMESPACE
}  // namespace fost
