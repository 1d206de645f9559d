// T_s on a tile: keeps the s entries of largest magnitude of each signal. Ties go to the lower
// index, zeros are never kept, and entries are sorted by index.
//
//   1. Find a threshold per lane that s magnitudes reach (more only if several equal the s-th
//      largest): see kth_largest.hpp.
//   2. Collect the features that reach it, as one bit set per lane.
//
// NumPy twins: tests/reference.py, select and select_rows.
#pragma once

#include "kernels/selection/kth_largest.hpp"
#include "types/coding.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// The coefficients of one vector of lanes, and the destination of their codes.
template <class T> struct Lanes {
  const T* x;  // feature i of lane l is x[i * width + l]
  Index width;
  int n;
  int rows;                     // lanes in use
  Codes<T> out;                 // of the first lane
  const std::int32_t* offsets;  // added to the indices of each lane
};

// The code of one lane whose threshold the processor treats as zero (subnormal numbers may be
// flushed), so that every entry reaches it. Zeros are skipped, and of the entries equal to the
// threshold the first ones are kept.
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

// Appends the features in `bits` to the code of a lane with `count` entries, if there is room for
// all of them. Returns the number of entries the code has or would have.
template <class T>
FOST_INLINE int append(const Lanes<T>& lanes, int lane, int first, std::uint64_t bits, int count) {
  const int s = lanes.out.s, end = count + __builtin_popcountll(bits);
  if (end > s) return end;
  const T* x = lanes.x + first * lanes.width + lane;
  std::int32_t* indices = lanes.out.indices + lane * static_cast<Index>(s);
  T* values = lanes.out.values + lane * static_cast<Index>(s);
#pragma GCC unroll 4
  for (; count < end; ++count, bits &= bits - 1) {
    const int i = __builtin_ctzll(bits);
    indices[count] = lanes.offsets[lane] + first + i;
    values[count] = x[i * lanes.width];
  }
  return end;
}

// The same for an empty code and exactly s features among the first 64. S is s if that is small,
// else 0.
template <class T, int S>
FOST_INLINE void write_all(const Lanes<T>& lanes, int lane, std::uint64_t bits) {
  const int s = S ? S : lanes.out.s;
  const T* x = lanes.x + lane;
  const std::int32_t offset = lanes.offsets[lane];
  std::int32_t* indices = lanes.out.indices + lane * static_cast<Index>(s);
  T* values = lanes.out.values + lane * static_cast<Index>(s);
#pragma GCC unroll 8
  for (int k = 0; k < s; ++k, bits &= bits - 1) {
    const int i = __builtin_ctzll(bits);
    indices[k] = offset + i;
    values[k] = x[i * lanes.width];
  }
  lanes.out.counts[lane] = s;
}

// Bit i of bits[l] is set if feature first + i of lane l reaches the threshold (or exceeds it, if
// ABOVE), for i < 64.
template <class T, bool ABOVE>
FOST_INLINE void find_bits(const Lanes<T>& lanes, int first, Vec<T> level, std::uint64_t* bits) {
  const int here = lanes.n - first < 64 ? lanes.n - first : 64;
  const T* x = lanes.x + first * lanes.width;
  const auto magnitude = [&](int i) { return absolute(load(x + i * lanes.width)); };
#if defined(__AVX512F__)
  // A comparison yields the set of lanes of one feature; the sets are transposed at the end.
  LaneSet<T> sets[64];
  for (int i = 0; i < here; ++i)
    sets[i] = static_cast<LaneSet<T>>(ABOVE ? ~at_least(level, magnitude(i))
                                            : at_least(magnitude(i), level));
  for (int i = here; i < 64; ++i) sets[i] = 0;
  for (int l = 0; l < LANES<T>; ++l) bits[l] = gather_bits(sets, l);
#else
  // A comparison yields -1 or 0 per lane, shifted into words bit by bit, beginning with the last
  // feature.
  using Word = typename UnsignedOf<T>::type;
  constexpr int BITS = 8 * sizeof(T), WORDS = 64 / BITS;
  Vec<Word> words[WORDS] = {};
  const auto collect_bits = [&](int count) {
    for (int bit = BITS - 1; bit >= 0; --bit)
#pragma GCC unroll 2
      for (int w = 0; w < WORDS; ++w) {
        const int i = w * BITS + bit;
        if (i >= count) continue;
        const Mask<T> reached =
            ABOVE ? Mask<T>(magnitude(i) > level) : Mask<T>(magnitude(i) >= level);
        words[w] += words[w] - reinterpret_cast<Vec<Word>>(reached);
      }
  };
  if (here == 64)
    collect_bits(64);  // constant bound, without a branch
  else
    collect_bits(here);
  for (int l = 0; l < LANES<T>; ++l) {
    bits[l] = words[0][l];
    if constexpr (WORDS == 2) bits[l] |= static_cast<std::uint64_t>(words[1][l]) << 32;
  }
#endif
}

// The codes of lanes in which more than s magnitudes reach the threshold because several equal it:
// the first of those are kept. The counts of such lanes exceed s.
template <class T> void collect_tied(const Lanes<T>& lanes, Vec<T> level) {
  const int s = lanes.out.s;
  std::int32_t* counts = lanes.out.counts;
  Mask<T> above = {};
  for (int i = 0; i < lanes.n; ++i) above -= absolute(load(lanes.x + i * lanes.width)) > level;
  int equal[LANES<T>];
  for (int l = 0; l < LANES<T>; ++l) equal[l] = s - static_cast<int>(above[l]);
  unsigned tied = 0;
  for (int l = 0; l < lanes.rows; ++l)
    if (counts[l] > s) {
      tied |= 1u << l;
      counts[l] = 0;
    }
  for (int first = 0; first < lanes.n; first += 64) {
    std::uint64_t reached[LANES<T>], exceeded[LANES<T>];
    find_bits<T, false>(lanes, first, level, reached);
    find_bits<T, true>(lanes, first, level, exceeded);
    for (int l = 0; l < lanes.rows; ++l) {
      if (!(tied >> l & 1)) continue;
      const std::uint64_t chosen = lowest_bits(reached[l] ^ exceeded[l], equal[l]);
      equal[l] -= __builtin_popcountll(chosen);
      counts[l] = append(lanes, l, first, exceeded[l] | chosen, counts[l]);
    }
  }
}

// The entries that reach the threshold, for all lanes. S is s if that is small, else 0.
template <class T, int S> void collect(const Lanes<T>& lanes, Vec<T> level) {
  const int s = S ? S : lanes.out.s;
  std::int32_t* counts = lanes.out.counts;
  std::uint64_t bits[LANES<T>];
  find_bits<T, false>(lanes, 0, level, bits);
  Vec<T> zero = {};
  keep_in_register(zero);
  const unsigned vanishing = at_least(zero, level);
  bool common = lanes.n <= 64 && !vanishing;
  for (int l = 0; l < lanes.rows; ++l) common &= __builtin_popcountll(bits[l]) == s;
  if (common) {
    for (int l = 0; l < lanes.rows; ++l) write_all<T, S>(lanes, l, bits[l]);
    return;
  }
  for (int l = 0; l < lanes.rows; ++l) counts[l] = append(lanes, l, 0, bits[l], 0);
  for (int first = 64; first < lanes.n; first += 64) {
    find_bits<T, false>(lanes, first, level, bits);
    for (int l = 0; l < lanes.rows; ++l) counts[l] = append(lanes, l, first, bits[l], counts[l]);
  }
  bool tied = false;
  for (int l = 0; l < lanes.rows; ++l)
    if (vanishing >> l & 1)
      collect_special(lanes, l, level[l]);
    else
      tied |= counts[l] > s;
  if (tied) collect_tied<T>(lanes, level);
}

// Scratch entries needed by a selection.
template <class T> constexpr Index select_scratch(Index n) {
  return n * LANES<T> + kth_largest_scratch<T>(n);  // with the magnitudes of a bank's member
}

template <class T> FOST_INLINE void advance(Codes<T>& codes, Index rows) {
  codes.values += rows * codes.s;
  codes.indices += rows * codes.s;
  codes.counts += rows;
}

// Row source for LargestMagnitudes: the rows of a tile. Also checks that all entries are finite.
template <class T> struct TileRows {
  using Row = const T*;
  const T* tile;
  Index width;
  Prefetch ahead;
  Vec<T> zeros[UNROLL];  // NaN if a coefficient is not finite

  FOST_INLINE Row row(int i) const { return tile + i * width; }
  FOST_INLINE Vec<T> vector(Row row, int v) {
    const Vec<T> a = load(row + v * LANES<T>);
    zeros[v] += a * T(0);
    ahead.step();
    return a;
  }
};

// The S-th largest magnitudes of UNROLL vectors. Returns false if a coefficient is not finite.
template <class T, int S>
bool thresholds_few(const T* tile, Index width, int n, Vec<T>* levels, Prefetch& ahead) {
  LargestMagnitudes<T, S> largest;
#pragma GCC unroll 4
  for (int v = 0; v < UNROLL; ++v)
#pragma GCC unroll 8
    for (int k = 0; k < KEPT<S>; ++k) largest.of[v][k] = smallest_positive<T>();
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

// False if a coefficient of UNROLL vectors is not finite.
template <class T>
bool all_finite_lanes(const T* tile, Index width, int n, Prefetch& ahead) {
  Vec<T> zeros[4] = {};  // independent sums, to hide latency
  Prefetch local = ahead;
  for (int i = 0; i < n; i += 4)
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) {
      const T* row = tile + (i + q < n ? i + q : i) * width;
#pragma GCC unroll 4
      for (int v = 0; v < UNROLL; ++v) {
        zeros[q] += load(row + v * LANES<T>) * T(0);
        local.step();
      }
    }
  ahead = local;
  return all_zero<T>((zeros[0] + zeros[1]) + (zeros[2] + zeros[3]));
}

// The same for any s, one vector after another.
template <class T>
bool thresholds_many(const T* tile, Index width, int n, int s, Vec<T>* levels, T* scratch,
                     Prefetch& ahead) {
  if (!all_finite_lanes(tile, width, n, ahead)) return false;
  for (int v = 0; v < UNROLL; ++v)
    levels[v] = maximum<T>(kth_largest<T>(tile + v * LANES<T>, width, n, s, scratch),
                           smallest_positive<T>());
  return true;
}

// Calls use(Constant<S>) with S = s if s is small, else with 0.
template <int S> struct Constant {
  static constexpr int value = S;
};
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

// The codes of the first `rows` signals of a tile. Returns false, and writes no codes, if a
// coefficient is not finite.
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

// The same for finite coefficients with known thresholds: their s-th largest magnitudes, or
// smallest_positive<T>() if there are fewer. Each signal has an offset of its indices.
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
