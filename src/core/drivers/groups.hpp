// Driver of collaborative filtering of groups of similar blocks: bands of groups, working memory,
// threads.
#pragma once

#include "types/groups.hpp"

namespace fost {

// Adds every filtered block of every group to the sums and weights. The volumes of the task need no
// slack here. Results are bit-identical for any number of threads.
template <class T> void filter_groups(GroupTask<T> task, const GroupSums<T>& out);

}  // namespace fost
