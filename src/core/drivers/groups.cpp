// Bands of groups that are added in two interleaved phases, so that threads never write the same
// sample at once.
#include "drivers/groups.hpp"

#include <algorithm>
#include <vector>

#include "runtime/buffer.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/parallel.hpp"
#include "types/kernel_table.hpp"

namespace fost {
namespace {

// A copy followed by zeros, which the kernels may read.
template <class T> Buffer<T> with_slack(const T* from, Index size) {
  Buffer<T> copy(size + GROUP_SLACK);
  for (Index i = 0; i < size + GROUP_SLACK; ++i) copy.get()[i] = i < size ? from[i] : T(0);
  return copy;
}

// Owner of a GroupMemory.
template <class T> class GroupBuffers {
 public:
  GroupBuffers(Index n, Index most, Index width)
      : n_(n),
        pitch_((most + width - 1) / width * width),
        places_(most),
        numbers_(pitch_ + (pitch_ * n + GROUP_SLACK) + n + 2 * n * pitch_ + 2 * pitch_ * pitch_) {}

  GroupMemory<T> memory() const {
    T* next = numbers_.get();
    const auto take = [&next](Index count) { return (next += count) - count; };
    return {pitch_,   take(pitch_),      places_.get(),     take(pitch_ * n_ + GROUP_SLACK),
            take(n_), take(n_ * pitch_), take(n_ * pitch_), take(2 * pitch_ * pitch_)};
  }

 private:
  Index n_, pitch_;
  Buffer<Index> places_;
  Buffer<T> numbers_;
};

// A partition of the groups into bands along one axis, of `size` groups each.
struct Bands {
  int axis;
  Index size, count;
};

// Only adjacent bands overlap, since each is as long as blocks of a group may be apart. All even
// bands are added concurrently, then all odd ones: every entry is summed in the same order for any
// number of threads.
template <class T> Bands bands(const GroupTask<T>& task, const Index* groups) {
  Bands best = {0, 0, 0};
  for (int axis = 0; axis < 3; ++axis) {
    const Index apart = 2 * task.reach[axis] + task.block[axis];
    const Index size = (apart + task.steps[axis] - 1) / task.steps[axis] + 1;
    const Index count = (groups[axis] + size - 1) / size;
    if (count > best.count) best = {axis, size, count};
  }
  return best;
}

// Approximate time on one thread: eight multiply-adds per nanosecond.
template <class T> double nanoseconds(const GroupTask<T>& task, Index n, double groups) {
  double compared = 1;
  for (int axis = 0; axis < 3; ++axis)
    compared *= static_cast<double>(std::min(2 * task.reach[axis] + 1, task.extents[axis]));
  const double each = n * (compared + 2.5 * task.channels * task.most * task.most);
  return groups * each / 8;
}

}  // namespace

template <class T> void filter_groups(GroupTask<T> task, const GroupSums<T>& out) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const Index size = task.extents[0] * task.extents[1] * task.extents[2];
  const Index n = task.block[0] * task.block[1] * task.block[2];
  const Buffer<T> images = with_slack(task.images, task.channels * size);
  const Buffer<T> pilots = with_slack(task.pilots, task.channels * size);
  const Buffer<T> guide = with_slack(task.guide, size);
  task.images = images.get(), task.pilots = pilots.get(), task.guide = guide.get();
  Index groups[3];
  for (int axis = 0; axis < 3; ++axis)
    groups[axis] =
        (task.extents[axis] - task.block[axis] + task.steps[axis] - 1) / task.steps[axis] + 1;
  const Bands cut = bands(task, groups);
  const double work = nanoseconds(task, n, static_cast<double>(groups[0] * groups[1] * groups[2]));
  const int threads = static_cast<int>(std::min<Index>(threads_for(work), (cut.count + 1) / 2));
  std::vector<GroupBuffers<T>> memory;
  for (int k = 0; k < threads; ++k) memory.emplace_back(n, task.most, kernels.width);
  for (Index parity = 0; parity < 2; ++parity)
    parallel_for((cut.count + 1 - parity) / 2, threads, [&](Index k, int thread) {
      GroupRange range = {{0, 0, 0}, {groups[0], groups[1], groups[2]}};
      range.first[cut.axis] = (2 * k + parity) * cut.size;
      range.last[cut.axis] = std::min(groups[cut.axis], range.first[cut.axis] + cut.size);
      kernels.filter_groups(task, range, out, memory[thread].memory());
    });
}

template void filter_groups<float>(GroupTask<float>, const GroupSums<float>&);
template void filter_groups<double>(GroupTask<double>, const GroupSums<double>&);

}  // namespace fost
