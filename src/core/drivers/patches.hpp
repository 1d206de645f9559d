// Drivers of block shrinkage in volumes: bands of blocks, working memory and threads.
#pragma once

#include "plans/coder.hpp"
#include "types/patches.hpp"

namespace fost {

// Adds every block of the grid, shrunk in the domain of a transform, to the sums and weights: by a
// threshold `level` or, with a pilot, by the Wiener filter with noise variance `level`. A bank uses
// the mean of its members' results, with weights of about exp(-sharpness * cost). Blocks are never
// all in memory at once.
template <class T>
void shrink(const Coder& coder, const BlockGrid<T>& grid, T level, T sharpness,
            const WeightedSums<T>& out);

// Momentum step of `count` samples towards weighted means, which are reset to zero.
template <class T>
void momentum_step(const MomentumState<T>& state, const WeightedSums<T>& towards, Index count);

// Both: the estimate, which is the volume of the grid with `rows` rows, takes a momentum step
// towards its shrunk blocks. `between` is zero before and after.
template <class T>
void shrink_and_step(const Coder& coder, const BlockGrid<T>& grid, T level, T sharpness,
                     const WeightedSums<T>& between, MomentumState<T> state, Index rows);

}  // namespace fost
