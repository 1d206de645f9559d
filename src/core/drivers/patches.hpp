// Passes over the overlapping blocks of a volume: memory, bands and threads around the kernels.
#pragma once

#include "plans/coder.hpp"
#include "types/patches.hpp"

namespace fost {

// Adds every block of the grid, shrunk in the domain of a transform, to the sums and weights: by a
// threshold `level`, or by Wiener's filter with the variance `level` where there is a pilot. In a
// bank it is the mean of what all members make of a block, in which those with the lowest cost
// count most, by about exp(-sharpness * cost). The blocks are never all in memory.
template <class T>
void shrink(const Coder& coder, const BlockGrid<T>& grid, T level, T sharpness,
            const Overlay<T>& out);

// Goes on towards the means that an overlay holds, for `count` samples. The overlay is empty then.
template <class T>
void advance(const Motion<T>& motion, const Overlay<T>& towards, Index count);

// Both: an estimate, which is the volume of the grid and has so many rows, goes on towards its shrunk
// blocks. `between` is empty, before and after.
template <class T>
void shrink_on(const Coder& coder, const BlockGrid<T>& grid, T level, T sharpness,
               const Overlay<T>& between, Motion<T> motion, Index rows);

}  // namespace fost
