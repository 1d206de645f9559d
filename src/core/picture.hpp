// Passes over the overlapping patches of a picture: memory, bands and threads around the kernels.
#pragma once

#include "coder.hpp"
#include "picture_types.hpp"

namespace fost {

// Adds every patch of the grid, shrunk in the domain of a transform, to the sums and weights: by a
// threshold `level`, or by Wiener's filter with the variance `level` where there is a pilot. In a
// bank it is the mean of what all members make of a patch, in which those with the lowest cost
// count most, by about exp(-sharpness * cost). The patches are never all in memory. Tops and lefts
// ascend without repetition.
template <class T>
void shrink(const Coder& coder, const PatchGrid<T>& grid, Index n_tops, T level, T sharpness,
            const Overlay<T>& out);

}  // namespace fost
