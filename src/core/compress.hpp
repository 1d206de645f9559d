// From rows of a fixed room, as kernels write codes, to compressed sparse rows.
#pragma once

#include <algorithm>

#include "types.hpp"

namespace fost {

// Moves the entries of all rows together and fills in where each row begins; returns how many
// entries there are.
template <class T, class I> Index compress(const Codes<T>& codes, Index rows, I* indptr) {
  Index end = 0;
  indptr[0] = 0;
  for (Index row = 0; row < rows; ++row) {
    const Index begin = row * codes.s, count = codes.counts[row];
    if (begin != end) {
      std::copy(codes.values + begin, codes.values + begin + count, codes.values + end);
      std::copy(codes.indices + begin, codes.indices + begin + count, codes.indices + end);
    }
    end += count;
    indptr[row + 1] = static_cast<I>(end);
  }
  return end;
}

}  // namespace fost
