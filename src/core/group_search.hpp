// The blocks that resemble a block most, in its neighbourhood.
#pragma once

#include "group_types.hpp"
#include "simd.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// The nearest so far, in ascending order; of equal ones those that came first.
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

// 0, -1, 1, -2, 2, ...: the nearest come first, so that later ones are soon seen to be worse.
inline Index outwards(Index k) { return k % 2 ? -(k + 1) / 2 : k / 2; }

// Vectors of places that are compared at the same time.
template <class T> constexpr int ABREAST = LANES<T> < 16 ? 4 : 2;

// Squared distances of the block at `block` to those at `others` and the places right of it, as
// far as they are not all at least `worst` before the end. False where they are.
template <class T>
FOST_INLINE bool distances_to(const GroupTask<T>& task, const T* block, const T* others, T worst,
                              Vec<T>* sums) {
  constexpr int L = LANES<T>;
  const Vec<T> limit = Vec<T>{} + worst;
  for (int v = 0; v < ABREAST<T>; ++v) sums[v] = Vec<T>{};
  for (Index z = 0; z < task.block[0]; ++z)
    for (Index y = 0; y < task.block[1]; ++y) {
      const Index row = (z * task.extents[1] + y) * task.extents[2];
      for (Index x = row; x < row + task.block[2]; ++x)
#pragma GCC unroll 4
        for (int v = 0; v < ABREAST<T>; ++v) {
          const Vec<T> difference = load(others + x + v * L) - block[x];
          sums[v] += difference * difference;
        }
      Vec<T> least = sums[0];
      for (int v = 1; v < ABREAST<T>; ++v) least = minimum<T>(least, sums[v]);
      if (!any<T>(Mask<T>(least < limit))) return false;
    }
  return true;
}

// One row of places, `count` of them from `first` on. The block itself is no candidate.
template <class T>
void search_row(const GroupTask<T>& task, Index block, Index first, Index count, Nearest<T>& nearest) {
  constexpr int L = LANES<T>;
  for (Index begin = 0; begin < count; begin += ABREAST<T> * L) {
    Vec<T> sums[ABREAST<T>];
    const T huge = static_cast<T>(__builtin_inff());
    const T worst = nearest.full() ? nearest.distances[nearest.most - 1] : huge;
    if (!distances_to(task, task.guide + block, task.guide + first + begin, worst, sums)) continue;
    for (int v = 0; v < ABREAST<T> && begin + v * L < count; ++v) {
      const Index rest = count - begin - v * L;
      unsigned near = ~at_least(sums[v], Vec<T>{} + worst) & (rest < L ? (1u << rest) - 1 : (1u << L) - 1);
      T distances[L];
      store(distances, sums[v]);
      for (; near; near &= near - 1) {
        const int lane = __builtin_ctz(near);
        const Index place = first + begin + v * L + lane;
        if (place == block || !(distances[lane] < huge)) continue;
        if (!nearest.full() || distances[lane] < nearest.distances[nearest.most - 1])
          nearest.insert(distances[lane], place);
      }
    }
  }
}

// Fills memory.places with the block at `at` and those most like it; returns how many there are.
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
  for (Index k = 0; k <= 2 * reach[0]; ++k) {
    const Index z = at[0] + outwards(k);
    if (z < lowest[0] || z > highest[0]) continue;
    for (Index j = 0; j <= 2 * reach[1]; ++j) {
      const Index y = at[1] + outwards(j);
      if (y < lowest[1] || y > highest[1]) continue;
      search_row(task, block, (z * extents[1] + y) * extents[2] + lowest[2],
                 highest[2] - lowest[2] + 1, nearest);
    }
  }
  return nearest.count;
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
