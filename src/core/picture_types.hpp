// Pictures and the memory of a pass over their patches, as plain data.
#pragma once

#include "types.hpp"

namespace fost {

// The patches of a picture: one at each pair of a top and a left.
template <class T> struct PatchGrid {
  const T* image;
  const T* pilot;      // an estimate of the same size, or null
  Index pitch;         // pixels from one row to the next, in all pictures
  int height, width;   // of a patch
  const std::int32_t* tops;
  const std::int32_t* lefts;
  int n_lefts;
};

// A picture put together from weighted patches: the sums are divided by the weights in the end.
template <class T> struct Overlay {
  T* sums;
  T* weights;
};

// Memory of one thread to filter patches in.
template <class T> struct FilterMemory {
  T* line;          // pixels of a row of the picture
  T* means;         // width
  T* weights;       // width
  T* guides;        // n x width for each member, or once: squared coefficients of the pilot
  // Of banks only:
  T* coefficients;  // n x width for each member
  T* sum;           // n x width, in the domain of the base
  T* beliefs;       // width for each member: what it counts for a patch
  T* shares;        // width: the weights of a member's patches
};

}  // namespace fost
