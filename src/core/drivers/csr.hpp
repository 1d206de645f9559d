// Conversion of codes from rows of fixed capacity, as kernels write them, to compressed sparse
// rows.
#pragma once

#include <algorithm>

#include "types/coding.hpp"

namespace fost {

// A loop for short rows: a call of memmove for each would take most of the time.
template <class T> void move_down(const T* from, Index count, T* to) {
  if (count > 16) {
    std::copy(from, from + count, to);
    return;
  }
  for (Index k = 0; k < count; ++k) to[k] = from[k];
}

// Compacts the entries of all rows and fills in indptr; returns the number of entries. Nearly all
// rows are full, and consecutive full rows are moved together.
template <class T, class I> Index compress(const Codes<T>& codes, Index rows, I* indptr) {
  Index end = 0;
  indptr[0] = 0;
  for (Index row = 0; row < rows;) {
    const Index begin = row * codes.s;
    Index count = 0;
    do {
      count += codes.counts[row++];
      indptr[row] = static_cast<I>(end + count);
    } while (row < rows && codes.counts[row - 1] == codes.s);
    if (begin != end) {
      move_down(codes.values + begin, count, codes.values + end);
      move_down(codes.indices + begin, count, codes.indices + end);
    }
    end += count;
  }
  return end;
}

}  // namespace fost
