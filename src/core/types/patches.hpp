// Volumes and the memory of a pass over their blocks, as plain data. A picture is a volume of one
// slice, a signal one of one row.
#pragma once

#include "types/transforms.hpp"

namespace fost {

// Places along an axis at which blocks begin, ascending without repetition.
struct Places {
  const std::int32_t* at;
  int count;
  Index before = 0, after = 0;  // others, of which these are a part

  Places part(Index first, Index last) const {
    return {at + first, static_cast<int>(last - first), before + first, after + count - last};
  }

  // Whether place k is at least so far from those before and after it.
  bool apart(int k, int length) const {
    return (before + k == 0 || at[k] - at[k - 1] >= length) &&
           (k + 1 == count + after || at[k + 1] - at[k] >= length);
  }
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
// the samples that they cover and what whole tiles of blocks read and write beyond. And numbers in two
// such copies, a line of weights, and factors.
template <class T> Index strip_pitch(const BlockGrid<T>& grid, int width) {
  return (Index(grid.lefts.count) + grid.width + 2 * width - 1) / width * width;
}
template <class T> Index strip_size(const BlockGrid<T>& grid, int width) {
  return (2 * Index(grid.depth) * grid.height + 1) * strip_pitch(grid, width) + 2 * grid.size();
}

// A volume put together from weighted blocks: the sums are divided by the weights in the end.
template <class T> struct Overlay {
  T* sums;
  T* weights;
};

// An estimate of a volume and its last step, and how it goes on: where something is missing
// `relaxation` times as far as to what is found, and the share `momentum` of the last step again.
template <class T> struct Motion {
  T* estimate;
  T* velocity;
  const bool* missing;
  T relaxation, momentum;
  bool* done;  // for each row of the volume: whether it went on already
};

// Memory of one thread to filter blocks in.
template <class T> struct FilterMemory {
  T* line;          // pitch: the weights of a row of blocks
  T* carry;         // for each row of a block and one more, its width rounded up to vectors
  T* means;         // width
  T* weights;       // width
  T* guides;        // n x width for each member, or once: squared coefficients of the pilot
  T* strips;        // `strip_size`
  // Of banks only:
  T* coefficients;  // n x width for each member
  T* sum;           // n x width, in the domain of the base
  T* beliefs;       // width for each member: what it counts for a block
  T* shares;        // width: the weights of a member's blocks
};

}  // namespace fost
