// The largest magnitudes of many rows, kept sorted in registers.
#pragma once

#include "kernels/simd/vector.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// The smallest positive number: a threshold that only zeros do not reach.
template <class T> FOST_INLINE Vec<T> smallest_positive() {
  return reinterpret_cast<Vec<T>>(Mask<T>{} + 1);
}

template <class T> FOST_INLINE void sort_down(Vec<T>& a, Vec<T>& b) {
  const Vec<T> larger = maximum<T>(a, b);
  b = minimum<T>(a, b);
  a = larger;
}

// The same for nonnegative numbers, which are ordered like their bit patterns. Integer comparisons
// run on other execution units than floating-point ones, so the two kinds run concurrently.
template <class T> FOST_INLINE void sort_patterns_down(Vec<T>& a, Vec<T>& b) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    const __m256i x = (__m256i)a, y = (__m256i)b;
    a = (Vec<T>)_mm256_max_epi32(x, y);
    b = (Vec<T>)_mm256_min_epi32(x, y);
    return;
  }
#endif
  sort_down<T>(a, b);
}

// a, b <- the larger and the smaller of |a| and |b|.
template <class T> FOST_INLINE void sort_magnitudes(Vec<T>& a, Vec<T>& b) {
#if defined(__AVX512DQ__)
  constexpr int SMALLER = 0b1010, LARGER = 0b1011;  // by magnitude, without the sign
  const Vec<T> x = a, y = b;
  if constexpr (sizeof(T) == 4) {
    a = (Vec<T>)_mm512_range_ps((__m512)x, (__m512)y, LARGER);
    b = (Vec<T>)_mm512_range_ps((__m512)x, (__m512)y, SMALLER);
  } else {
    a = (Vec<T>)_mm512_range_pd((__m512d)x, (__m512d)y, LARGER);
    b = (Vec<T>)_mm512_range_pd((__m512d)x, (__m512d)y, SMALLER);
  }
#else
  a = absolute(a);
  b = absolute(b);
  sort_patterns_down<T>(a, b);
#endif
}

// Sorts in ascending order if UP.
template <class T, bool UP> FOST_INLINE void sort_two(Vec<T>& a, Vec<T>& b) {
  if constexpr (UP)
    sort_down<T>(b, a);
  else
    sort_down<T>(a, b);
}
template <class T, bool UP> FOST_INLINE void sort_two_patterns(Vec<T>& a, Vec<T>& b) {
  if constexpr (UP)
    sort_patterns_down<T>(b, a);
  else
    sort_patterns_down<T>(a, b);
}

// Sorts a bitonic sequence of S = 2^k vectors, in descending order, or in ascending order if UP.
template <class T, int S, bool UP = false> FOST_INLINE void sort_bitonic(Vec<T>* v) {
  if constexpr (S > 1) {
#pragma GCC unroll 8
    for (int k = 0; k < S / 2; ++k) sort_two<T, UP>(v[k], v[k + S / 2]);
    sort_bitonic<T, S / 2, UP>(v);
    sort_bitonic<T, S / 2, UP>(v + S / 2);
  }
}

// The same for the last KEEP of S = 2^k vectors, which fall and then rise. The missing vectors
// would be larger than all others and stay in place, so they are not represented.
template <class T, int S, int KEEP> FOST_INLINE void sort_bitonic_last(Vec<T>* v) {
  if constexpr (KEEP == S) {
    sort_bitonic<T, S>(v);
  } else if constexpr (KEEP > 1) {
    constexpr int H = S / 2, UPPER = KEEP > H ? KEEP - H : 0;
#pragma GCC unroll 8
    for (int k = 0; k < UPPER; ++k) sort_two<T, false>(v[k], v[k + H]);
    sort_bitonic_last<T, H, UPPER>(v);
    sort_bitonic_last<T, H, KEEP - UPPER>(v + UPPER);
  }
}

// The KEEP largest of KEEP sorted magnitudes and the magnitudes of four more numbers, sorted.
template <class T, int KEEP> FOST_INLINE void merge_magnitudes(Vec<T>* best, Vec<T>* a) {
  sort_magnitudes<T>(a[0], a[2]);
  sort_magnitudes<T>(a[1], a[3]);
  sort_patterns_down<T>(a[0], a[1]);
  sort_patterns_down<T>(a[2], a[3]);
  sort_patterns_down<T>(a[1], a[2]);
  if constexpr (KEEP == 1) {
    best[0] = maximum<T>(best[0], a[0]);
  } else {
    constexpr int TAKE = KEEP < 4 ? KEEP : 4;
#pragma GCC unroll 4
    for (int k = 0; k < TAKE; ++k) best[KEEP - 1 - k] = maximum<T>(best[KEEP - 1 - k], a[k]);
    sort_bitonic_last<T, KEEP <= 2 ? 2 : KEEP <= 4 ? 4 : 8, KEEP>(best);
  }
}

// Magnitudes kept in registers to find the S-th largest. Four for S = 3, which takes hardly longer.
template <int S> constexpr int KEPT = S == 3 ? 4 : S;

// The largest magnitudes so far, sorted, for UNROLL vectors. Four rows are merged at once and
// without branches: among that many lanes, one nearly always changes, and the two chains of
// comparisons hide each other's latency.
template <class T, int S> struct LargestMagnitudes {
  Vec<T> of[UNROLL][KEPT<S>];

  // Rows is any type with row(k), called once for each k in order, and vector(row, v), the v-th
  // vector of such a row.
  template <class Rows> FOST_INLINE void merge(Rows& rows, int count) {
    int k = 0;
    for (; k + 4 <= count; k += 4) merge_four(rows, k, 4);
    if (k < count) merge_four(rows, k, count - k);
  }

 private:
  // Merges up to four rows, `here` of them, from `first` on.
  template <class Rows> FOST_INLINE void merge_four(Rows& rows, int first, int here) {
    typename Rows::Row row[4] = {};
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q)
      if (q < here) row[q] = rows.row(first + q);
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) {
      Vec<T> a[4];
#pragma GCC unroll 4
      for (int q = 0; q < 4; ++q) a[q] = q < here ? rows.vector(row[q], v) : Vec<T>{};
      merge_magnitudes<T, KEPT<S>>(of[v], a);
    }
  }
};

}  // namespace FOST_NAMESPACE
}  // namespace fost
