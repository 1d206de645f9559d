// Groups of similar blocks of a volume, and the memory to filter them in, as plain data.
#pragma once

#include "types/transforms.hpp"

namespace fost {

// Numbers that may be read, and are not used, beyond the end of each volume below.
constexpr Index GROUP_SLACK = 128;

// Axes are depth, height and width; an array of fewer dimensions is a volume with leading extents
// of 1. Blocks begin at every multiple of the steps, and at the last place of an axis.
template <class T> struct GroupTask {
  const T* images;   // one volume for each channel, one after another
  const T* pilots;   // estimates of them
  const T* guide;    // the volume in which blocks are compared
  int channels;
  Index extents[3];  // of the volume
  Index block[3];    // of a block
  Index steps[3];    // from one group to the next
  Index reach[3];    // how far from a block those like it are looked for
  int most;          // blocks in a group
  T level;           // the variance of the noise
  const T* window;   // what each entry of a block counts in the sums
};

// Groups first <= k < last of each axis.
struct GroupRange {
  Index first[3], last[3];
};

// Volumes put together from the blocks: the sums are divided by the weights in the end.
template <class T> struct GroupSums {
  T* sums;     // one volume for each channel
  T* weights;  // one volume for all
};

// Memory of one thread. Blocks of n entries; pitch is at least `most`, and a multiple of the
// kernels' width.
template <class T> struct GroupMemory {
  Index pitch;
  T* distances;   // most; when a system is solved, factors of its rows
  Index* places;  // most: where the blocks of a group begin
  T* rows;        // pitch x n, block by block
  T* means;       // n
  T* pilots;      // n x pitch, entry by entry
  T* blocks;      // n x pitch
  T* system;      // pitch x 2 pitch
};

}  // namespace fost
