// Shrinkage of overlapping blocks: loading blocks into a tile, shrinking their coefficients, and
// adding blocks to the volume.
//
//   1. load_blocks: adjacent blocks are in adjacent lanes, so with a stride of one a feature of all
//      of them is a contiguous part of a row: no transposition and no gather.
//   2. shrink_by_threshold, c <- c if |c| > t, else 0; or wiener_shrink, c <- c g / (g + sigma^2).
//      Under coloured noise, t and sigma are multiplied by the deviation d of each coefficient.
//   3. BlockAdder: sums += w (block + mean), weights += w, with w = 1 / (number of kept
//      coefficients).
//
// NumPy twins: tests/reference.py, shrink_patches and advance.
#pragma once

#include "kernels/simd/shuffle.hpp"
#include "kernels/simd/vector.hpp"
#include "types/patches.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// One number per lane of UNROLL vectors.
template <class T> struct PerLane {
  Vec<T> v[UNROLL];
};

template <class T> FOST_INLINE void store_lanes(const PerLane<T>& lanes, T* to) {
  for (int k = 0; k < UNROLL; ++k) store(to + k * LANES<T>, lanes.v[k]);
}

// Subtracts its mean from each block; turns sums into means.
template <class T> void remove_mean(int n, T* tile, int width, PerLane<T>& sums) {
  for (int k = 0; k < UNROLL; ++k) sums.v[k] *= T(1) / static_cast<T>(n);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < UNROLL; ++k) {
      T* at = tile + i * static_cast<Index>(width) + k * LANES<T>;
      store(at, load(at) - sums.v[k]);
    }
}

inline bool are_adjacent(const Positions& lefts, int width) {
  return lefts.count == width && lefts.at[width - 1] - lefts.at[0] == width - 1;
}

// Calls use(offset) for each row of a block, with the offset from its first row.
template <class T, class Use> FOST_INLINE void each_row(const BlockGrid<T>& grid, const Use& use) {
  for (int k = 0; k < grid.depth; ++k)
    for (int i = 0; i < grid.height; ++i) use(k * grid.slice + i * grid.pitch);
}

template <class T>
void load_adjacent(const BlockGrid<T>& grid, const T* rows, T* tile, int width, T* means) {
  PerLane<T> sums = {};
  T* to = tile;
  each_row(grid, [&](Index offset) {
    const T* from = rows + offset;
    for (int j = 0; j < grid.width; ++j, to += width)
      for (int k = 0; k < UNROLL; ++k) {
        const Vec<T> own = load(from + j + k * LANES<T>);
        store(to + k * LANES<T>, own);
        sums.v[k] += own;
      }
  });
  remove_mean(static_cast<int>(grid.size()), tile, width, sums);
  store_lanes(sums, means);
}

template <class T>
void load_scattered(const BlockGrid<T>& grid, const T* rows, const Positions& lefts, T* tile,
                    int width, T* means) {
  T* to = tile;
  each_row(grid, [&](Index offset) {
    for (int j = 0; j < grid.width; ++j, to += width) {
      const T* from = rows + offset + j;
      for (int l = 0; l < lefts.count; ++l) to[l] = from[lefts.at[l]];
      for (int l = lefts.count; l < width; ++l) to[l] = T(0);
    }
  });
  const int n = static_cast<int>(grid.size());
  for (int lane = 0; lane < width; lane += WIDTH<T>) {
    PerLane<T> sums = {};
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < UNROLL; ++k)
        sums.v[k] += load(tile + lane + i * static_cast<Index>(width) + k * LANES<T>);
    remove_mean(n, tile + lane, width, sums);
    store_lanes(sums, means + lane);
  }
}

// tile[feature * width + l] = feature of the block at lefts[l] minus its mean; 0 beyond the last
// block.
template <class T>
void load_blocks(const BlockGrid<T>& grid, const T* rows, const Positions& lefts, T* tile,
                 int width, T* means) {
  if (are_adjacent(lefts, width))
    for (int lane = 0; lane < width; lane += WIDTH<T>)
      load_adjacent(grid, rows + lefts.at[0] + lane, tile + lane, width, means + lane);
  else
    load_scattered(grid, rows, lefts, tile, width, means);
}

// x if |x| is larger than `least`, else zero; `count` is incremented where x is kept.
template <class T> FOST_INLINE Vec<T> kept_above(Vec<T> x, Vec<T> least, Mask<T>& count) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    const __mmask16 keep = _mm512_cmp_ps_mask((__m512)absolute(x), (__m512)least, _CMP_GT_OQ);
    count =
        (Mask<T>)_mm512_mask_add_epi32((__m512i)count, keep, (__m512i)count, _mm512_set1_epi32(1));
    return (Vec<T>)_mm512_maskz_mov_ps(keep, (__m512)x);
  } else {
    const __mmask8 keep = _mm512_cmp_pd_mask((__m512d)absolute(x), (__m512d)least, _CMP_GT_OQ);
    count =
        (Mask<T>)_mm512_mask_add_epi64((__m512i)count, keep, (__m512i)count, _mm512_set1_epi64(1));
    return (Vec<T>)_mm512_maskz_mov_pd(keep, (__m512d)x);
  }
#else
  const Mask<T> keep = (Mask<T>)(absolute(x) > least);
  count -= keep;
  return reinterpret_cast<Vec<T>>(reinterpret_cast<Mask<T>>(x) & keep);
#endif
}

// The weight of a block is the reciprocal of its number of kept coefficients, including the mean:
// the variance of the remaining noise is proportional to that number.
template <class T> FOST_INLINE Vec<T> weight_of(Mask<T> kept) {
  return T(1) / (__builtin_convertvector(kept, Vec<T>) + T(1));
}

// Hard thresholding, after multiplication by `scales` if given.
template <class T>
void shrink_by_threshold(int n, T* tile, int width, T threshold, PerLane<T>& weights,
                         const T* scales = nullptr) {
  const Vec<T> least = Vec<T>{} + threshold;
  Mask<T> kept[UNROLL] = {};
  const auto shrink = [&](int i, T scale) {
    for (int k = 0; k < UNROLL; ++k) {
      T* at = tile + i * static_cast<Index>(width) + k * LANES<T>;
      store(at, kept_above<T>(scale * load(at), least, kept[k]));
    }
  };
  if (scales)
    for (int i = 0; i < n; ++i) shrink(i, scales[i]);
  else
    for (int i = 0; i < n; ++i) shrink(i, T(1));
  for (int k = 0; k < UNROLL; ++k) weights.v[k] = weight_of<T>(kept[k]);
}

// Hard thresholding of coloured noise: c is kept if |c| > threshold d. The weight of a block is
// 1 / (1 + sum of d^2 over its kept coefficients).
template <class T>
void shrink_by_deviations(int n, T* tile, int width, T threshold, const T* deviations,
                          PerLane<T>& weights) {
  const Vec<T> zero = {}, one = zero + T(1);
  PerLane<T> kept;
  for (int k = 0; k < UNROLL; ++k) kept.v[k] = one;
  for (int i = 0; i < n; ++i) {
    const Vec<T> least = zero + threshold * deviations[i];
    const Vec<T> variance = zero + deviations[i] * deviations[i];
    for (int k = 0; k < UNROLL; ++k) {
      T* at = tile + i * static_cast<Index>(width) + k * LANES<T>;
      const Vec<T> c = load(at);
      store(at, absolute(c) > least ? c : zero);
      kept.v[k] += absolute(c) > least ? variance : zero;
    }
  }
  for (int k = 0; k < UNROLL; ++k) weights.v[k] = one / kept.v[k];
}

// Wiener filter with the squared coefficients g of a pilot estimate in place of the true ones: c <-
// c g / (g + level d^2), with weights 1 / (1 + sum of d^2 times the squared factors). White noise
// has d = 1.
template <class T>
void wiener_shrink(int n, T* tile, const T* guide, int width, T level, const T* deviations,
                   PerLane<T>& weights) {
  const Vec<T> one = Vec<T>{} + T(1);
  PerLane<T> kept;
  for (int k = 0; k < UNROLL; ++k) kept.v[k] = one;
  const auto shrink = [&](int i, T variance) {
    for (int k = 0; k < UNROLL; ++k) {
      const Index at = i * static_cast<Index>(width) + k * LANES<T>;
      const Vec<T> square = load(guide + at), factor = square / (square + level * variance);
      store(tile + at, load(tile + at) * factor);
      kept.v[k] += factor * factor * variance;
    }
  };
  if (deviations)
    for (int i = 0; i < n; ++i) shrink(i, deviations[i] * deviations[i]);
  else
    for (int i = 0; i < n; ++i) shrink(i, T(1));
  for (int k = 0; k < UNROLL; ++k) weights.v[k] = one / kept.v[k];
}

// The cost of a block in a transform under a threshold: the energy removed by it, plus threshold^2
// per kept coefficient, in units of threshold^2.
template <class T>
void threshold_costs(int n, const T* tile, int width, T threshold, const T* deviations,
                     PerLane<T>& costs) {
  const Vec<T> one = Vec<T>{} + T(1);
  costs = {};
  const auto add = [&](int i, T scale) {
    for (int k = 0; k < UNROLL; ++k) {
      const Vec<T> c = load(tile + i * static_cast<Index>(width) + k * LANES<T>) * scale;
      costs.v[k] += c * c < one ? c * c : one;
    }
  };
  if (deviations)
    for (int i = 0; i < n; ++i) add(i, 1 / (threshold * deviations[i]));
  else
    for (int i = 0; i < n; ++i) add(i, 1 / threshold);
}

// The same for the Wiener filter: the transmitted noise, in units of the noise variance.
template <class T>
void wiener_costs(int n, const T* guide, int width, T level, const T* deviations,
                  PerLane<T>& costs) {
  costs = {};
  const auto add = [&](int i, T variance) {
    for (int k = 0; k < UNROLL; ++k) {
      const Vec<T> square = load(guide + i * static_cast<Index>(width) + k * LANES<T>);
      costs.v[k] += square / (square + variance);
    }
  };
  if (deviations)
    for (int i = 0; i < n; ++i) add(i, level * deviations[i] * deviations[i]);
  else
    for (int i = 0; i < n; ++i) add(i, level);
}

// The weight of a transform whose cost exceeds the least one by `excess`: (1 - excess / 8)^8, which
// approximates exp(-excess) and is zero from 8 on.
template <class T> FOST_INLINE Vec<T> exponential_weight(Vec<T> excess) {
  const Vec<T> zero = {}, rest = T(1) - excess * T(0.125);
  Vec<T> power = rest > zero ? rest : zero;
  power *= power;
  power *= power;
  return power * power;
}

// The weights of a row of blocks, shared by all rows of the volume that the blocks cover: from the
// first sample of the first block to the last sample of the last.
template <class T> void clear_line(const BlockGrid<T>& grid, T* line) {
  const Positions& lefts = grid.lefts;
  const Index end = lefts.at[lefts.count - 1] + grid.width;
  for (Index i = lefts.at[0]; i < end; ++i) line[i] = T(0);
}

template <class T> void add_line(const BlockGrid<T>& grid, const T* line, T* weights) {
  const Positions& lefts = grid.lefts;
  const Index end = lefts.at[lefts.count - 1] + grid.width;
  each_row(grid, [&](Index offset) {
    T* to = weights + offset;
    for (Index i = lefts.at[0]; i < end; ++i) to[i] += line[i];
  });
}

// Adds columns R, R + 1, ... of adjacent blocks; value(r, k) is vector k of column r. Column r of
// the block in one lane belongs r samples further.
template <class T, int R = 0, class Value>
FOST_INLINE void add_columns(int columns, const Value& value, Vec<T> (&sums)[UNROLL + 1]) {
  if constexpr (R < LANES<T>) {
    if (R >= columns) return;
    Vec<T> own[UNROLL + 2] = {};  // between zeros
#pragma GCC unroll 2
    for (int k = 0; k < UNROLL; ++k) own[k + 1] = value(R, k);
#pragma GCC unroll 3
    for (int k = 0; k <= UNROLL; ++k) sums[k] += shifted_up<LANES<T>, R>(own[k], own[k + 1]);
    add_columns<T, R + 1>(columns, value, sums);
  }
}

// Adds weighted blocks to the rows that they cover, and the weights to a line.
//
// Each sample receives contributions from every column of the blocks around it. They are summed in
// registers: a load that overlaps a store of just before, one sample apart, would have to wait for
// that store. Sums that extend beyond the blocks of a tile are carried to the next tile.
template <class T> class BlockAdder {
 public:
  BlockAdder(const BlockGrid<T>& grid, T* sums, T* line, T* carry)
      : grid_(grid), sums_(sums), line_(line), carry_(carry) {
    for (Index i = 0; i < carried_per_row(); ++i) carry_[i] = T(0);
  }

  // Adds weight * (block + mean) for the blocks at these positions.
  void add(const T* tile, const T* means, const T* weights, const Positions& lefts, int width) {
    const bool adjacent = are_adjacent(lefts, width);
    if (!adjacent || lefts.at[0] != next_) flush();
    if (adjacent)
      for (int lane = 0; lane < width; lane += WIDTH<T>)
        add_adjacent(tile + lane, means + lane, weights + lane, lefts.at[0] + lane, width);
    else
      add_scattered(tile, means, weights, lefts, width);
  }

  // Adds the sums that are still carried.
  void flush() {
    if (next_ < 0) return;
    T* carried = carry_;
    flush_row(line_ + next_, carried);
    each_row(grid_, [&](Index offset) { flush_row(sums_ + offset + next_, carried); });
    next_ = -1;
  }

 private:
  static constexpr int L = LANES<T>;

  Index carried_per_row() const {
    const Index rows = Index(grid_.depth) * grid_.height + 1, parts = (grid_.width + L - 1) / L;
    return rows * parts * L;
  }

  void add_adjacent(const T* tile, const T* means, const T* weights, Index left, int width) {
    PerLane<T> mean, weight;
    for (int k = 0; k < UNROLL; ++k) {
      mean.v[k] = load(means + k * L);
      weight.v[k] = load(weights + k * L);
    }
    T* carried = carry_;
    for (int j = 0; j < grid_.width; j += L, carried += L)
      add_part(line_ + left + j, grid_.width - j, [&](int, int k) { return weight.v[k]; }, carried);
    each_row(grid_, [&](Index offset) {
      for (int j = 0; j < grid_.width; j += L, carried += L) {
        const T* from = tile + j * static_cast<Index>(width);
        const auto value = [&](int r, int k) {
          return weight.v[k] * (load(from + r * static_cast<Index>(width) + k * L) + mean.v[k]);
        };
        add_part(sums_ + offset + left + j, grid_.width - j, value, carried);
      }
      tile += grid_.width * static_cast<Index>(width);
    });
    next_ = left + WIDTH<T>;
  }

  // Up to L columns of a row of blocks.
  template <class Value>
  FOST_INLINE void add_part(T* to, int columns, const Value& value, T* carried) const {
    Vec<T> sums[UNROLL + 1] = {};
    for (int k = 0; k < UNROLL; ++k) sums[k] = load(to + k * L);
    sums[0] += load(carried);
    add_columns<T>(columns, value, sums);
    for (int k = 0; k < UNROLL; ++k) store(to + k * L, sums[k]);
    store(carried, sums[UNROLL]);
  }

  void flush_row(T* to, T*& carried) const {
    for (int j = 0; j < grid_.width; j += L, carried += L) {
      const int columns = grid_.width - j < L ? grid_.width - j : L;
      for (int i = 0; i + 1 < columns; ++i) to[j + i] += carried[i];
      for (int i = 0; i < L; ++i) carried[i] = T(0);
    }
  }

  void add_scattered(const T* tile, const T* means, const T* weights, const Positions& lefts,
                     int width) const {
    for (int j = 0; j < grid_.width; ++j)
      for (int l = 0; l < lefts.count; ++l) line_[lefts.at[l] + j] += weights[l];
    each_row(grid_, [&](Index offset) {
      for (int j = 0; j < grid_.width; ++j, tile += width)
        for (int l = 0; l < lefts.count; ++l)
          sums_[offset + j + lefts.at[l]] += weights[l] * (tile[l] + means[l]);
    });
  }

  const BlockGrid<T>& grid_;
  T *sums_, *line_, *carry_;
  Index next_ = -1;  // where the carried sums begin; negative if there are none
};

// Momentum step of samples first:last of an estimate towards weighted means, where samples are
// missing. Resets the sums and weights to zero for the next pass. (Booleans are read as bytes 0 or
// 1, because the compiler does not vectorise loops over bool.)
template <class T>
void step_samples(const MomentumState<T>& state, const WeightedSums<T>& towards, Index first,
                  Index last) {
  T* __restrict estimate = state.estimate, * __restrict velocity = state.velocity;
  T* __restrict sums = towards.sums, * __restrict weights = towards.weights;
  const auto* missing = reinterpret_cast<const unsigned char*>(state.missing);
  const T relaxation = state.relaxation, momentum = state.momentum;
  for (Index i = first; i < last; ++i) {
    const T change =
        (sums[i] / weights[i] - estimate[i]) * (static_cast<T>(missing[i]) * relaxation);
    velocity[i] = velocity[i] * momentum + change;
    estimate[i] += velocity[i];
    sums[i] = weights[i] = T(0);
  }
}

// The same for `count` samples from `first` on, with sums and reciprocal weights. (Not inlined: the
// compiler would lose the information that the arrays do not overlap.)
template <class T>
FOST_NOINLINE void step_row(const MomentumState<T>& state, const T* __restrict sums,
                            const T* __restrict reciprocals, Index first, Index count) {
  T* __restrict estimate = state.estimate + first, * __restrict velocity = state.velocity + first;
  const auto* missing = reinterpret_cast<const unsigned char*>(state.missing + first);
  const T relaxation = state.relaxation, momentum = state.momentum;
  for (Index i = 0; i < count; ++i) {
    const T change =
        (sums[i] * reciprocals[i] - estimate[i]) * (static_cast<T>(missing[i]) * relaxation);
    velocity[i] = velocity[i] * momentum + change;
    estimate[i] += velocity[i];
  }
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
