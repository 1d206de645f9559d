// Which of several transforms suits a signal best: the one whose s largest coefficients have the
// most energy, the first of equals. Members are tried one after another on a tile that stays in
// the cache, WIDTH signals at a time.
#pragma once

#include "kernels/transforms/givens.hpp"
#include "kernels/selection/select.hpp"
#include "kernels/simd/tile.hpp"

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

  Gathered() = default;
  FOST_INLINE Gathered(const Scattered<T>& in, int k) : feature(second_row(in.places[k])) {
    const T* from = in.x + first_row(in.places[k]) * WIDTH<T>;
    Vec<T> scale = in.scales[k] - Vec<T>{};
    hold(scale);
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) x[v] = scale * load(from + v * LANES<T>);
  }
};

// Nothing to do with what is gathered.
struct Ignore {
  template <class G> FOST_INLINE void operator()(const G&) const {}
};

// Feature by feature of those for the largest magnitudes; calls use(feature) for each.
template <class T, class Use> struct GatheredRows {
  using Row = Gathered<T>;
  const Scattered<T>& in;
  const Use& use;

  FOST_INLINE Row row(int k) const {
    const Gathered<T> next(in, k);
    use(next);
    return next;
  }
  FOST_INLINE Vec<T> vector(const Row& row, int v) const { return row.x[v]; }
};
template <class T, class Use>
FOST_INLINE GatheredRows<T, Use> gathered_rows(const Scattered<T>& in, const Use& use) {
  return {in, use};
}

// A share of a signal's energy that may be rounding.
template <class T> constexpr T NEARLY_NOTHING = sizeof(T) == 4 ? T(1e-6) : T(1e-14);

// Energies beyond these may overflow, or lose digits by underflow.
template <class T> constexpr T LEAST_ENERGY = sizeof(T) == 4 ? T(1e-24) : T(1e-280);
template <class T> constexpr T MOST_ENERGY = sizeof(T) == 4 ? T(1e37) : T(1e307);

// A power of two that brings a magnitude to about one.
template <class T> FOST_INLINE Vec<T> one_over(Vec<T> magnitude) {
  using Integer = typename IntegerOf<T>::type;
  constexpr int DIGITS = sizeof(T) == 4 ? 23 : 52, LARGEST = sizeof(T) == 4 ? 254 : 2046;
  const Mask<T> exponent = reinterpret_cast<Mask<T>>(magnitude) >> DIGITS;
  const Mask<T> inverse = static_cast<Integer>(LARGEST) - exponent, one = Mask<T>{} + 1;
  return reinterpret_cast<Vec<T>>((inverse > one ? inverse : one) << DIGITS);
}

// A competition of the members of a bank for WIDTH signals. S is s where that is small, else 0.
template <class T, int S> struct Contest {
  const CoderProgram<T>& bank;
  const BankMemory<T>& memory;  // of these signals
  int s;
  T* scratch;

  // Before the first member: what is common to all. False where a signal may have an entry that
  // is not finite; else no coefficient of any member has.
  bool open() const {
    Vec<T> norms[UNROLL] = {};
    const T* x = memory.board;
    for (int i = 0; i < bank.base.n; ++i, x += WIDTH<T>)
#pragma GCC unroll 4
      for (int v = 0; v < UNROLL; ++v) {
        const Vec<T> a = load(x + v * LANES<T>);
        norms[v] += a * a;
      }
    Vec<T> zeros = {};
    for (int v = 0; v < UNROLL; ++v) {
      zeros += norms[v] * T(0);
      set_unit(v, norms[v]);
      // A member that keeps all but this cannot be beaten but by rounding.
      store(memory.norms + v * LANES<T>, norms[v] * (1 - NEARLY_NOTHING<T>));
    }
    const Scattered<T> in = common();
    const auto take = [this](const Gathered<T>& next) { take_all(next); };
    if constexpr (S > 0) {
      Largest<T, S> largest = {};
      const auto rows = gathered_rows(in, take);
      largest.merge(rows, in.count);
      for (int v = 0; v < UNROLL; ++v)
        for (int k = 0; k < KEPT<S>; ++k) store(head(k, v), largest.of[v][k]);
    } else {
      for (int k = 0; k < in.count; ++k) take(Gathered<T>(in, k));
    }
    return all_zero<T>(zeros);
  }

  // Whether a member could still keep more of some signal than the best so far does.
  bool is_open() const {
    Mask<T> open = {};
    for (int v = 0; v < UNROLL; ++v) {
      const int at = v * LANES<T>;
      open |= Mask<T>(load(memory.energies + at) < load(memory.norms + at));
    }
    return any<T>(open);
  }

  // The first member, whose coefficients are at x, takes all signals.
  void enter_first(const T* x) const {
    const Scattered<T> in = coefficients(0, x);
    Vec<T> energies[UNROLL], levels[UNROLL];
    measure(in, energies, levels, [this](const Gathered<T>& next) { take_all(next); });
    for (int v = 0; v < UNROLL; ++v) {
      const int at = v * LANES<T>;
      store(memory.energies + at, energies[v]);
      store(memory.levels + at, maximum<T>(levels[v], smallest<T>()));
      store(memory.winners + at, Vec<T>{});
    }
  }

  // Member b takes over the signals of which it keeps more energy than the best before it.
  void enter(int b, const T* x) const {
    const Scattered<T> in = coefficients(b, x);
    Vec<T> energies[UNROLL], levels[UNROLL];
    measure(in, energies, levels, Ignore{});
    Mask<T> better[UNROLL], all = {};
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) {
      const int at = v * LANES<T>;
      const Vec<T> before = load(memory.energies + at);
      better[v] = Mask<T>(energies[v] > before) & Mask<T>(before < load(memory.norms + at));
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
  Scattered<T> coefficients(int b, const T* x) const {
    return {x, bank.members[b].places, bank.members[b].scales, bank.n_varying};
  }
  Scattered<T> common() const {
    return {memory.board, bank.common, bank.ones, bank.n_common};
  }
  T* chosen(Index feature, int v) const {
    return memory.chosen + feature * WIDTH<T> + v * LANES<T>;
  }
  T* head(int k, int v) const { return memory.heads + k * WIDTH<T> + v * LANES<T>; }

  // One, but where the norm is beyond what energies can be compared by: there it is found anew.
  void set_unit(int v, Vec<T>& norm) const {
    const Vec<T> none = {}, one = none + T(1);
    Vec<T> unit = one;
    const Mask<T> usual = Mask<T>(norm >= none + LEAST_ENERGY<T>) & Mask<T>(norm <= none + MOST_ENERGY<T>);
    if (any<T>(~usual)) {
      const T* x = memory.board + v * LANES<T>;
      Vec<T> largest = none, sum = none;
      for (int i = 0; i < bank.base.n; ++i)
        largest = maximum<T>(absolute(load(x + i * WIDTH<T>)), largest);
      unit = usual ? one : one_over<T>(largest);
      for (int i = 0; i < bank.base.n; ++i) {
        const Vec<T> a = unit * load(x + i * WIDTH<T>);
        sum += a * a;
      }
      norm = usual ? norm : sum;
    }
    store(memory.units + v * LANES<T>, unit);
  }

  FOST_INLINE void take_all(const Gathered<T>& next) const {
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) store(chosen(next.feature, v), next.x[v]);
  }

  // The energy of the s largest coefficients, and the magnitude of the last of them.
  template <class Use>
  FOST_INLINE void measure(const Scattered<T>& in, Vec<T>* energies, Vec<T>* levels,
                           const Use& use) const {
    if constexpr (S > 0)
      measure_few(in, energies, levels, use);
    else
      measure_many(in, energies, levels, use);
  }

  template <class Use>
  FOST_INLINE void measure_few(const Scattered<T>& in, Vec<T>* energies, Vec<T>* levels,
                               const Use& use) const {
    Largest<T, S> largest;
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v)
#pragma GCC unroll 8
      for (int k = 0; k < KEPT<S>; ++k) largest.of[v][k] = load(head(k, v));
    const auto rows = gathered_rows(in, use);
    largest.merge(rows, in.count);
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) {
      energies[v] = Vec<T>{};
      const Vec<T> unit = load(memory.units + v * LANES<T>);
#pragma GCC unroll 8
      for (int k = 0; k < S; ++k) {
        const Vec<T> a = unit * largest.of[v][k];
        energies[v] += a * a;
      }
      levels[v] = largest.of[v][S - 1];
    }
  }

  // The energy of all that reach the level, without those that are too many.
  template <class Use>
  void measure_many(const Scattered<T>& in, Vec<T>* energies, Vec<T>* levels, const Use& use) const {
    const Scattered<T> fixed = common();
    const int n = in.count + fixed.count;
    const Vec<T> none = {}, one = none + T(1);
    for (int k = 0; k < in.count; ++k) use(Gathered<T>(in, k));
    for (int v = 0; v < UNROLL; ++v) {
      T* next = scratch;
      const auto list = [&](const Scattered<T>& from) {
        for (int k = 0; k < from.count; ++k, next += LANES<T>)
          store(next, absolute(Gathered<T>(from, k).x[v]));
      };
      list(fixed);
      list(in);
      levels[v] = level_of<T>(scratch, LANES<T>, n, s, next);
      const Vec<T> unit = load(memory.units + v * LANES<T>), least = unit * levels[v];
      Vec<T> sum = none, count = none;
      for (int i = 0; i < n; ++i) {
        const Vec<T> a = load(scratch + i * LANES<T>), scaled = unit * a;
        sum += a >= levels[v] ? scaled * scaled : none;
        count += a >= levels[v] ? one : none;
      }
      const Vec<T> beyond = count - static_cast<T>(s);
      energies[v] = sum - (beyond > none ? beyond * least * least : none);
    }
  }
};

// The memory of the WIDTH signals at `lane` of a tile.
template <class T> BankMemory<T> memory_at(const BankMemory<T>& memory, int n, int lane) {
  const Index tile = static_cast<Index>(n) * lane;
  return {memory.board + 2 * tile, memory.chosen + tile,   memory.heads + MOST_FEW * lane,
          memory.units + lane,     memory.norms + lane,    memory.energies + lane,
          memory.levels + lane,    memory.winners + lane,  memory.offsets + lane};
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
