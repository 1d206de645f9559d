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

}  // namespace fost
