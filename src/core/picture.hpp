// Passes over the overlapping patches of a picture: memory, bands and threads around the kernels.
#pragma once

#include "plan.hpp"
#include "types.hpp"

namespace fost {

// Adds every patch of the grid, shrunk in the transform's domain, to the sums and weights: by a
// threshold `level`, or by Wiener's filter with the variance `level` where there is a pilot. The
// patches are never all in memory. Tops and lefts ascend without repetition.
template <class T>
void shrink(const Plan& plan, const PatchGrid<T>& grid, Index n_tops, T level,
            const Overlay<T>& out);

// The same in the domains of all members of a bank: the mean of what they make of a patch, in which
// those with the lowest cost count most, by about exp(-sharpness * cost).
template <class T>
void shrink(const Bank& bank, const PatchGrid<T>& grid, Index n_tops, T level, T sharpness,
            const Overlay<T>& out);

}  // namespace fost
