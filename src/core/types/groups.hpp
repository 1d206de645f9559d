// Groups of similar blocks of a volume and the working memory to filter them: plain data.
#pragma once

#include "types/transforms.hpp"

namespace fost {

// Numbers beyond the end of each volume that may be read, but are not used.
constexpr Index GROUP_SLACK = 128;

// Axes are depth, height and width; an array of fewer dimensions is a volume with leading extents
// of 1. Reference blocks begin at every multiple of the steps, and at the last position of an axis.
template <class T> struct GroupTask {
  const T* images;  // one volume per channel, consecutive
  const T* pilots;  // pilot estimates of the images
  const T* guide;   // the volume in which blocks are compared
  int channels;
  Index extents[3];  // of the volume
  Index block[3];    // of a block
  Index steps[3];    // from one group to the next
  Index reach[3];    // search radius around the reference block
  int most;          // maximum number of blocks in a group
  T level;           // variance of the noise
  const T* inverse;  // of the noise covariance of a block, divided by the variance; null if white
  const T* window;   // weight of each entry of a block in the sums
};

// Groups first <= k < last along each axis.
struct GroupRange {
  Index first[3], last[3];
};

// Volumes assembled from blocks: the sums are divided by the weights at the end.
template <class T> struct GroupSums {
  T* sums;     // one volume per channel
  T* weights;  // one volume for all channels
};

// Working memory of one thread. Blocks have n entries; pitch is at least `most` and a multiple of
// the kernels' width.
template <class T> struct GroupMemory {
  Index pitch;
  T* distances;   // most; later the factors of a row of the linear system
  Index* places;  // most: positions of the blocks of a group
  T* rows;        // pitch x n, block by block
  T* means;       // n
  T* pilots;      // n x pitch, entry by entry
  T* blocks;      // n x pitch
  T* system;      // pitch x 2 pitch
};

}  // namespace fost
