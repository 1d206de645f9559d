// The steps of shrinking overlapping blocks: from the volume to a tile, the coefficients, and back
// into the volume.
//
// Blocks beside each other lie in the lanes, so that with a stride of one a feature of all of them
// is a piece of a row of the volume: no transposition, and no gather.
#pragma once

#include "volume_types.hpp"
#include "simd.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// One number per lane of a tile's vectors.
template <class T> struct PerLane {
  Vec<T> v[UNROLL];
};

template <class T> FOST_INLINE void store_lanes(const PerLane<T>& lanes, T* to) {
  for (int k = 0; k < UNROLL; ++k) store(to + k * LANES<T>, lanes.v[k]);
}

inline bool side_by_side(const Places& lefts, int width) {
  return lefts.count == width && lefts.at[width - 1] - lefts.at[0] == width - 1;
}

// Calls use(offset) for each row of a block, where offset is the way from its first row.
template <class T, class Use> FOST_INLINE void each_row(const BlockGrid<T>& grid, const Use& use) {
  for (int k = 0; k < grid.depth; ++k)
    for (int i = 0; i < grid.height; ++i) use(k * grid.slice + i * grid.pitch);
}

// tile[feature * width + l] = feature of the block at lefts[l], and 0 beyond the last.
template <class T>
void load_blocks(const BlockGrid<T>& grid, const T* rows, const Places& lefts, T* tile, int width) {
  const bool plain = side_by_side(lefts, width);
  each_row(grid, [&](Index offset) {
    for (int j = 0; j < grid.width; ++j, tile += width) {
      const T* from = rows + offset + j;
      if (plain) {
        from += lefts.at[0];
        for (int l = 0; l < width; l += LANES<T>) store(tile + l, load(from + l));
      } else {
        for (int l = 0; l < lefts.count; ++l) tile[l] = from[lefts.at[l]];
        for (int l = lefts.count; l < width; ++l) tile[l] = T(0);
      }
    }
  });
}

// Subtracts its mean from each block.
template <class T> void remove_mean(int n, T* tile, int width, PerLane<T>& means) {
  means = {};
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < UNROLL; ++k)
      means.v[k] += load(tile + i * static_cast<Index>(width) + k * LANES<T>);
  for (int k = 0; k < UNROLL; ++k) means.v[k] *= T(1) / static_cast<T>(n);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < UNROLL; ++k) {
      T* at = tile + i * static_cast<Index>(width) + k * LANES<T>;
      store(at, load(at) - means.v[k]);
    }
}

// Keeps coefficients larger than the threshold. The weight of a block is one over the number of
// those it keeps, its mean among them: the variance of the noise that is left is proportional.
template <class T>
void shrink_by_threshold(int n, T* tile, int width, T threshold, PerLane<T>& weights) {
  const Vec<T> zero = {}, one = zero + T(1), least = zero + threshold;
  PerLane<T> kept;
  for (int k = 0; k < UNROLL; ++k) kept.v[k] = one;
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < UNROLL; ++k) {
      T* at = tile + i * static_cast<Index>(width) + k * LANES<T>;
      const Vec<T> c = load(at);
      const auto keep = absolute(c) > least;
      store(at, keep ? c : zero);
      kept.v[k] += keep ? one : zero;
    }
  for (int k = 0; k < UNROLL; ++k) weights.v[k] = one / kept.v[k];
}

// Wiener's filter, with the squared coefficients of an estimate in the place of the truth:
// c <- c g / (g + level), and weights accordingly.
template <class T>
void shrink_by_guide(int n, T* tile, const T* guide, int width, T level, PerLane<T>& weights) {
  const Vec<T> one = Vec<T>{} + T(1);
  PerLane<T> kept;
  for (int k = 0; k < UNROLL; ++k) kept.v[k] = one;
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < UNROLL; ++k) {
      const Index at = i * static_cast<Index>(width) + k * LANES<T>;
      const Vec<T> square = load(guide + at), factor = square / (square + level);
      store(tile + at, load(tile + at) * factor);
      kept.v[k] += factor * factor;
    }
  for (int k = 0; k < UNROLL; ++k) weights.v[k] = one / kept.v[k];
}

// How badly a transform suits a block: the squares that a threshold takes out, and its own square
// for each coefficient that is kept, in units of that.
template <class T> void threshold_costs(int n, const T* tile, int width, T threshold, PerLane<T>& costs) {
  const Vec<T> one = Vec<T>{} + T(1);
  costs = {};
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < UNROLL; ++k) {
      const Vec<T> c = load(tile + i * static_cast<Index>(width) + k * LANES<T>) * (1 / threshold);
      costs.v[k] += c * c < one ? c * c : one;
    }
}

// The same for Wiener's filter: the noise that it lets through, in units of the noise.
template <class T> void guide_costs(int n, const T* guide, int width, T level, PerLane<T>& costs) {
  costs = {};
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < UNROLL; ++k) {
      const Vec<T> square = load(guide + i * static_cast<Index>(width) + k * LANES<T>);
      costs.v[k] += square / (square + level);
    }
}

// What a transform counts for a block whose cost in it exceeds the least by `excess`: nearly
// exp(-excess), and nothing from 8 on.
template <class T> FOST_INLINE Vec<T> belief(Vec<T> excess) {
  const Vec<T> zero = {}, rest = T(1) - excess * T(0.125);
  Vec<T> power = rest > zero ? rest : zero;
  power *= power;
  power *= power;
  return power * power;
}

// The weights of a row of blocks, which all rows of the volume that they cover share: from the
// first sample of the first of them to the last sample of the last.
template <class T> void clear_line(const BlockGrid<T>& grid, T* line) {
  const Places& lefts = grid.lefts;
  const Index end = lefts.at[lefts.count - 1] + grid.width;
  for (Index i = lefts.at[0]; i < end; ++i) line[i] = T(0);
}

template <class T> void add_line(const BlockGrid<T>& grid, const T* line, T* weights) {
  const Places& lefts = grid.lefts;
  const Index end = lefts.at[lefts.count - 1] + grid.width;
  each_row(grid, [&](Index offset) {
    T* to = weights + offset;
    for (Index i = lefts.at[0]; i < end; ++i) to[i] += line[i];
  });
}

// Adds weight * (block + mean) to the rows of the sums, and the weights to the line.
template <class T>
void add_blocks(const BlockGrid<T>& grid, const T* tile, const T* means, const T* weights,
                const Places& lefts, int width, T* sums, T* line) {
  constexpr int L = LANES<T>;
  const bool plain = side_by_side(lefts, width);
  for (int j = 0; j < grid.width; ++j) {
    if (plain)
      for (int l = 0; l < width; l += L) {
        T* to = line + lefts.at[0] + j + l;
        store(to, load(to) + load(weights + l));
      }
    else
      for (int l = 0; l < lefts.count; ++l) line[lefts.at[l] + j] += weights[l];
  }
  each_row(grid, [&](Index offset) {
    for (int j = 0; j < grid.width; ++j, tile += width) {
      T* to = sums + offset + j;
      if (plain) {
        to += lefts.at[0];
        for (int l = 0; l < width; l += L)
          store(to + l, load(to + l) + load(weights + l) * (load(tile + l) + load(means + l)));
      } else {
        for (int l = 0; l < lefts.count; ++l)
          to[lefts.at[l]] += weights[l] * (tile[l] + means[l]);
      }
    }
  });
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
