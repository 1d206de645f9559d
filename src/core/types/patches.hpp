// Volumes, grids of blocks and the working memory of a pass over blocks: plain data. An image is a
// volume of one slice, a signal a volume of one row.
#pragma once

#include "types/transforms.hpp"

namespace fost {

// Positions of blocks along an axis, strictly ascending.
struct Positions {
  const std::int32_t* at;
  int count;
  Index before = 0, after = 0;  // positions outside of this part of a longer list

  Positions part(Index first, Index last) const {
    return {at + first, static_cast<int>(last - first), before + first, after + count - last};
  }

  // Whether position k is at least `length` away from its neighbours.
  bool is_separate(int k, int length) const {
    return (before + k == 0 || at[k] - at[k - 1] >= length) &&
           (k + 1 == count + after || at[k + 1] - at[k] >= length);
  }
};

// The blocks of a volume: one at each triple of positions (front, top, left).
template <class T> struct BlockGrid {
  const T* volume;
  const T* pilot;            // a pilot estimate of the same size, or null
  const T* deviations;       // noise per coefficient and member, or null for white noise
  Index slice, pitch;        // from one slice and one row to the next, in all volumes
  int depth, height, width;  // of a block
  Positions fronts, tops, lefts;

  Index size() const { return static_cast<Index>(depth) * height * width; }
};

// Row pitch and size of the working memory of dct_strips.hpp. The pitch covers the samples of a row
// and the samples that whole tiles of blocks read and write beyond them. The size counts two copies
// of the rows of a block, a row of weights, and two sets of factors.
template <class T> Index strip_pitch(const BlockGrid<T>& grid, int width) {
  return (Index(grid.lefts.count) + grid.width + 2 * width - 1) / width * width;
}
template <class T> Index strip_size(const BlockGrid<T>& grid, int width) {
  return (2 * Index(grid.depth) * grid.height + 1) * strip_pitch(grid, width) + 2 * grid.size();
}

// A volume assembled from weighted blocks: the sums are divided by the weights at the end.
template <class T> struct WeightedSums {
  T* sums;
  T* weights;
};

// An iterate of a volume with heavy-ball momentum. A step moves missing samples towards a target x
// by v <- momentum v + relaxation (x - estimate), estimate <- estimate + v.
template <class T> struct MomentumState {
  T* estimate;
  T* velocity;
  const bool* missing;
  T relaxation, momentum;
  bool* done;  // per row of the volume: whether its step is done already
};

// Working memory of one thread for filtering blocks.
template <class T> struct FilterMemory {
  T* line;     // pitch: weights of a row of blocks
  T* carry;    // per row of a block and one more: its width rounded up to vectors
  T* means;    // width
  T* weights;  // width
  T* guides;   // n x width per member, or once: squared coefficients of the pilot
  T* strips;   // `strip_size`
  // For banks only:
  T* coefficients;    // n x width per member
  T* sum;             // n x width, in the domain of the base
  T* member_weights;  // width per member: weights of the members
  T* block_weights;   // width: weights of the blocks of one member
};

}  // namespace fost
