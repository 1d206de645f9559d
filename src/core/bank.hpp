// Which of several transforms suits a signal best: the one whose s largest coefficients have the
// most energy, the first of equals. Members are tried one after another on a tile that stays in
// the cache, WIDTH signals at a time.
#pragma once

#include "givens.hpp"
#include "select.hpp"
#include "tile.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// Coefficients of WIDTH signals: where they are, of which features, and up to which factors.
template <class T> struct Scattered {
  const T* x;
  const RowPair* places;
  const T* scales;
  int count;
};

// One feature of those, in UNROLL vectors.
template <class T> struct Gathered {
  Index feature;
  Vec<T> x[UNROLL];

  FOST_INLINE Gathered(const Scattered<T>& in, int k) : feature(second_row(in.places[k])) {
    const T* from = in.x + first_row(in.places[k]) * WIDTH<T>;
    Vec<T> scale = in.scales[k] - Vec<T>{};
    hold(scale);
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) x[v] = scale * load(from + v * LANES<T>);
  }
};

// The largest magnitudes so far, sorted, of UNROLL vectors side by side.
template <class T, int S> struct Largest {
  Vec<T> of[UNROLL][KEPT<S>];

  // Without branches: one of so many lanes nearly always has something to merge, and two chains
  // of comparisons hide each other's latency.
  FOST_INLINE void merge_all(const Scattered<T>& in) {
    int k = 0;
    for (; k + 4 <= in.count; k += 4) merge_four(in, k, 4);
    if (k < in.count) merge_four(in, k, in.count - k);
  }

  FOST_INLINE void merge_four(const Scattered<T>& in, int first, int here) {
    Vec<T> a[UNROLL][4] = {};
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q)
      if (q < here) {
        const Gathered<T> next(in, first + q);
#pragma GCC unroll 4
        for (int v = 0; v < UNROLL; ++v) a[v][q] = next.x[v];
      }
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) merge_magnitudes<T, KEPT<S>>(of[v], a[v]);
  }
};

// A competition of the members of a bank for WIDTH signals. S is s where that is small, else 0.
template <class T, int S> struct Contest {
  const BankProgram<T>& bank;
  const BankMemory<T>& memory;  // of these signals
  int s;
  T* scratch;

  // Before the first member: what is common to all.
  void open() const {
    const Scattered<T> in = common();
    for (int k = 0; k < in.count; ++k) {
      const Gathered<T> next(in, k);
      for (int v = 0; v < UNROLL; ++v) store(chosen(next.feature, v), next.x[v]);
    }
    if constexpr (S > 0) {
      Largest<T, S> largest = {};
      largest.merge_all(in);
      for (int v = 0; v < UNROLL; ++v)
        for (int k = 0; k < KEPT<S>; ++k) store(head(k, v), largest.of[v][k]);
    }
  }

  // Member b, whose coefficients are at x, takes over the signals of which it keeps more energy
  // than the best before it.
  void enter(int b, const T* x) const {
    const BankMember<T>& member = bank.members[b];
    const Scattered<T> in = {x, member.places, member.scales, bank.n_varying};
    Vec<T> energies[UNROLL], levels[UNROLL];
    if constexpr (S > 0)
      measure_few(in, energies, levels);
    else
      measure_many(in, energies, levels);
    Mask<T> better[UNROLL], all = {};
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) {
      const int at = v * LANES<T>;
      // The first takes all, NaN too, which is found in the end.
      better[v] = b ? Mask<T>(energies[v] > load(memory.energies + at)) : ~Mask<T>{};
      all |= better[v];
      store_where<T>(better[v], memory.energies + at, energies[v]);
      store_where<T>(better[v], memory.levels + at, maximum<T>(levels[v], smallest<T>()));
      store_where<T>(better[v], memory.winners + at, Vec<T>{} + static_cast<T>(b));
    }
    if (!any<T>(all)) return;
    for (int k = 0; k < in.count; ++k) {
      const Gathered<T> next(in, k);
#pragma GCC unroll 4
      for (int v = 0; v < UNROLL; ++v) store_where<T>(better[v], chosen(next.feature, v), next.x[v]);
    }
  }

 private:
  Scattered<T> common() const {
    return {memory.board, bank.common, bank.ones, bank.n_common};
  }
  T* chosen(Index feature, int v) const {
    return memory.chosen + feature * WIDTH<T> + v * LANES<T>;
  }
  T* head(int k, int v) const { return memory.heads + k * WIDTH<T> + v * LANES<T>; }

  FOST_INLINE void measure_few(const Scattered<T>& in, Vec<T>* energies, Vec<T>* levels) const {
    Largest<T, S> largest;
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v)
#pragma GCC unroll 8
      for (int k = 0; k < KEPT<S>; ++k) largest.of[v][k] = load(head(k, v));
    largest.merge_all(in);
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) {
      energies[v] = Vec<T>{};
#pragma GCC unroll 8
      for (int k = 0; k < S; ++k) energies[v] += largest.of[v][k] * largest.of[v][k];
      levels[v] = largest.of[v][S - 1];
    }
  }

  // The energy of all that reach the level, without those that are too many.
  void measure_many(const Scattered<T>& in, Vec<T>* energies, Vec<T>* levels) const {
    const Scattered<T> fixed = common();
    const int n = in.count + fixed.count;
    const Vec<T> none = {}, one = none + T(1);
    for (int v = 0; v < UNROLL; ++v) {
      T* next = scratch;
      const auto take = [&](const Scattered<T>& from) {
        for (int k = 0; k < from.count; ++k, next += LANES<T>)
          store(next, absolute(Gathered<T>(from, k).x[v]));
      };
      take(fixed);
      take(in);
      levels[v] = bisect<T>(scratch, n, s, next);
      Vec<T> sum = none, count = none;
      for (int i = 0; i < n; ++i) {
        const Vec<T> a = load(scratch + i * LANES<T>);
        sum += a >= levels[v] ? a * a : none;
        count += a >= levels[v] ? one : none;
      }
      const Vec<T> beyond = count - static_cast<T>(s);
      energies[v] = sum - (beyond > none ? beyond * levels[v] * levels[v] : none);
    }
  }
};

// The memory of the WIDTH signals at `lane` of a tile.
template <class T> BankMemory<T> memory_at(const BankMemory<T>& memory, int n, int lane) {
  const Index tile = static_cast<Index>(n) * lane;
  return {memory.board + 2 * tile,        memory.chosen + tile,    memory.heads + MOST_FEW * lane,
          memory.energies + lane,         memory.levels + lane,    memory.winners + lane,
          memory.offsets + lane};
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
