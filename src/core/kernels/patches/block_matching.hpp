// Block matching: the blocks most similar to a reference block (least squared distance) within a
// search window. NumPy twin: tests/reference.py, similar_blocks.
#pragma once

#include "kernels/simd/vector.hpp"
#include "types/groups.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// The nearest blocks so far, in ascending order of distance; among equal ones, the first found.
template <class T> struct Nearest {
  T* distances;
  Index* places;
  int most;
  int count = 0;

  bool full() const { return count == most; }

  void insert(T distance, Index place) {
    int at = full() ? most - 1 : count++;
    for (; at > 0 && distances[at - 1] > distance; --at) {
      distances[at] = distances[at - 1];
      places[at] = places[at - 1];
    }
    distances[at] = distance;
    places[at] = place;
  }
};

// 0, -1, 1, -2, 2, ...: nearby rows come first, so that later ones are soon recognised as worse.
inline Index outwards(Index k) { return k % 2 ? -(k + 1) / 2 : k / 2; }

// Vectors of positions that are compared at once: independent sums, to hide latency.
constexpr int PARALLEL_VECTORS = 4;

// Candidate positions from several rows, collected until they fill PARALLEL_VECTORS vectors: rows
// are short in volumes.
template <class T> class Candidates {
 public:
  Candidates(const GroupTask<T>& task, Index block, Nearest<T>& nearest)
      : task_(task), block_(block), nearest_(nearest) {}

  // Adds a row of `count` positions from `first` on.
  void add_row(Index first, Index count) {
    for (Index begin = 0; begin < count; begin += L) {
      first_[taken_] = first + begin;
      count_[taken_] = count - begin < L ? static_cast<int>(count - begin) : L;
      if (++taken_ == PARALLEL_VECTORS) compare();
    }
  }

  // Compares the remaining positions.
  void finish() {
    if (!taken_) return;
    for (int v = taken_; v < PARALLEL_VECTORS; ++v) first_[v] = first_[0], count_[v] = 0;
    compare();
  }

 private:
  static constexpr int L = LANES<T>;
  static constexpr T HUGE_DISTANCE = static_cast<T>(__builtin_inff());

  // The reference block itself is not a candidate.
  void compare() {
    taken_ = 0;
    const T worst = nearest_.full() ? nearest_.distances[nearest_.most - 1] : HUGE_DISTANCE;
    Vec<T> sums[PARALLEL_VECTORS];
    if (!distances(worst, sums)) return;
    for (int v = 0; v < PARALLEL_VECTORS; ++v) {
      unsigned near = ~at_least(sums[v], Vec<T>{} + worst) & ((1u << count_[v]) - 1);
      if (!near) continue;
      T distances[L];
      store(distances, sums[v]);
      for (; near; near &= near - 1) {
        const int lane = __builtin_ctz(near);
        const Index place = first_[v] + lane;
        if (place == block_ || !(distances[lane] < HUGE_DISTANCE)) continue;
        if (!nearest_.full() || distances[lane] < nearest_.distances[nearest_.most - 1])
          nearest_.insert(distances[lane], place);
      }
    }
  }

  // Squared distances between the block and those at all positions. Returns false, before the end,
  // if all partial sums are at least `worst`.
  FOST_INLINE bool distances(T worst, Vec<T>* found) const {
    const Vec<T> limit = Vec<T>{} + worst;
    const T *block = task_.guide + block_, *others[PARALLEL_VECTORS];
    Vec<T> sums[PARALLEL_VECTORS];
#pragma GCC unroll 4
    for (int v = 0; v < PARALLEL_VECTORS; ++v)
      sums[v] = Vec<T>{}, others[v] = task_.guide + first_[v];
    for (Index z = 0; z < task_.block[0]; ++z)
      for (Index y = 0; y < task_.block[1]; ++y) {
        const Index row = (z * task_.extents[1] + y) * task_.extents[2];
        for (Index x = row; x < row + task_.block[2]; ++x)
#pragma GCC unroll 4
          for (int v = 0; v < PARALLEL_VECTORS; ++v) {
            const Vec<T> difference = load(others[v] + x) - block[x];
            sums[v] += difference * difference;
          }
        Vec<T> least = sums[0];
#pragma GCC unroll 4
        for (int v = 1; v < PARALLEL_VECTORS; ++v) least = minimum<T>(least, sums[v]);
        if (!any<T>(Mask<T>(least < limit))) return false;
      }
#pragma GCC unroll 4
    for (int v = 0; v < PARALLEL_VECTORS; ++v) found[v] = sums[v];
    return true;
  }

  const GroupTask<T>& task_;
  const Index block_;
  Nearest<T>& nearest_;
  int taken_ = 0;
  Index first_[PARALLEL_VECTORS];
  int count_[PARALLEL_VECTORS];
};

// Fills memory.places with the block at `at` and those most similar to it; returns their number.
template <class T>
int find_group(const GroupTask<T>& task, const Index* at, const GroupMemory<T>& memory) {
  const Index *extents = task.extents, *reach = task.reach;
  Index lowest[3], highest[3];
  for (int axis = 0; axis < 3; ++axis) {
    const Index last = extents[axis] - task.block[axis];
    lowest[axis] = at[axis] > reach[axis] ? at[axis] - reach[axis] : 0;
    highest[axis] = at[axis] + reach[axis] < last ? at[axis] + reach[axis] : last;
  }
  const Index block = (at[0] * extents[1] + at[1]) * extents[2] + at[2];
  Nearest<T> nearest = {memory.distances, memory.places, task.most};
  nearest.insert(T(-1), block);
  Candidates<T> candidates(task, block, nearest);
  for (Index k = 0; k <= 2 * reach[0]; ++k) {
    const Index z = at[0] + outwards(k);
    if (z < lowest[0] || z > highest[0]) continue;
    for (Index j = 0; j <= 2 * reach[1]; ++j) {
      const Index y = at[1] + outwards(j);
      if (y < lowest[1] || y > highest[1]) continue;
      candidates.add_row((z * extents[1] + y) * extents[2] + lowest[2], highest[2] - lowest[2] + 1);
    }
  }
  candidates.finish();
  return nearest.count;
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
