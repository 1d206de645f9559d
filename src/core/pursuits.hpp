// Orthogonal matching pursuits of several signals side by side.
//
// The directions q_i of the chosen atoms, orthonormal, are combinations of them; M has the
// coefficients of q_i in row i. Step t takes the atom a of the largest correlation with the residual.
// With the inner products g of a with the atoms chosen before,
//   l = M g,   rest = <a, a> - ||l||^2,   row t of M = (-M^T l, 1) / sqrt(rest),
//   c_t = <y, q_t> = (<y, a> - <l, c>) / sqrt(rest).
// The coefficients of the chosen atoms are x = M^T c, which grow by c_t times row t, and with G, all
// inner products of atoms, the correlations of all atoms with the residual are
//   alpha = <y, all atoms> - sum over i of x_i G_i,   and ||residual||^2 = ||y||^2 - ||c||^2.
//
// What is long, the last sum, is done signal by signal, in vectors along the atoms. The few numbers
// of a step wait for each other, roots and quotients among them, and are computed for all signals at
// once, a signal per lane.
#pragma once

#include "omp_parts.hpp"

namespace fost {
namespace FOST_NAMESPACE {

template <class T> class Pursuits {
 public:
  // Those of `count` signals, which have the correlations `start`, `pitch` apart.
  Pursuits(const Atoms<T>& atoms, const PursuitMemory<T>& memory, const Codes<T>& codes, int count,
           const T* start)
      : atoms_(atoms), memory_(memory), codes_(codes), count_(count), start_(start) {}

  // Begins with signal p; false where its entries are not finite or not within reach.
  bool begin(int p, const T* row) {
    energy_[p] = left_[p] = squared_norm(row, atoms_.n);
    if (!within_reach(energy_[p], row, atoms_.n)) return false;
    open_[p] = left_[p] > memory_.tol;
    leaders_[p] = find_leaders(start(p), atoms_.scales, atoms_.pitch);
    return true;
  }

  // All steps, and the codes.
  void run() {
    while (taken_ < codes_.s && any_open()) {
      choose();
      orthogonalise();
      take();
      for (int p = 0; p < count_ && taken_ < codes_.s; ++p)
        if (open_[p] != 0) subtract(p);
    }
    for (int p = 0; p < count_; ++p) write_code(counts_[p], memory_.x + p, PURSUITS, codes_, p);
  }

 private:
  static constexpr int P = PURSUITS, L = LANES<double>;
  static constexpr int ROWS = 4;  // of inner products that are read side by side

  const T* start(int p) const { return start_ + static_cast<Index>(p) * atoms_.pitch; }
  T* alpha(int p) const { return memory_.alpha + static_cast<Index>(p) * atoms_.pitch; }
  std::int32_t* chosen(int p) const { return codes_.indices + static_cast<Index>(p) * codes_.s; }
  // Row t of M.
  double* row(Index t) const { return memory_.factor + t * (t + 1) / 2 * P; }

  bool any_open() const {
    bool any = false;
    for (int p = 0; p < count_; ++p) any |= open_[p] != 0;
    return any;
  }

  bool has(int p, int k) const {
    bool found = false;
    for (int i = 0; i < counts_[p]; ++i) found |= chosen(p)[i] == k;
    return found;
  }

  // The next atom of each signal, if there is one left to take, its square, and its inner products
  // with the signal and the atoms chosen before.
  void choose() {
    for (int p = 0; p < P; ++p) {
      if (open_[p] != 0) open_[p] = choose(p);
      if (open_[p] != 0) {
        const T* gram = gram_row(atoms_, atom_[p]);
        for (int i = 0; i < taken_; ++i) memory_.products[i * P + p] = gram[chosen(p)[i]];
        correlation_[p] = start(p)[atom_[p]];
      } else {
        for (int i = 0; i < taken_; ++i) memory_.products[i * P + p] = 0;
        correlation_[p] = 0;
        square_[p] = 1;
      }
    }
  }

  bool choose(int p) {
    T* now = taken_ ? alpha(p) : const_cast<T*>(start(p));
    int k = leaders_[p].first(now, atoms_.scales);
    if (has(p, k)) {  // all are close to zero; the chosen ones are to be exactly that
      for (int i = 0; i < counts_[p]; ++i) now[chosen(p)[i]] = 0;
      k = strongest(now, atoms_.scales, atoms_.pitch);
    }
    atom_[p] = k;
    square_[p] = squared_atom(atoms_, k);
    const double strength = now[k];
    return strength * strength > ROUNDING<T> * ROUNDING<T> * energy_[p] * square_[p];
  }

  // What the chosen atoms have beyond the directions, -M^T l as the new row of M, their squares
  // and their correlations with the signals.
  void orthogonalise() {
    double* last = row(taken_);
#pragma GCC unroll 4
    for (int p = 0; p < P; p += L) {
      Vec<double> rest = load(square_ + p), correlation = load(correlation_ + p);
      for (int j = 0; j < taken_; ++j) store(last + j * P + p, Vec<double>{});
      for (int i = 0; i < taken_; ++i) {
        const double* own = row(i) + p;
        Vec<double> l = {};
        for (int j = 0; j <= i; ++j) l += load(own + j * P) * load(memory_.products + j * P + p);
        for (int j = 0; j <= i; ++j) store(last + j * P + p, load(last + j * P + p) - l * load(own + j * P));
        rest -= l * l;
        correlation -= l * load(memory_.c + static_cast<Index>(i) * P + p);
      }
      store(rest_ + p, rest);
      store(correlation_ + p, correlation);
      store(last + taken_ * P + p, Vec<double>{} + 1);
      store(memory_.x + taken_ * P + p, Vec<double>{});
    }
  }

  // Takes the atoms, and with them the directions. A pursuit ends where an atom depends on those
  // that were taken before, which leaves nothing but zeros here.
  void take() {
    double *last = row(taken_), *c = memory_.c + static_cast<Index>(taken_) * P;
#pragma GCC unroll 4
    for (int p = 0; p < P; p += L) {
      const Vec<double> square = load(square_ + p), least = load(least_ + p), none = {};
      // The less is left of chosen atoms, the larger are the errors of what depends on them.
      const Mask<double> takes =
          Mask<double>(load(open_ + p) * load(rest_ + p) * least > DEPENDENT<T> * square);
      const Vec<double> rest = takes ? load(rest_ + p) : square, share = rest / square;
      const Vec<double> inverse = (takes ? none + 1 : none) / square_root(rest);
      const Vec<double> coordinate = load(correlation_ + p) * inverse;
      store(least_ + p, share < least ? share : least);
      store(left_ + p, load(left_ + p) - coordinate * coordinate);
      store(open_ + p, takes ? none + 1 : none);
      store(c + p, coordinate);
      for (int j = 0; j <= taken_; ++j) {
        const Vec<double> entry = load(last + j * P + p) * inverse;
        double* x = memory_.x + j * P + p;
        store(last + j * P + p, entry);
        store(x, load(x) + coordinate * entry);
      }
    }
    for (int p = 0; p < count_; ++p)
      if (open_[p] != 0) {
        chosen(p)[counts_[p]++] = atom_[p];
        open_[p] = left_[p] > memory_.tol;
      }
    ++taken_;
  }

  // What is left of the correlations of a signal, a few inner products at a time.
  void subtract(int p) {
    const T* from = start(p);
    int i = 0;
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

  const Atoms<T>& atoms_;
  const PursuitMemory<T>& memory_;
  Codes<T> codes_;
  int count_;
  const T* start_;
  int taken_ = 0;  // atoms of those that are still going
  int counts_[P] = {};
  int atom_[P] = {};
  double energy_[P] = {}, left_[P] = {};
  double least_[P] = {1, 1, 1, 1, 1, 1, 1, 1};  // left of the chosen atoms' squares outside the others' span
  double open_[P] = {};  // one where a pursuit is still going, else zero
  double square_[P] = {}, rest_[P] = {}, correlation_[P] = {};
  Leaders<T> leaders_[P];
};

}  // namespace FOST_NAMESPACE
}  // namespace fost
