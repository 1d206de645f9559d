// The steps of shrinking overlapping patches: from the picture to a tile, the coefficients, and
// back into the picture.
//
// Patches beside each other lie in the lanes, so that with a stride of one a feature of all of
// them is a piece of a row of the picture: no transposition, and no gather.
#pragma once

#include "picture_types.hpp"
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

inline bool side_by_side(const std::int32_t* lefts, int count, int width) {
  return count == width && lefts[count - 1] - lefts[0] == count - 1;
}

// tile[(i * w + j) * width + l] = rows[i, lefts[l] + j] for l < count, and 0 beyond.
template <class T>
void load_patches(const PatchGrid<T>& grid, const T* rows, const std::int32_t* lefts, int count,
                  T* tile, int width) {
  const bool plain = side_by_side(lefts, count, width);
  for (int i = 0; i < grid.height; ++i, rows += grid.pitch)
    for (int j = 0; j < grid.width; ++j, tile += width) {
      if (plain) {
        const T* from = rows + lefts[0] + j;
        for (int l = 0; l < width; l += LANES<T>) store(tile + l, load(from + l));
      } else {
        for (int l = 0; l < count; ++l) tile[l] = rows[lefts[l] + j];
        for (int l = count; l < width; ++l) tile[l] = T(0);
      }
    }
}

// Subtracts its mean from each patch.
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

// Keeps coefficients larger than the threshold. The weight of a patch is one over the number of
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

// How badly a transform suits a patch: the squares that a threshold takes out, and its own square
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

// What a transform counts for a patch whose cost in it exceeds the least by `excess`: nearly
// exp(-excess), and nothing from 8 on.
template <class T> FOST_INLINE Vec<T> belief(Vec<T> excess) {
  const Vec<T> zero = {}, rest = T(1) - excess * T(0.125);
  Vec<T> power = rest > zero ? rest : zero;
  power *= power;
  power *= power;
  return power * power;
}

// Adds weight * (patch + mean) to the rows of the sums, and the weights of a row of patches to
// the line that all its pixel rows share.
template <class T>
void add_patches(const PatchGrid<T>& grid, const T* tile, const T* means, const T* weights,
                 const std::int32_t* lefts, int count, int width, T* sums, T* line) {
  constexpr int L = LANES<T>;
  const bool plain = side_by_side(lefts, count, width);
  for (int j = 0; j < grid.width; ++j) {
    if (plain)
      for (int l = 0; l < width; l += L) {
        T* to = line + lefts[0] + j + l;
        store(to, load(to) + load(weights + l));
      }
    else
      for (int l = 0; l < count; ++l) line[lefts[l] + j] += weights[l];
  }
  for (int i = 0; i < grid.height; ++i, sums += grid.pitch)
    for (int j = 0; j < grid.width; ++j, tile += width) {
      if (plain) {
        T* to = sums + lefts[0] + j;
        for (int l = 0; l < width; l += L)
          store(to + l, load(to + l) + load(weights + l) * (load(tile + l) + load(means + l)));
      } else {
        for (int l = 0; l < count; ++l) sums[lefts[l] + j] += weights[l] * (tile[l] + means[l]);
      }
    }
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
