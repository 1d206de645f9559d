// T_s on a tile: of each signal keep the s entries of largest magnitude, ties to the lower
// index, zeros never. Entries of a signal come out sorted by index.
//
// 1. A threshold per lane that s magnitudes reach (more than s only where several equal
//    the s-th largest). Few entries (s <= 8): the largest magnitudes so far are kept in
//    registers, sorted, and four features are merged at once. Many entries: bisection, whose
//    cost does not depend on s.
// 2. The features that reach it, as bits: one set of lanes per feature, turned around into
//    one set of features per lane.
#pragma once

#include "largest.hpp"
#include "pass_types.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// The coefficients of one vector of lanes, and where their codes go.
template <class T> struct Lanes {
  const T* x;    // feature i of lane l is x[i * width + l]
  Index width;
  int n;
  int rows;      // lanes in use
  Codes<T> out;  // of the first lane
  const std::int32_t* offsets;  // of the indices of each lane
};

// How many of the n magnitudes reach a level.
template <class T> FOST_INLINE Mask<T> count_at_least(const T* magnitudes, int n, Vec<T> level) {
  Mask<T> counts[4] = {};
  int i = 0;
  for (; i + 4 <= n; i += 4)
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) counts[q] -= load(magnitudes + (i + q) * LANES<T>) >= level;
  for (; i < n; ++i) counts[0] -= load(magnitudes + i * LANES<T>) >= level;
  return counts[0] + counts[1] + counts[2] + counts[3];
}

// A level that exactly s of the magnitudes reach, or else the s-th largest magnitude.
template <class T> Vec<T> bisect(const T* magnitudes, int n, int s, T* scratch) {
  constexpr int L = LANES<T>;
  // s disjoint groups of features: the least of their maxima is a lower bound.
  for (int k = 0; k < s; ++k) store(scratch + k * L, load(magnitudes + k * L));
  for (int i = s, k = 0; i < n; ++i, k = k + 1 < s ? k + 1 : 0)
    store(scratch + k * L, maximum<T>(load(scratch + k * L), load(magnitudes + i * L)));
  Vec<T> least = load(scratch), largest = least;
  for (int k = 1; k < s; ++k) {
    least = minimum<T>(least, load(scratch + k * L));
    largest = maximum<T>(largest, load(scratch + k * L));
  }
  // Nonnegative floating-point numbers are ordered as their bit patterns. s or more
  // magnitudes reach `low`, fewer than s reach `high`.
  Mask<T> low = reinterpret_cast<Mask<T>>(least), high = reinterpret_cast<Mask<T>>(largest) + 1;
  const Mask<T> wanted = static_cast<typename IntegerOf<T>::type>(s) - Mask<T>{};
  high = count_at_least(magnitudes, n, least) == wanted ? low + 1 : high;
  for (;;) {
    const Mask<T> open = high - low > 1;
    bool any = false;
    for (int l = 0; l < L; ++l) any |= open[l] != 0;
    if (!any) return reinterpret_cast<Vec<T>>(low);
    const Mask<T> middle = low + ((high - low) >> 1);
    const Mask<T> count = count_at_least(magnitudes, n, reinterpret_cast<Vec<T>>(middle));
    low = (open & (count >= wanted)) ? middle : low;
    high = (open & (count < wanted)) ? middle : high;
    high = (open & (count == wanted)) ? low + 1 : high;
  }
}

// The code of one lane with special cases: where more than s magnitudes reach the level,
// because several equal it, the first of those count; zeros never do, not even where the
// processor takes the smallest numbers for zeros and so every entry reaches the level.
template <class T> void collect_special(const Lanes<T>& lanes, int lane, T level) {
  const int s = lanes.out.s;
  int equal = s, count = 0;
  for (int i = 0; i < lanes.n; ++i) {
    const T x = lanes.x[i * lanes.width + lane];
    equal -= (x < 0 ? -x : x) > level;
  }
  const Index row = lane * static_cast<Index>(s);
  for (int i = 0; i < lanes.n; ++i) {
    const T x = lanes.x[i * lanes.width + lane], magnitude = x < 0 ? -x : x;
    if (magnitude == T(0) || magnitude < level || (magnitude == level && equal-- <= 0)) continue;
    lanes.out.indices[row + count] = lanes.offsets[lane] + i;
    lanes.out.values[row + count++] = x;
  }
  lanes.out.counts[lane] = count;
}

// Appends the features in `bits` to the code of a lane, which has `count` entries, as far as
// there is room, and returns how many it would have with more.
template <class T>
FOST_INLINE int append(const Lanes<T>& lanes, int lane, int first, std::uint64_t bits, int count) {
  const int s = lanes.out.s;
  const T* x = lanes.x + first * lanes.width + lane;
  std::int32_t* indices = lanes.out.indices + lane * static_cast<Index>(s);
  T* values = lanes.out.values + lane * static_cast<Index>(s);
  const int total = count + __builtin_popcountll(bits), end = total < s ? total : s;
  for (; count < end; ++count, bits &= bits - 1) {
    const int i = __builtin_ctzll(bits);
    indices[count] = lanes.offsets[lane] + first + i;
    values[count] = x[i * lanes.width];
  }
  return total;
}

// The same for an empty code and exactly S features.
template <class T, int S>
FOST_INLINE int write_all(const Lanes<T>& lanes, int lane, std::uint64_t bits) {
  const T* x = lanes.x + lane;
  std::int32_t* indices = lanes.out.indices + lane * S;
  const std::int32_t offset = lanes.offsets[lane];
  T* values = lanes.out.values + lane * S;
#pragma GCC unroll 8
  for (int k = 0; k < S; ++k, bits &= bits - 1) {
    const int i = __builtin_ctzll(bits);
    indices[k] = offset + i;
    values[k] = x[i * lanes.width];
  }
  return S;
}

// The entries that reach the level, for all lanes. S is s where that is small, else 0.
template <class T, int S> void collect(const Lanes<T>& lanes, Vec<T> level) {
  std::int32_t* counts = lanes.out.counts;
  for (int l = 0; l < lanes.rows; ++l) counts[l] = 0;
  for (int first = 0; first < lanes.n; first += 64) {
    const int here = lanes.n - first < 64 ? lanes.n - first : 64;
    const T* x = lanes.x + first * lanes.width;
    LaneSet<T> sets[64];
    for (int i = 0; i < here; ++i)
      sets[i] = static_cast<LaneSet<T>>(at_least(absolute(load(x + i * lanes.width)), level));
    for (int i = here; i < 64; ++i) sets[i] = 0;
    for (int l = 0; l < lanes.rows; ++l) {
      const std::uint64_t bits = gather_bits(sets, l);
      const bool common = S > 0 && lanes.n <= 64 && __builtin_popcountll(bits) == S;
      counts[l] = common ? write_all<T, S>(lanes, l, bits) : append(lanes, l, first, bits, counts[l]);
    }
  }
  const Mask<T> bits = reinterpret_cast<Mask<T>>(level);
  for (int l = 0; l < lanes.rows; ++l)
    if (counts[l] > lanes.out.s || bits[l] == 1) collect_special(lanes, l, level[l]);
}

// Entries of scratch that a selection needs.
template <class T> constexpr Index select_scratch(Index n) { return 2 * n * LANES<T>; }

template <class T> FOST_INLINE void advance(Codes<T>& codes, Index rows) {
  codes.values += rows * codes.s;
  codes.indices += rows * codes.s;
  codes.counts += rows;
}

// Row by row of a tile for the largest magnitudes, and whether all of it is finite.
template <class T> struct TileRows {
  using Row = const T*;
  const T* tile;
  Index width;
  Prefetch ahead;
  Vec<T> zeros[UNROLL];  // NaN where a coefficient is not finite

  FOST_INLINE Row row(int i) const { return tile + i * width; }
  FOST_INLINE Vec<T> vector(Row row, int v) {
    const Vec<T> a = load(row + v * LANES<T>);
    zeros[v] += a * T(0);
    ahead.step();
    return a;
  }
};

// The S-th largest magnitudes of UNROLL vectors. False where a coefficient is not finite.
template <class T, int S>
bool thresholds_few(const T* tile, Index width, int n, Vec<T>* levels, Prefetch& ahead) {
  Largest<T, S> largest;
#pragma GCC unroll 4
  for (int v = 0; v < UNROLL; ++v)
#pragma GCC unroll 8
    for (int k = 0; k < KEPT<S>; ++k) largest.of[v][k] = smallest<T>();
  TileRows<T> rows = {tile, width, ahead, {}};
  largest.merge(rows, n);
  ahead = rows.ahead;
  Vec<T> sum = {};
  for (int v = 0; v < UNROLL; ++v) {
    levels[v] = largest.of[v][S - 1];
    sum += rows.zeros[v];
  }
  return all_zero<T>(sum);
}

// The same for any s, one vector after another.
template <class T>
bool thresholds_many(const T* tile, Index width, int n, int s, Vec<T>* levels, T* scratch,
                     Prefetch& ahead) {
  Vec<T> zeros = {};
  Prefetch local = ahead;
  for (int v = 0; v < UNROLL; ++v) {
    T* next = scratch;
    for (int i = 0; i < n; ++i, next += LANES<T>) {
      const Vec<T> a = absolute(load(tile + i * width + v * LANES<T>));
      zeros += a * T(0);
      store(next, a);
      local.step();
    }
    levels[v] = maximum<T>(bisect<T>(scratch, n, s, next), smallest<T>());
  }
  ahead = local;
  return all_zero<T>(zeros);
}

// Calls use(Constant<S>) with S = s where that is small, else with 0.
template <int S> struct Constant { static constexpr int value = S; };
template <class Use> FOST_INLINE auto with_constant(int s, const Use& use) {
  switch (s) {
    case 1: return use(Constant<1>{});
    case 2: return use(Constant<2>{});
    case 3: return use(Constant<3>{});
    case 4: return use(Constant<4>{});
    case 5: return use(Constant<5>{});
    case 6: return use(Constant<6>{});
    case 7: return use(Constant<7>{});
    case 8: return use(Constant<8>{});
    default: return use(Constant<0>{});
  }
}

constexpr std::int32_t NO_OFFSETS[LANES<float>] = {};

// The codes of the first `rows` signals of a tile. False, and no codes, where a coefficient is not
// finite.
template <class T>
bool select_tile(const T* tile, int width, int n, int rows, Codes<T> out, T* scratch,
                 Prefetch& ahead) {
  return with_constant(out.s, [&](auto s) {
    constexpr int S = decltype(s)::value;
    for (int lane = 0; lane < rows; lane += WIDTH<T>) {
      Vec<T> levels[UNROLL];
      bool finite;
      if constexpr (S > 0)
        finite = thresholds_few<T, S>(tile + lane, width, n, levels, ahead);
      else
        finite = thresholds_many<T>(tile + lane, width, n, out.s, levels, scratch, ahead);
      if (!finite) return false;
      for (int v = 0; v < UNROLL; ++v) {
        const int first = lane + v * LANES<T>, left = rows - first;
        if (left <= 0) break;
        collect<T, S>({tile + first, width, n, left < LANES<T> ? left : LANES<T>, out, NO_OFFSETS},
                      levels[v]);
        advance(out, LANES<T>);
      }
    }
    return true;
  });
}

// The same for finite coefficients whose s-th largest magnitudes, or smallest<T>() where there
// are fewer, are known. Each signal has an offset of its indices.
template <class T>
void collect_tile(const T* tile, int width, int n, int rows, Codes<T> out, const T* levels,
                  const std::int32_t* offsets) {
  for (int lane = 0; lane < rows; lane += LANES<T>) {
    const int here = rows - lane < LANES<T> ? rows - lane : LANES<T>;
    const Lanes<T> lanes = {tile + lane, width, n, here, out, offsets + lane};
    const Vec<T> level = load(levels + lane);
    with_constant(out.s, [&](auto s) { collect<T, decltype(s)::value>(lanes, level); });
    advance(out, LANES<T>);
  }
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
