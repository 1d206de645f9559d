// Volumes and the memory of a pass over their blocks, as plain data. A picture is a volume of one
// slice, a signal one of one row.
#pragma once

#include "types.hpp"

namespace fost {

// Places along an axis at which blocks begin, ascending without repetition.
struct Places {
  const std::int32_t* at;
  int count;

  Places part(Index first, Index last) const { return {at + first, static_cast<int>(last - first)}; }
};

// The blocks of a volume: one at each triple of a front, a top and a left.
template <class T> struct BlockGrid {
  const T* volume;
  const T* pilot;            // an estimate of the same size, or null
  Index slice, pitch;        // from one slice and from one row to the next, in all volumes
  int depth, height, width;  // of a block
  Places fronts, tops, lefts;

  Index size() const { return static_cast<Index>(depth) * height * width; }
};

// From one row to the next in a copy of the rows of a block and of its neighbours (see strip_pass.hpp):
// the samples that they cover and what whole tiles of blocks read and write beyond.
template <class T> Index strip_pitch(const BlockGrid<T>& grid, int width) {
  return (Index(grid.lefts.count) + grid.width + 2 * width - 1) / width * width;
}

// A volume put together from weighted blocks: the sums are divided by the weights in the end.
template <class T> struct Overlay {
  T* sums;
  T* weights;
};

// An estimate of a volume and its last step.
template <class T> struct Motion {
  T* estimate;
  T* velocity;
};

// Memory of one thread to filter blocks in.
template <class T> struct FilterMemory {
  T* line;          // pitch: the weights of a row of blocks
  T* carry;         // for each row of a block and one more, its width rounded up to vectors
  T* means;         // width
  T* weights;       // width
  T* guides;        // n x width for each member, or once: squared coefficients of the pilot
  T* strips;        // for each row of a block twice and one more, `strip_pitch`
  // Of banks only:
  T* coefficients;  // n x width for each member
  T* sum;           // n x width, in the domain of the base
  T* beliefs;       // width for each member: what it counts for a block
  T* shares;        // width: the weights of a member's blocks
};

}  // namespace fost
