// From rows of a fixed room, as kernels write codes, to compressed sparse rows.
#pragma once

#include <algorithm>

#include "types/coding.hpp"

namespace fost {

// A call for each of many short pieces would take most of the time.
template <class T> void move_down(const T* from, Index count, T* to) {
  if (count > 16) {
    std::copy(from, from + count, to);
    return;
  }
  for (Index k = 0; k < count; ++k) to[k] = from[k];
}

// Moves the entries of all rows together and fills in where each row begins; returns how many
// entries there are. Nearly all rows are full, and those between two others move as one piece.
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
