// Orthogonal matching pursuit in a union of transforms with explicit residuals, WIDTH signals at
// once.
//
// The residuals, in the domain of the base that the members share, are the first n coefficient
// rows. Each step:
//   1. The rotations of all members turn the residuals into the correlations with all atoms, which
//      are compared as they are computed and mostly not stored. All data stay in the first-level
//      cache, whereas rows of the Gram matrix (batch_omp.hpp) come from farther away.
//   2. OmpSteps orthogonalises the chosen atoms.
//   3. Each residual loses the change of its coefficients times the entries of the atoms.
#pragma once

#include "kernels/pursuit/omp_steps.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// The correlation of the largest magnitude per lane, and the count at which it was met. Without an
// instruction for that maximum, `values` are magnitudes only: the next comparison then depends on
// one instruction and not on three.
template <class T> struct LargestCorrelations {
  Vec<T> values[UNROLL] = {};
  Mask<T> counts[UNROLL] = {};

  FOST_INLINE void update(const Vec<T>* coefficients, Mask<T> now) {
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) {
      if constexpr (COMPARES_MAGNITUDES) {
        const Vec<T> larger = larger_magnitude(values[v], coefficients[v]);
        counts[v] = Mask<T>(larger != values[v]) ? now : counts[v];
        values[v] = larger;
      } else {
        const Vec<T> magnitude = absolute(coefficients[v]);
        // Counts ascend, so the maximum of the counts is the later one.
        const Mask<T> mine = Mask<T>(magnitude > values[v]) & now;
        counts[v] = mine > counts[v] ? mine : counts[v];
        values[v] = maximum<T>(magnitude, values[v]);
      }
    }
  }
};

// The running maximum over all correlations, the first one among equals up to sign. Correlations go
// to one of two sides, so that successive comparisons are independent.
template <class T> struct RunningMaximum {
  LargestCorrelations<T> sides[2];
  Mask<T> now = {};

  template <int SIDE> FOST_INLINE void update(const Vec<T>* coefficients) {
    sides[SIDE].update(coefficients, now);
    now += 1;
  }

  LargestCorrelations<T> largest() const {
    LargestCorrelations<T> both = sides[0];
    for (int v = 0; v < UNROLL; ++v) {
      const Vec<T> mine = absolute(both.values[v]), other = absolute(sides[1].values[v]);
      const Mask<T> sooner = Mask<T>(sides[1].counts[v] < both.counts[v]);
      const Mask<T> wins = Mask<T>(other > mine) | (Mask<T>(other == mine) & sooner);
      both.values[v] = wins ? sides[1].values[v] : both.values[v];
      both.counts[v] = wins ? sides[1].counts[v] : both.counts[v];
    }
    return both;
  }
};

// Two coefficient rows in UNROLL vectors, the input of a rotation; see ScheduledMember.
template <class T> struct TwoRows {
  Vec<T> a[UNROLL], b[UNROLL];

  FOST_INLINE TwoRows(const T* coefficients, RowPair from) {
    const T *p = coefficients + first_row(from) * WIDTH<T>,
            *q = coefficients + second_row(from) * WIDTH<T>;
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) {
      a[v] = load(p + v * LANES<T>);
      b[v] = load(q + v * LANES<T>);
    }
  }
};

// A chain of LENGTH rotations that share one coefficient; see ScheduledMember.
template <int LENGTH, class T>
FOST_INLINE void rotate_chain(T* coefficients, const RowPair* rows, const T* factors) {
  const auto at = [coefficients](Index row) { return coefficients + row * WIDTH<T>; };
  Vec<T> one[UNROLL];
#pragma GCC unroll 4
  for (int v = 0; v < UNROLL; ++v) one[v] = load(at(first_row(rows[0])) + v * LANES<T>);
#pragma GCC unroll 2
  for (int k = 0; k < LENGTH; ++k) {
    const T* from = at(first_row(rows[k + 1]));
    T* to = at(second_row(rows[k + 1]));
    Vec<T> alpha = factors[2 * k] - Vec<T>{}, beta = factors[2 * k + 1] - Vec<T>{};
    keep_in_register(alpha);
    keep_in_register(beta);
    Vec<T> other[UNROLL];
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) other[v] = load(from + v * LANES<T>);
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) {
      store(to + v * LANES<T>, other[v] + beta * one[v]);
      one[v] += alpha * other[v];
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < UNROLL; ++v) store(at(second_row(rows[0])) + v * LANES<T>, one[v]);
}

// to = x + factor y
template <class T> FOST_INLINE void store_sum(const Vec<T>* x, const Vec<T>* y, T factor, T* to) {
  Vec<T> all = factor - Vec<T>{};
  keep_in_register(all);
#pragma GCC unroll 4
  for (int v = 0; v < UNROLL; ++v) store(to + v * LANES<T>, x[v] + all * y[v]);
}

// Compares factors[0] x + factors[1] y.
template <int SIDE, class T>
FOST_INLINE void update(RunningMaximum<T>& running, const Vec<T>* x, const Vec<T>* y,
                        const T* factors) {
  Vec<T> first = factors[0] - Vec<T>{}, second = factors[1] - Vec<T>{}, sums[UNROLL];
  keep_in_register(first);
  keep_in_register(second);
#pragma GCC unroll 4
  for (int v = 0; v < UNROLL; ++v) sums[v] = first * x[v] + second * y[v];
  running.template update<SIDE>(sums);
}

// Compares scale x.
template <int SIDE, class T> FOST_INLINE void update_stored(RunningMaximum<T>& running, const T* x,
                                                            T scale) {
  Vec<T> all = scale - Vec<T>{}, scaled[UNROLL];
  keep_in_register(all);
#pragma GCC unroll 4
  for (int v = 0; v < UNROLL; ++v) scaled[v] = all * load(x + v * LANES<T>);
  running.template update<SIDE>(scaled);
}

template <class T>
FOST_INLINE void search_member(const ScheduledMember<T>& member, T* coefficients,
                               RunningMaximum<T>& running) {
  const RowPair* rows = member.rows;
  const T* factors = member.factors;
  const auto at = [coefficients](Index row) { return coefficients + row * WIDTH<T>; };
  for (int run = 0; run < member.runs; ++run) {
    for (int k = member.run_lengths[2 * run]; k > 0; --k, rows += 3, factors += 4)
      rotate_chain<2>(coefficients, rows, factors);
    for (int k = member.run_lengths[2 * run + 1]; k > 0; --k, rows += 2, factors += 2)
      rotate_chain<1>(coefficients, rows, factors);
  }
  RunningMaximum<T> local = running;
  for (int k = 0; k < member.first; ++k, rows += 2, factors += 3) {
    const TwoRows<T> in(coefficients, rows[0]);
    store_sum(in.b, in.a, factors[2], at(first_row(rows[1])));
    update<0>(local, in.a, in.b, factors);
  }
  for (int k = 0; k < member.both; ++k, rows += 1, factors += 4) {
    const TwoRows<T> in(coefficients, rows[0]);
    update<0>(local, in.a, in.b, factors);
    update<1>(local, in.b, in.a, factors + 2);
  }
  int k = 0;
  for (; k + 1 < member.n_stored; k += 2) {
    update_stored<0>(local, at(member.places[k]), member.scales[k]);
    update_stored<1>(local, at(member.places[k + 1]), member.scales[k + 1]);
  }
  if (k < member.n_stored) update_stored<0>(local, at(member.places[k]), member.scales[k]);
  running = local;
}

template <class T> class ResidualPursuit : OmpSteps<T, WIDTH<T>> {
 public:
  // The pursuits of the first `count` signals of the coefficient rows.
  ResidualPursuit(const UnionProgram<T>& all, const Atoms<T>& atoms, const PursuitMemory<T>& memory,
                  const Codes<T>& codes, int count, T* coefficients)
      : Steps(atoms, memory, codes, count), all_(all), coefficients_(coefficients) {}

  using OmpSteps<T, WIDTH<T>>::begin;

  // Runs all steps and writes the codes.
  void run() {
    if constexpr (!COMPARES_MAGNITUDES) take_rows();
    while (taken_ < codes_.s && this->any_open()) {
      choose();
      this->template orthogonalise<false>();
      this->take();
      if (taken_ == codes_.s) break;
      if (COMPARES_MAGNITUDES && taken_ == 1) take_rows();
      find_factors();
      for (int p = 0; p < count_; ++p)
        if (open_[p] != 0) subtract(p);
      set_board();
    }
    this->write();
  }

 private:
  static constexpr int P = WIDTH<T>;
  using Steps = OmpSteps<T, P>;
  using Steps::atom_, Steps::atoms_, Steps::chosen, Steps::codes_, Steps::count_, Steps::memory_;
  using Steps::open_, Steps::taken_;

  T* coefficients(Index row) const { return coefficients_ + row * P; }

  // The next atom of each signal, if one is left to take.
  void choose() {
    RunningMaximum<T> running;
    for (int b = 0; b < all_.schedule.count; ++b)
      search_member(all_.schedule.members[b], coefficients_, running);
    const LargestCorrelations<T> largest = running.largest();
    T strengths[P];
    typename IntegerOf<T>::type counts[P];
    for (int v = 0; v < UNROLL; ++v) {
      store(strengths + v * LANES<T>, largest.values[v]);
      store(counts + v * LANES<T>, largest.counts[v]);
    }
    for (int p = 0; p < P; ++p) {
      if (open_[p] == 0) continue;
      int k = all_.schedule.atoms[counts[p]];
      if (this->has(p, k))
        k = largest_other(p, strengths[p]);
      else if (!COMPARES_MAGNITUDES && correlation(p, k) < 0)
        strengths[p] = -strengths[p];
      open_[p] = this->try_atom(p, k, strengths[p], 1);
      // Inner products are far away in memory: all of them are prefetched at once.
      const T* gram = atoms_.gram + static_cast<Index>(k) * atoms_.pitch;
      for (int i = 0; i < taken_; ++i) __builtin_prefetch(gram + chosen(p)[i]);
    }
    for (int p = 0; p < P; ++p) this->load_products(p, strengths[p]);
  }

  // If only rounding is left, it may be largest along a chosen atom; this finds the largest among
  // the others.
  FOST_NOINLINE int largest_other(int p, T& strength) const {
    int found = 0;
    strength = 0;
    for (int k = 0; k < atoms_.count; ++k) {
      if (this->has(p, k)) continue;
      const T sum = correlation(p, k);
      if (__builtin_fabs(sum) > __builtin_fabs(strength)) {
        strength = sum;
        found = k;
      }
    }
    return found;
  }

  T* residual(Index p) const { return memory_.rows + p * all_.pitch; }

  // The blocks of atom k from that of feature i on.
  const std::int32_t* blocks(Index k, int i) const {
    return all_.atoms.places + k * all_.atoms.count + i / ATOM_BLOCK;
  }

  // The correlation of atom k with the residual of signal p.
  T correlation(int p, int k) const {
    Vec<T> sums[ATOM_BLOCK / LANES<T>] = {};
    for (int i = 0; i < all_.pitch; i += ATOM_BLOCK) {
      const T *block = all_.atoms.values + *blocks(k, i), *row = residual(p) + i;
#pragma GCC unroll 16
      for (int v = 0; v < ATOM_BLOCK / LANES<T>; ++v)
        sums[v] += load(block + v * LANES<T>) * load(row + v * LANES<T>);
    }
    T total = 0;
    for (int v = 0; v < ATOM_BLOCK / LANES<T>; ++v)
      for (int l = 0; l < LANES<T>; ++l) total += sums[v][l];
    return total;
  }

  // The changes of the coefficients of the chosen atoms.
  void find_factors() const {
    const double *last = this->row(taken_ - 1), *c = memory_.c + static_cast<Index>(taken_ - 1) * P;
    for (int i = 0; i < taken_; ++i)
      for (int p = 0; p < P; ++p) memory_.alpha[i * P + p] = static_cast<T>(c[p] * last[i * P + p]);
  }

  // Subtracts these changes times the atoms.
  void subtract(int p) const {
    int i = 0;
    for (; i + 8 * LANES<T> <= all_.pitch; i += 8 * LANES<T>) subtract_part<8>(p, i);
    for (; i < all_.pitch; i += 4 * LANES<T>) subtract_part<4>(p, i);
  }
  // For V vectors of features from i on.
  template <int V> void subtract_part(int p, int i) const {
    Vec<T> left[V];
    T* row = residual(p) + i;
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) left[v] = load(row + v * LANES<T>);
    const std::int32_t* atoms = chosen(p);
    const T* factors = memory_.alpha + p;
    for (int k = 0; k < taken_; ++k) {
      Vec<T> factor = factors[k * P] - Vec<T>{};
      keep_in_register(factor);
      const std::int32_t* places = blocks(atoms[k], i);
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) {
        const int within = v * LANES<T> % ATOM_BLOCK;
        left[v] -= factor * load(all_.atoms.values + places[v * LANES<T> / ATOM_BLOCK] + within);
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) store(row + v * LANES<T>, left[v]);
  }

  // Copies residuals from coefficient rows to contiguous rows, and back.
  void take_rows() const {
    for (int p = 0; p < P; p += LANES<T>)
      for (int i = 0; i < all_.pitch; i += LANES<T>) {
        Vec<T> block[LANES<T>];
#pragma GCC unroll 16
        for (int l = 0; l < LANES<T>; ++l)
          block[l] = i + l < atoms_.n ? load(coefficients(i + l) + p) : Vec<T>{};
        transpose<T>(block);
#pragma GCC unroll 16
        for (int l = 0; l < LANES<T>; ++l) store(residual(p + l) + i, block[l]);
      }
  }
  void set_board() const {
    for (int p = 0; p < P; p += LANES<T>)
      for (int i = 0; i < atoms_.n; i += LANES<T>) {
        Vec<T> block[LANES<T>];
#pragma GCC unroll 16
        for (int l = 0; l < LANES<T>; ++l) block[l] = load(residual(p + l) + i);
        transpose<T>(block);
#pragma GCC unroll 16
        for (int l = 0; l < LANES<T>; ++l)
          if (i + l < atoms_.n) store(coefficients(i + l) + p, block[l]);
      }
  }

  const UnionProgram<T>& all_;
  T* coefficients_;
};

}  // namespace FOST_NAMESPACE
}  // namespace fost
