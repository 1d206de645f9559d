// From rows of a fixed room, as kernels write codes, to compressed sparse rows.
#pragma once

#include <algorithm>

#include "pass_types.hpp"

namespace fost {

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
      std::copy(codes.values + begin, codes.values + begin + count, codes.values + end);
      std::copy(codes.indices + begin, codes.indices + begin + count, codes.indices + end);
    }
    end += count;
  }
  return end;
}

}  // namespace fost
