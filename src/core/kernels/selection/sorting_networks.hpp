// Sorting networks on rows of vectors in memory, lane by lane. The sequence of comparisons does not
// depend on the data, so ties and zeros cost nothing extra.
#pragma once

#include "kernels/selection/register_sort.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// Sorts sixteen vectors of nonnegative numbers by Green's network of 60 comparisons, alternately by
// floating-point and by integer comparisons.
template <class T, bool UP> FOST_INLINE void sort_sixteen(Vec<T>* v) {
  constexpr int PAIRS[60][2] = {
      {0, 13}, {1, 12}, {2, 15},  {3, 14},  {4, 8},   {5, 6},   {7, 11},  {9, 10},  {0, 5},
      {1, 7},  {2, 9},  {3, 4},   {6, 13},  {8, 14},  {10, 15}, {11, 12}, {0, 1},   {2, 3},
      {4, 5},  {6, 8},  {7, 9},   {10, 11}, {12, 13}, {14, 15}, {0, 2},   {1, 3},   {4, 10},
      {5, 11}, {6, 7},  {8, 9},   {12, 14}, {13, 15}, {1, 2},   {3, 12},  {4, 6},   {5, 7},
      {8, 10}, {9, 11}, {13, 14}, {1, 4},   {2, 6},   {5, 8},   {7, 10},  {9, 13},  {11, 14},
      {2, 4},  {3, 6},  {9, 12},  {11, 13}, {3, 5},   {6, 8},   {7, 9},   {10, 12}, {3, 4},
      {5, 6},  {7, 8},  {9, 10},  {11, 12}, {6, 7},   {8, 9}};
#pragma GCC unroll 60
  for (int k = 0; k < 60; ++k)
    if (k % 2)
      sort_two_patterns<T, UP>(v[PAIRS[k][0]], v[PAIRS[k][1]]);
    else
      sort_two<T, UP>(v[PAIRS[k][0]], v[PAIRS[k][1]]);
}

template <class T, int COUNT> FOST_INLINE void load_rows(const T* rows, Index step, Vec<T>* v) {
#pragma GCC unroll 16
  for (int k = 0; k < COUNT; ++k) v[k] = load(rows + k * step);
}
template <class T, int COUNT> FOST_INLINE void store_rows(const Vec<T>* v, T* rows, Index step) {
#pragma GCC unroll 16
  for (int k = 0; k < COUNT; ++k) store(rows + k * step, v[k]);
}

// Sorts a bitonic sequence of SIZE = 32 or 64 rows: rows sixteen apart first, then sixteen adjacent
// rows.
template <class T, int SIZE, bool UP> FOST_NOINLINE void sort_bitonic_rows(T* rows) {
  constexpr int L = LANES<T>, COUNT = SIZE / 16;
  for (int i = 0; i < 16; ++i) {
    Vec<T> v[COUNT];
    load_rows<T, COUNT>(rows + i * L, 16 * L, v);
    sort_bitonic<T, COUNT, UP>(v);
    store_rows<T, COUNT>(v, rows + i * L, 16 * L);
  }
  for (int k = 0; k < COUNT; ++k, rows += 16 * L) {
    Vec<T> v[16];
    load_rows<T, 16>(rows, L, v);
    sort_bitonic<T, 16, UP>(v);
    store_rows<T, 16>(v, rows, L);
  }
}

// Maps a finite magnitude m to one that decreases as m grows. It is its own inverse.
template <class T> FOST_INLINE Vec<T> complemented(Vec<T> m) {
  using Integer = typename IntegerOf<T>::type;
  constexpr Integer LARGEST = sizeof(T) == 4 ? Integer(0x7f7fffff) : Integer(0x7fefffffffffffff);
  return reinterpret_cast<Vec<T>>(LARGEST - reinterpret_cast<Mask<T>>(m));
}

// The magnitudes of rows of a tile, or their complements.
template <class T> struct Magnitudes {
  const T* rows;
  Index step;
  int count;
  bool complement;
  T* room;  // sixteen rows, for an incomplete last block

  // Sixteen rows from `first` on. Missing rows are filled with the value that sorts last.
  FOST_INLINE void load_sixteen(int first, Vec<T>* v) const {
    const T* from = rows + first * step;
    Index apart = step;
    if (first + 16 > count) {
      const Vec<T> last = complement ? complemented<T>(Vec<T>{}) : Vec<T>{};
      for (int i = 0; i < 16; ++i)
        store(room + i * LANES<T>, first + i < count ? load(from + i * step) : last);
      from = room;
      apart = LANES<T>;
    }
    load_rows<T, 16>(from, apart, v);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) v[i] = absolute(v[i]);
    if (complement) {
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) v[i] = complemented<T>(v[i]);
    }
  }
};

// out = sixteen rows from `first` on, sorted, or the first KEEP of them.
template <class T, bool UP, int KEEP = 16>
FOST_NOINLINE void sort_sixteen_rows(const Magnitudes<T>& rows, int first, T* out) {
  Vec<T> v[16];
  rows.load_sixteen(first, v);
  sort_sixteen<T, UP>(v);
  store_rows<T, KEEP>(v, out, LANES<T>);
}

// out = SIZE rows from `first` on, sorted.
template <class T, int SIZE, bool UP>
void sort_rows(const Magnitudes<T>& rows, int first, T* out) {
  if constexpr (SIZE == 16) {
    sort_sixteen_rows<T, UP>(rows, first, out);
  } else {
    sort_rows<T, SIZE / 2, UP>(rows, first, out);
    sort_rows<T, SIZE / 2, !UP>(rows, first + SIZE / 2, out + SIZE / 2 * LANES<T>);
    sort_bitonic_rows<T, SIZE, UP>(out);
  }
}

// The KEEP > 8 largest of the descending rows in `best` and of sixteen rows from `first` on. With
// the new rows in ascending order, elementwise maxima form a bitonic sequence of the largest.
template <class T, bool SORTED, int KEEP>
FOST_NOINLINE void merge_sixteen_rows(const Magnitudes<T>& rows, int first, T* best) {
  Vec<T> v[16];
  rows.load_sixteen(first, v);
  sort_sixteen<T, true>(v);
  Vec<T>* largest = v + 16 - KEEP;
#pragma GCC unroll 16
  for (int i = 0; i < KEEP; ++i) largest[i] = maximum<T>(load(best + i * LANES<T>), largest[i]);
  if constexpr (SORTED) sort_bitonic_last<T, 16, KEEP>(largest);
  store_rows<T, KEEP>(largest, best, LANES<T>);
}

// The same for SIZE = 32 or 64; the result is bitonic and not sorted.
template <class T, int SIZE>
void merge_rows(const Magnitudes<T>& rows, int first, T* best, T* scratch) {
  constexpr int L = LANES<T>;
  sort_rows<T, SIZE, true>(rows, first, scratch);
  for (int i = 0; i < SIZE; ++i)
    store(best + i * L, maximum<T>(load(best + i * L), load(scratch + i * L)));
}

// The row at `rank` of a bitonic sequence of SIZE = 2^k rows if it were sorted in descending order.
// Each step discards one half.
template <class T, int SIZE> Vec<T> rank_bitonic(T* rows, int rank) {
  if constexpr (SIZE == 1) {
    return load(rows);
  } else {
    constexpr int H = SIZE / 2, L = LANES<T>;
    T* other = rows + H * L;
    if (rank < H) {
      for (int k = 0; k < H; ++k)
        store(rows + k * L, maximum<T>(load(rows + k * L), load(other + k * L)));
      return rank_bitonic<T, H>(rows, rank);
    }
    for (int k = 0; k < H; ++k)
      store(rows + k * L, minimum<T>(load(rows + k * L), load(other + k * L)));
    return rank_bitonic<T, H>(rows, rank - H);
  }
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
