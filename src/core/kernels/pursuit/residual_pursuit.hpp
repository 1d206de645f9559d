// Orthogonal matching pursuits of WIDTH signals side by side, by their residuals.
//
// The residuals, in the domain of the base that the members of a union share, are a tile of the
// board. In each step the rotations of all members turn them into the correlations with all atoms,
// which are compared as they appear and not stored: everything stays in the first-level cache, where
// rows of inner products (see pursuits.hpp) come from further away. Then each residual loses what the
// coefficients of its chosen atoms have changed by, times the atoms' entries.
#pragma once

#include "kernels/pursuit/omp_steps.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// The coefficient of the largest magnitude of each lane, and by which count it came. Where there is
// no instruction for that, `values` are magnitudes alone: the next comparison then waits for one
// instruction of the last, and not for three.
template <class T> struct Champions {
  Vec<T> values[UNROLL] = {};
  Mask<T> counts[UNROLL] = {};

  FOST_INLINE void meet(const Vec<T>* coefficients, Mask<T> now) {
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) {
      if constexpr (COMPARES_MAGNITUDES) {
        const Vec<T> strongest = stronger(values[v], coefficients[v]);
        counts[v] = Mask<T>(strongest != values[v]) ? now : counts[v];
        values[v] = strongest;
      } else {
        const Vec<T> magnitude = absolute(coefficients[v]);
        // Counts ascend, so that the larger one is the later one.
        const Mask<T> mine = Mask<T>(magnitude > values[v]) & now;
        counts[v] = mine > counts[v] ? mine : counts[v];
        values[v] = maximum<T>(magnitude, values[v]);
      }
    }
  }
};

// Of all coefficients, the first of equals, but for their signs. They come to one of two sides, so that
// a comparison does not wait for the one before.
template <class T> struct Screening {
  Champions<T> sides[2];
  Mask<T> now = {};

  template <int SIDE> FOST_INLINE void meet(const Vec<T>* coefficients) {
    sides[SIDE].meet(coefficients, now);
    now += 1;
  }

  Champions<T> winners() const {
    Champions<T> both = sides[0];
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

// A rotation on two rows of the board, in UNROLL vectors; see ScreenMember.
template <class T> struct TwoRows {
  Vec<T> a[UNROLL], b[UNROLL];

  FOST_INLINE TwoRows(const T* board, RowPair from) {
    const T *p = board + first_row(from) * WIDTH<T>, *q = board + second_row(from) * WIDTH<T>;
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) {
      a[v] = load(p + v * LANES<T>);
      b[v] = load(q + v * LANES<T>);
    }
  }
};

// So many rotations in a row, of one coefficient and others; see ScreenMember.
template <int LENGTH, class T>
FOST_INLINE void turn_chain(T* board, const RowPair* rows, const T* factors) {
  const auto at = [board](Index row) { return board + row * WIDTH<T>; };
  Vec<T> one[UNROLL];
#pragma GCC unroll 4
  for (int v = 0; v < UNROLL; ++v) one[v] = load(at(first_row(rows[0])) + v * LANES<T>);
#pragma GCC unroll 2
  for (int k = 0; k < LENGTH; ++k) {
    const T* from = at(first_row(rows[k + 1]));
    T* to = at(second_row(rows[k + 1]));
    Vec<T> alpha = factors[2 * k] - Vec<T>{}, beta = factors[2 * k + 1] - Vec<T>{};
    hold(alpha);
    hold(beta);
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
template <class T> FOST_INLINE void keep(const Vec<T>* x, const Vec<T>* y, T factor, T* to) {
  Vec<T> all = factor - Vec<T>{};
  hold(all);
#pragma GCC unroll 4
  for (int v = 0; v < UNROLL; ++v) store(to + v * LANES<T>, x[v] + all * y[v]);
}

// factors[0] x + factors[1] y
template <int SIDE, class T>
FOST_INLINE void meet(Screening<T>& screening, const Vec<T>* x, const Vec<T>* y, const T* factors) {
  Vec<T> first = factors[0] - Vec<T>{}, second = factors[1] - Vec<T>{}, sums[UNROLL];
  hold(first);
  hold(second);
#pragma GCC unroll 4
  for (int v = 0; v < UNROLL; ++v) sums[v] = first * x[v] + second * y[v];
  screening.template meet<SIDE>(sums);
}

// scale x
template <int SIDE, class T> FOST_INLINE void meet_stored(Screening<T>& screening, const T* x, T scale) {
  Vec<T> all = scale - Vec<T>{}, scaled[UNROLL];
  hold(all);
#pragma GCC unroll 4
  for (int v = 0; v < UNROLL; ++v) scaled[v] = all * load(x + v * LANES<T>);
  screening.template meet<SIDE>(scaled);
}

template <class T>
FOST_INLINE void screen_member(const ScreenMember<T>& member, T* board, Screening<T>& screening) {
  const RowPair* rows = member.rows;
  const T* factors = member.factors;
  const auto at = [board](Index row) { return board + row * WIDTH<T>; };
  for (int turn = 0; turn < member.turns; ++turn) {
    for (int k = member.kept[2 * turn]; k > 0; --k, rows += 3, factors += 4) turn_chain<2>(board, rows, factors);
    for (int k = member.kept[2 * turn + 1]; k > 0; --k, rows += 2, factors += 2) turn_chain<1>(board, rows, factors);
  }
  Screening<T> local = screening;
  for (int k = 0; k < member.first; ++k, rows += 2, factors += 3) {
    const TwoRows<T> in(board, rows[0]);
    keep(in.b, in.a, factors[2], at(first_row(rows[1])));
    meet<0>(local, in.a, in.b, factors);
  }
  for (int k = 0; k < member.both; ++k, rows += 1, factors += 4) {
    const TwoRows<T> in(board, rows[0]);
    meet<0>(local, in.a, in.b, factors);
    meet<1>(local, in.b, in.a, factors + 2);
  }
  int k = 0;
  for (; k + 1 < member.stored; k += 2) {
    meet_stored<0>(local, at(member.places[k]), member.scales[k]);
    meet_stored<1>(local, at(member.places[k + 1]), member.scales[k + 1]);
  }
  if (k < member.stored) meet_stored<0>(local, at(member.places[k]), member.scales[k]);
  screening = local;
}

template <class T> class ResidualPursuits : PursuitSteps<T, WIDTH<T>> {
 public:
  // Those of the first `count` signals on a board.
  ResidualPursuits(const UnionProgram<T>& all, const Atoms<T>& atoms, const PursuitMemory<T>& memory,
                   const Codes<T>& codes, int count, T* board)
      : Steps(atoms, memory, codes, count), all_(all), board_(board) {}

  using PursuitSteps<T, WIDTH<T>>::begin;

  // All steps, and the codes.
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
  using Steps = PursuitSteps<T, P>;
  using Steps::atom_, Steps::atoms_, Steps::chosen, Steps::codes_, Steps::count_, Steps::memory_;
  using Steps::open_, Steps::taken_;

  T* board(Index row) const { return board_ + row * P; }

  // The next atom of each signal, if there is one left to take.
  void choose() {
    Screening<T> screening;
    for (int b = 0; b < all_.screen.count; ++b) screen_member(all_.screen.members[b], board_, screening);
    const Champions<T> champions = screening.winners();
    T strengths[P];
    typename IntegerOf<T>::type counts[P];
    for (int v = 0; v < UNROLL; ++v) {
      store(strengths + v * LANES<T>, champions.values[v]);
      store(counts + v * LANES<T>, champions.counts[v]);
    }
    for (int p = 0; p < P; ++p) {
      if (open_[p] == 0) continue;
      int k = all_.screen.atoms[counts[p]];
      if (this->has(p, k))
        k = strongest_other(p, strengths[p]);
      else if (!COMPARES_MAGNITUDES && correlation(p, k) < 0)
        strengths[p] = -strengths[p];
      open_[p] = this->prefers(p, k, strengths[p], 1);
      // Inner products come from far away: all of them at once.
      const T* gram = atoms_.gram + static_cast<Index>(k) * atoms_.pitch;
      for (int i = 0; i < taken_; ++i) __builtin_prefetch(gram + chosen(p)[i]);
    }
    for (int p = 0; p < P; ++p) this->compare(p, strengths[p]);
  }

  // Where nothing but rounding is left, it may be strongest along an atom that was taken.
  FOST_APART int strongest_other(int p, T& strength) const {
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

  // Of atom k with a residual in rows.
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

  // By how much the coefficients of the chosen atoms have changed.
  void find_factors() const {
    const double *last = this->row(taken_ - 1), *c = memory_.c + static_cast<Index>(taken_ - 1) * P;
    for (int i = 0; i < taken_; ++i)
      for (int p = 0; p < P; ++p) memory_.alpha[i * P + p] = static_cast<T>(c[p] * last[i * P + p]);
  }

  // These, times the atoms.
  void subtract(int p) const {
    int i = 0;
    for (; i + 8 * LANES<T> <= all_.pitch; i += 8 * LANES<T>) subtract_part<8>(p, i);
    for (; i < all_.pitch; i += 4 * LANES<T>) subtract_part<4>(p, i);
  }
  // Of V vectors of features from i on.
  template <int V> void subtract_part(int p, int i) const {
    Vec<T> left[V];
    T* row = residual(p) + i;
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) left[v] = load(row + v * LANES<T>);
    const std::int32_t* atoms = chosen(p);
    const T* factors = memory_.alpha + p;
    for (int k = 0; k < taken_; ++k) {
      Vec<T> factor = factors[k * P] - Vec<T>{};
      hold(factor);
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

  // Residuals in rows from the board, and back.
  void take_rows() const {
    for (int p = 0; p < P; p += LANES<T>)
      for (int i = 0; i < all_.pitch; i += LANES<T>) {
        Vec<T> block[LANES<T>];
#pragma GCC unroll 16
        for (int l = 0; l < LANES<T>; ++l) block[l] = i + l < atoms_.n ? load(board(i + l) + p) : Vec<T>{};
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
          if (i + l < atoms_.n) store(board(i + l) + p, block[l]);
      }
  }

  const UnionProgram<T>& all_;
  T* board_;
};

}  // namespace FOST_NAMESPACE
}  // namespace fost
