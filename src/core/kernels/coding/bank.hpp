// Selects, for each signal, the member of a bank whose s largest coefficients have the most energy;
// the first one among equals. Members are tried one after another on a tile that stays in the
// cache, WIDTH signals at a time.
#pragma once

#include "kernels/selection/select.hpp"
#include "kernels/simd/tile.hpp"
#include "kernels/transforms/givens.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// Coefficients of WIDTH signals: their rows, their features and their factors.
template <class T> struct Scattered {
  const T* x;
  const RowPair* places;
  const T* scales;
  int count;
};

// One feature of those coefficients, in UNROLL vectors.
template <class T> struct Gathered {
  Index feature;
  Vec<T> x[UNROLL];

  Gathered() = default;
  FOST_INLINE Gathered(const Scattered<T>& in, int k) : feature(second_row(in.places[k])) {
    const T* from = in.x + first_row(in.places[k]) * WIDTH<T>;
    Vec<T> scale = in.scales[k] - Vec<T>{};
    keep_in_register(scale);
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) x[v] = scale * load(from + v * LANES<T>);
  }
};

// A callback that does nothing.
struct Ignore {
  template <class G> FOST_INLINE void operator()(const G&) const {}
};

// Row source for LargestMagnitudes: gathers the features in order and calls use(feature) for each.
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

// A share of a signal's energy that may be rounding error.
template <class T> constexpr T ROUNDING_SHARE = sizeof(T) == 4 ? T(1e-6) : T(1e-14);

// Energies outside this range may have overflowed or lost digits by underflow.
template <class T> constexpr T MIN_ENERGY = sizeof(T) == 4 ? T(1e-24) : T(1e-280);
template <class T> constexpr T MAX_ENERGY = sizeof(T) == 4 ? T(1e37) : T(1e307);

// A power of two that scales a magnitude to about one.
template <class T> FOST_INLINE Vec<T> reciprocal_scale(Vec<T> magnitude) {
  using Integer = typename IntegerOf<T>::type;
  constexpr int DIGITS = sizeof(T) == 4 ? 23 : 52, LARGEST = sizeof(T) == 4 ? 254 : 2046;
  const Mask<T> exponent = reinterpret_cast<Mask<T>>(magnitude) >> DIGITS;
  const Mask<T> inverse = static_cast<Integer>(LARGEST) - exponent, one = Mask<T>{} + 1;
  return reinterpret_cast<Vec<T>>((inverse > one ? inverse : one) << DIGITS);
}

// The choice between the members of a bank for WIDTH signals. S is s if that is small, else 0.
template <class T, int S> struct MemberSelection {
  const CoderProgram<T>& bank;
  const BankMemory<T>& memory;  // of these signals
  int s;
  T* scratch;

  // Before the first member: norms and the common features. Returns false if a signal may have an
  // entry that is not finite; otherwise all coefficients of all members are finite.
  bool start() const {
    Vec<T> norms[UNROLL] = {};
    const T* x = memory.coefficients;
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
      // A member that keeps at least this much can be beaten only by rounding.
      store(memory.norms + v * LANES<T>, norms[v] * (1 - ROUNDING_SHARE<T>));
    }
    const Scattered<T> in = common();
    const auto take = [this](const Gathered<T>& next) { take_all(next); };
    if constexpr (S > 0) {
      LargestMagnitudes<T, S> largest = {};
      const auto rows = gathered_rows(in, take);
      largest.merge(rows, in.count);
      for (int v = 0; v < UNROLL; ++v)
        for (int k = 0; k < KEPT<S>; ++k) store(head(k, v), largest.of[v][k]);
    } else {
      for (int k = 0; k < in.count; ++k) take(Gathered<T>(in, k));
    }
    return all_zero<T>(zeros);
  }

  // Whether some member could still keep more energy of some signal than the best one so far.
  bool is_undecided() const {
    Mask<T> open = {};
    for (int v = 0; v < UNROLL; ++v) {
      const int at = v * LANES<T>;
      open |= Mask<T>(load(memory.energies + at) < load(memory.norms + at));
    }
    return any<T>(open);
  }

  // The first member, with coefficients at x, is the initial choice for all signals.
  void consider_first(const T* x) const {
    const Scattered<T> in = coefficients(0, x);
    Vec<T> energies[UNROLL], levels[UNROLL];
    measure(in, energies, levels, [this](const Gathered<T>& next) { take_all(next); });
    for (int v = 0; v < UNROLL; ++v) {
      const int at = v * LANES<T>;
      store(memory.energies + at, energies[v]);
      store(memory.levels + at, maximum<T>(levels[v], smallest_positive<T>()));
      store(memory.chosen_members + at, Vec<T>{});
    }
  }

  // Member b replaces the current choice for signals of which it keeps more energy.
  void consider(int b, const T* x) const {
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
      store_where<T>(better[v], memory.levels + at, maximum<T>(levels[v], smallest_positive<T>()));
      store_where<T>(better[v], memory.chosen_members + at, Vec<T>{} + static_cast<T>(b));
    }
    if (!any<T>(all)) return;
    for (int k = 0; k < in.count; ++k) {
      const Gathered<T> next(in, k);
#pragma GCC unroll 4
      for (int v = 0; v < UNROLL; ++v)
        store_where<T>(better[v], chosen(next.feature, v), next.x[v]);
    }
  }

 private:
  Scattered<T> coefficients(int b, const T* x) const {
    return {x, bank.members[b].places, bank.members[b].scales, bank.n_varying};
  }
  Scattered<T> common() const {
    return {memory.coefficients, bank.common, bank.ones, bank.n_common};
  }
  T* chosen(Index feature, int v) const {
    return memory.chosen + feature * WIDTH<T> + v * LANES<T>;
  }
  T* head(int k, int v) const { return memory.heads + k * WIDTH<T> + v * LANES<T>; }

  // The unit is one, except where the norm is outside the safe range: there, signals are scaled by
  // a power of two and the norm is computed again.
  void set_unit(int v, Vec<T>& norm) const {
    const Vec<T> none = {}, one = none + T(1);
    Vec<T> unit = one;
    const Mask<T> usual =
        Mask<T>(norm >= none + MIN_ENERGY<T>) & Mask<T>(norm <= none + MAX_ENERGY<T>);
    if (any<T>(~usual)) {
      const T* x = memory.coefficients + v * LANES<T>;
      Vec<T> largest = none, sum = none;
      for (int i = 0; i < bank.base.n; ++i)
        largest = maximum<T>(absolute(load(x + i * WIDTH<T>)), largest);
      unit = usual ? one : reciprocal_scale<T>(largest);
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

  // The energy of the s largest coefficients, and the smallest magnitude among them.
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
    LargestMagnitudes<T, S> largest;
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

  // The energy of all coefficients that reach the threshold, less the surplus of tied ones.
  template <class Use>
  void measure_many(const Scattered<T>& in, Vec<T>* energies, Vec<T>* levels,
                    const Use& use) const {
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
      levels[v] = kth_largest<T>(scratch, LANES<T>, n, s, next);
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

// The working memory of the WIDTH signals at `lane` of a tile.
template <class T> BankMemory<T> memory_at(const BankMemory<T>& memory, int n, int lane) {
  const Index tile = static_cast<Index>(n) * lane;
  return {memory.coefficients + 2 * tile,
          memory.chosen + tile,
          memory.heads + MAX_IN_REGISTERS * lane,
          memory.units + lane,
          memory.norms + lane,
          memory.energies + lane,
          memory.levels + lane,
          memory.chosen_members + lane,
          memory.offsets + lane};
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
