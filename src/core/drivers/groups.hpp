// Passes over groups of similar blocks: memory, bands and threads around the kernels.
#pragma once

#include "types/groups.hpp"

namespace fost {

// Adds every block of every group, filtered together with those like it, to sums and weights.
// The volumes of the task need no slack here. Bit for bit the same for any number of threads.
template <class T> void filter_groups(GroupTask<T> task, const GroupSums<T>& out);

}  // namespace fost
