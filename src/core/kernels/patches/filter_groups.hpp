// Filters a range of groups of similar blocks: find similar blocks, filter them together, add them
// to the sums. NumPy twin: tests/reference.py, filter_groups.
#pragma once

#include "kernels/patches/block_matching.hpp"
#include "kernels/patches/group_wiener.hpp"
#include "kernels/simd/tile.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// Calls use(offset in the volume, offset in the block) for each line of a block.
template <class T, class Use> FOST_INLINE void each_line(const GroupTask<T>& task, const Use& use) {
  Index in_block = 0;
  for (Index z = 0; z < task.block[0]; ++z)
    for (Index y = 0; y < task.block[1]; ++y, in_block += task.block[2])
      use((z * task.extents[1] + y) * task.extents[2], in_block);
}

// COUNT adjacent numbers at any address.
template <class T, int COUNT> struct PartOf {
  typedef T type __attribute__((vector_size(COUNT * sizeof(T)), aligned(sizeof(T)), may_alias));
};
template <class T> struct PartOf<T, 1> {
  using type = T;
};
template <class T, int COUNT> FOST_INLINE auto& part(T* p) {
  return *reinterpret_cast<typename PartOf<T, COUNT>::type*>(p);
}
template <class T, int COUNT> FOST_INLINE const auto& part(const T* p) {
  return *reinterpret_cast<const typename PartOf<T, COUNT>::type*>(p);
}

// Calls use.template of<COUNT>(x) for the parts of a line: whole vectors first, the remainder in
// powers of two. Lines of blocks are short; scalar loops took a third of a pass.
template <class T, int COUNT, class Use>
FOST_INLINE void rest_of_line(Index width, Index x, const Use& use) {
  if constexpr (COUNT > 0) {
    if (width & COUNT) {
      use.template of<COUNT>(x);
      x += COUNT;
    }
    rest_of_line<T, COUNT / 2>(width, x, use);
  }
}
template <class T, class Use> FOST_INLINE void each_part(Index width, const Use& use) {
  constexpr int L = LANES<T>;
  Index x = 0;
  for (; x + L <= width; x += L) use.template of<L>(x);
  rest_of_line<T, L / 2>(width, x, use);
}

template <class T> struct CopyLine {
  const T* from;
  T* to;
  template <int COUNT> FOST_INLINE void of(Index x) const {
    part<T, COUNT>(to + x) = part<T, COUNT>(from + x);
  }
};

// to += window (row + mean)
template <class T> struct AddLine {
  const T *window, *row, *means;
  T* to;
  template <int COUNT> FOST_INLINE void of(Index x) const {
    part<T, COUNT>(to + x) +=
        part<T, COUNT>(window + x) * (part<T, COUNT>(row + x) + part<T, COUNT>(means + x));
  }
};

template <class T> struct AddWeights {
  const T* window;
  T* to;
  template <int COUNT> FOST_INLINE void of(Index x) const {
    part<T, COUNT>(to + x) += part<T, COUNT>(window + x);
  }
};

// rows[b] = the block of the volume that begins at places[b].
template <class T>
void gather_blocks(const GroupTask<T>& task, const T* volume, int count, Index n,
                   const GroupMemory<T>& memory) {
  for (int b = 0; b < count; ++b) {
    const T* from = volume + memory.places[b];
    T* to = memory.rows + b * n;
    each_line(task, [&](Index line, Index in_block) {
      each_part<T>(task.block[2], CopyLine<T>{from + line, to + in_block});
    });
  }
}

template <class T> void average_rows(int count, Index n, const GroupMemory<T>& memory) {
  T* means = memory.means;
  for (Index i = 0; i < n; ++i) means[i] = memory.rows[i];
  for (int b = 1; b < count; ++b)
    for (Index i = 0; i < n; ++i) means[i] += memory.rows[b * n + i];
  for (Index i = 0; i < n; ++i) means[i] *= T(1) / static_cast<T>(count);
}

// tile = the rows minus the means, entry by entry.
template <class T> void centre_rows(int count, Index n, const GroupMemory<T>& memory, T* tile) {
  for (int b = 0; b < count; ++b)
    for (Index i = 0; i < n; ++i) memory.rows[b * n + i] -= memory.means[i];
  const View<const T> rows = {memory.rows, count, n, n, 1};
  load_tile(rows, 0, count, tile, static_cast<int>(memory.pitch));
}

// Adds the rows plus the means to the sums of one channel, and the window to the weights if given.
template <class T>
void add_blocks(const GroupTask<T>& task, int count, Index n, const GroupMemory<T>& memory, T* sums,
                T* weights) {
  const Index width = task.block[2];
  for (int b = 0; b < count; ++b) {
    const T* row = memory.rows + b * n;
    T* to = sums + memory.places[b];
    each_line(task, [&](Index line, Index i) {
      each_part<T>(width, AddLine<T>{task.window + i, row + i, memory.means + i, to + line});
    });
    if (!weights) continue;
    T* weight_rows = weights + memory.places[b];
    each_line(task, [&](Index line, Index i) {
      each_part<T>(width, AddWeights<T>{task.window + i, weight_rows + line});
    });
  }
}

// Groups are found in the guide volume and used in all channels.
template <class T>
void filter_at(const GroupTask<T>& task, const Index* at, const GroupSums<T>& out,
               const GroupMemory<T>& memory) {
  const Index n = task.block[0] * task.block[1] * task.block[2];
  const Index size = task.extents[0] * task.extents[1] * task.extents[2];
  const int count = find_group(task, at, memory);
  for (int c = 0; c < task.channels; ++c) {
    gather_blocks(task, task.pilots + c * size, count, n, memory);
    average_rows(count, n, memory);
    centre_rows(count, n, memory, memory.pilots);
    gather_blocks(task, task.images + c * size, count, n, memory);
    centre_rows(count, n, memory, memory.blocks);
    filter_group(n, count, task.level, task.inverse, memory);
    const View<T> rows = {memory.rows, count, n, n, 1};
    store_tile(memory.blocks, static_cast<int>(memory.pitch), rows, 0, count);
    add_blocks(task, count, n, memory, out.sums + c * size, c ? nullptr : out.weights);
  }
}

template <class T>
void filter_groups(const GroupTask<T>& task, const GroupRange& range, const GroupSums<T>& out,
                   const GroupMemory<T>& memory) {
  const auto place = [&](int axis, Index k) {
    const Index last = task.extents[axis] - task.block[axis], wanted = k * task.steps[axis];
    return wanted < last ? wanted : last;
  };
  for (Index z = range.first[0]; z < range.last[0]; ++z)
    for (Index y = range.first[1]; y < range.last[1]; ++y)
      for (Index x = range.first[2]; x < range.last[2]; ++x) {
        const Index at[3] = {place(0, z), place(1, y), place(2, x)};
        filter_at(task, at, out, memory);
      }
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
