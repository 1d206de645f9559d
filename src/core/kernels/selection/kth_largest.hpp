// The s-th largest magnitude of each lane (an order statistic). The algorithm depends on s:
//
//   1. s <= 8: sorted in registers, four features merged at once (register_sort.hpp).
//   2. s <= 64, counted from the largest or from the smallest: sorting networks on blocks in
//      memory.
//   3. Otherwise: bisection of the bit patterns. Every few steps, features that no lane needs any
//      more are dropped.
#pragma once

#include "kernels/selection/sorting_networks.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// The largest rank that sorting networks find.
constexpr int MAX_SORTED = 64;

// Scratch entries needed by kth_largest.
template <class T> constexpr Index kth_largest_scratch(Index n) {
  return (2 * n > 2 * MAX_SORTED + 16 ? 2 * n : 2 * MAX_SORTED + 16) * LANES<T>;
}

// The magnitude at `rank` < KEEP <= 16, counted from 0 ...
template <class T, int KEEP> Vec<T> ranked_few(const Magnitudes<T>& rows, int rank, T* scratch) {
  sort_sixteen_rows<T, false, KEEP>(rows, 0, scratch);
  if (rows.count <= 16) return load(scratch + rank * LANES<T>);
  int first = 16;
  for (; first + 16 < rows.count; first += 16)
    merge_sixteen_rows<T, true, KEEP>(rows, first, scratch);
  merge_sixteen_rows<T, (KEEP < 16), KEEP>(rows, first, scratch);
  return KEEP < 16 ? load(scratch + rank * LANES<T>) : rank_bitonic<T, 16>(scratch, rank);
}

// ... or at any `rank` < KEEP.
template <class T, int KEEP> Vec<T> ranked(const Magnitudes<T>& rows, int rank, T* scratch) {
  T* next = scratch + KEEP * LANES<T>;
  sort_rows<T, KEEP, false>(rows, 0, scratch);
  if (rows.count <= KEEP) return load(scratch + rank * LANES<T>);
  int first = KEEP;
  for (; first + KEEP < rows.count; first += KEEP) {
    merge_rows<T, KEEP>(rows, first, scratch, next);
    sort_bitonic_rows<T, KEEP, false>(scratch);
  }
  merge_rows<T, KEEP>(rows, first, scratch, next);
  return rank_bitonic<T, KEEP>(scratch, rank);
}

// The magnitude at `rank` < MAX_SORTED.
template <class T> Vec<T> ranked_any(const Magnitudes<T>& rows, int rank, T* scratch) {
  if (rank < 10) return ranked_few<T, 10>(rows, rank, scratch);
  if (rank < 16) return ranked_few<T, 16>(rows, rank, scratch);
  if (rank < 32) return ranked<T, 32>(rows, rank, scratch);
  return ranked<T, MAX_SORTED>(rows, rank, scratch);
}

// The s-th largest finite magnitude, if s or n - s + 1 is at most MAX_SORTED: counted from the
// largest, or from the smallest.
template <class T> Vec<T> kth_largest_by_sorting(const T* x, Index width, int n, int s,
                                                 T* scratch) {
  T* room = scratch + 2 * MAX_SORTED * LANES<T>;
  if (s <= n - s + 1) return ranked_any<T>({x, width, n, false, room}, s - 1, scratch);
  return complemented<T>(ranked_any<T>({x, width, n, true, room}, n - s, scratch));
}

// The number of magnitudes that reach a threshold.
template <class T> FOST_INLINE Mask<T> count_at_least(const T* magnitudes, int n, Vec<T> level) {
  Mask<T> counts[4] = {};
  int i = 0;
  for (; i + 4 <= n; i += 4)
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) counts[q] -= load(magnitudes + (i + q) * LANES<T>) >= level;
  for (; i < n; ++i) counts[0] -= load(magnitudes + i * LANES<T>) >= level;
  return counts[0] + counts[1] + counts[2] + counts[3];
}

// The largest magnitude below a threshold.
template <class T> FOST_INLINE Vec<T> largest_below(const T* magnitudes, int n, Vec<T> level) {
  Vec<T> largest = {};
  for (int i = 0; i < n; ++i) {
    const Vec<T> a = load(magnitudes + i * LANES<T>);
    largest = maximum<T>(a < level ? a : Vec<T>{}, largest);
  }
  return largest;
}

// After this many bisection steps, distinct noisy magnitudes are separated; the rest are ties.
constexpr int BISECTION_STEPS = 12;

// Keeps the features with a magnitude between `low` and `high` in some lane. Magnitudes that reach
// `high` become zero. Returns the number of features.
template <class T> int keep_between(T* magnitudes, int n, Vec<T> low, Vec<T> high) {
  constexpr int L = LANES<T>;
  int kept = 0;
  for (int i = 0; i < n; ++i) {
    const Vec<T> a = load(magnitudes + i * L);
    const Mask<T> below = a < high;
    store(magnitudes + kept * L, below ? a : Vec<T>{});
    kept += any<T>(below & (a >= low));
  }
  return kept;
}

// Features are dropped before these steps of the bisection.
constexpr bool drops_before(int step) { return step == 4 || step == 7 || step == 10; }

// A threshold that exactly s magnitudes reach or, if there are ties, the s-th largest magnitude.
// Overwrites the magnitudes.
template <class T> Vec<T> bisect(T* magnitudes, int n, int s, T* scratch) {
  constexpr int L = LANES<T>;
  // The smallest of the maxima of s disjoint groups of features is a lower bound.
  for (int k = 0; k < s; ++k) store(scratch + k * L, load(magnitudes + k * L));
  for (int i = s, k = 0; i < n; ++i, k = k + 1 < s ? k + 1 : 0)
    store(scratch + k * L, maximum<T>(load(scratch + k * L), load(magnitudes + i * L)));
  Vec<T> least = load(scratch), largest = least;
  for (int k = 1; k < s; ++k) {
    least = minimum<T>(least, load(scratch + k * L));
    largest = maximum<T>(largest, load(scratch + k * L));
  }
  // Nonnegative floating-point numbers are ordered like their bit patterns. Invariant: at least
  // `wanted` magnitudes reach `low`, and `above`, which is fewer, reach `high`.
  Mask<T> low = reinterpret_cast<Mask<T>>(least), high = reinterpret_cast<Mask<T>>(largest) + 1;
  Mask<T> wanted = static_cast<typename IntegerOf<T>::type>(s) - Mask<T>{}, above = {};
  high = count_at_least(magnitudes, n, least) == wanted ? low + 1 : high;
  for (int step = 0;; ++step) {
    const Mask<T> open = high - low > 1;
    if (!any<T>(open)) return reinterpret_cast<Vec<T>>(low);
    if (drops_before(step)) {
      n = keep_between<T>(magnitudes, n, reinterpret_cast<Vec<T>>(open ? low : high),
                          reinterpret_cast<Vec<T>>(high));
      wanted -= above;
      above = Mask<T>{};
    }
    // After BISECTION_STEPS, every third step tries the next smaller magnitude instead of the
    // midpoint.
    const bool next = step >= BISECTION_STEPS && step % 3 == 0;
    const Mask<T> middle = next ? reinterpret_cast<Mask<T>>(
                                      largest_below(magnitudes, n, reinterpret_cast<Vec<T>>(high)))
                                : low + ((high - low) >> 1);
    const Mask<T> count = count_at_least(magnitudes, n, reinterpret_cast<Vec<T>>(middle));
    const Mask<T> enough = open & (count >= wanted), few = open & (count < wanted);
    low = enough ? middle : low;
    high = few ? middle : high;
    above = few ? count : above;
    // No magnitude lies between the next smaller one and the threshold that too few reached.
    const Mask<T> found = next ? enough : Mask<T>(open & (count == wanted));
    high = found ? low + 1 : high;
  }
}

// A threshold that exactly s of n magnitudes reach or, with ties, the s-th largest, for 1 <= s <=
// n.
template <class T> Vec<T> kth_largest(const T* x, Index width, int n, int s, T* scratch) {
  if (s <= MAX_SORTED || n - s < MAX_SORTED) return kth_largest_by_sorting(x, width, n, s, scratch);
  for (int i = 0; i < n; ++i) store(scratch + i * LANES<T>, absolute(load(x + i * width)));
  return bisect<T>(scratch, n, s, scratch + n * LANES<T>);
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
