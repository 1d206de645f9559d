// Filters of blocks with zero mean in the domain of a transform, or of all members of a bank. Both
// have the same interface: read_pilot(workspace) with blocks of a pilot estimate in work.tile, then
// filter(weights, workspace) with the blocks to be filtered there.
#pragma once

#include "kernels/patches/shrinkage.hpp"
#include "kernels/simd/tile.hpp"
#include "kernels/transforms/stages.hpp"

namespace fost {
namespace FOST_NAMESPACE {

template <class T> void square_tile(const T* tile, T* squares, Index size) {
  for (Index i = 0; i < size; ++i) squares[i] = tile[i] * tile[i];
}

// In the domain of one transform ...
template <class T> struct TransformFilter {
  Program<T> program;
  T level;
  bool has_pilot;
  T* guide;             // n x width, squared coefficients of the pilot
  const T* deviations;  // of coloured noise, per coefficient, or null

  // Blocks of the pilot are in work.tile.
  void read_pilot(const Workspace<T>& work) const {
    Prefetch none(nullptr, 0);
    square_tile(run<T, false>(program, work.tile, work, none), guide, size(work));
  }

  // Blocks to be filtered are in work.tile. Returns where the results are, and their weights.
  T* operator()(T* weights, const Workspace<T>& work) const {
    Prefetch none(nullptr, 0);
    T* tile = run<T, false>(program, work.tile, work, none);
    for (int lane = 0; lane < work.width; lane += WIDTH<T>)
      shrink_lanes(tile + lane, guide + lane, weights + lane, work.width);
    return run<T, true>(program, tile, work, none);
  }

  Index size(const Workspace<T>& work) const { return static_cast<Index>(program.n) * work.width; }

  void shrink_lanes(T* tile, const T* squares, T* weights, int width) const {
    PerLane<T> lanes;
    if (has_pilot)
      wiener_shrink(program.n, tile, squares, width, level, deviations, lanes);
    else if (deviations)
      shrink_by_deviations(program.n, tile, width, level, deviations, lanes);
    else
      shrink_by_threshold(program.n, tile, width, level, lanes);
    store_lanes(lanes, weights);
  }
};

// ... or in the domains of all members of a bank: the weighted mean of the members' results, with
// larger weights for members of lower cost. (Choosing the best member alone is worse, since under
// noise that choice is random.)
template <class T> struct BankFilter {
  CoderProgram<T> program;
  FilterMemory<T> memory;
  T level, sharpness;
  bool has_pilot;
  const T* deviations;  // of coloured noise, per member and coefficient, or null

  void read_pilot(const Workspace<T>& work) const {
    each_member(work, [&](int b, const T* tile) {
      square_tile(tile, memory.guides + b * size(work), size(work));
    });
  }

  T* operator()(T* weights, const Workspace<T>& work) const {
    const int width = work.width, count = program.count;
    each_member(work, [&](int b, const T* tile) {
      copy_tile(tile, memory.coefficients + b * size(work), size(work));
      for (int lane = 0; lane < width; lane += WIDTH<T>) {
        PerLane<T> lanes;
        if (has_pilot)
          wiener_costs(program.base.n, memory.guides + b * size(work) + lane, width, level,
                       deviations_of(b), lanes);
        else
          threshold_costs(program.base.n, tile + lane, width, level, deviations_of(b), lanes);
        store_lanes(lanes, memory.member_weights + b * width + lane);
      }
    });
    for (int lane = 0; lane < width; lane += LANES<T>) {
      T* costs = memory.member_weights + lane;
      Vec<T> least = load(costs);
      for (int b = 1; b < count; ++b) least = minimum<T>(least, load(costs + b * width));
      Vec<T> sum = {};
      for (int b = 0; b < count; ++b) {
        const Vec<T> share = exponential_weight<T>((load(costs + b * width) - least) * sharpness);
        store(costs + b * width, share);
        sum += share;
      }
      for (int b = 0; b < count; ++b) store(costs + b * width, load(costs + b * width) / sum);
    }
    for (Index i = 0; i < size(work); ++i) memory.sum[i] = T(0);
    for (int l = 0; l < width; ++l) weights[l] = T(0);
    for (int b = 0; b < count; ++b) add_member(b, weights, work);
    for (int lane = 0; lane < width; lane += LANES<T>)
      for (int i = 0; i < program.base.n; ++i) {
        const Index at = i * static_cast<Index>(width) + lane;
        store(work.tile + at, load(memory.sum + at) / load(weights + lane));
      }
    Prefetch none(nullptr, 0);
    return run<T, true>(program.base, work.tile, work, none);
  }

  Index size(const Workspace<T>& work) const {
    return static_cast<Index>(program.base.n) * work.width;
  }

  const T* deviations_of(int b) const {
    return deviations ? deviations + b * static_cast<Index>(program.base.n) : nullptr;
  }

  // Applies the base once, then calls use(b, coefficients in member b).
  template <class Use> void each_member(const Workspace<T>& work, const Use& use) const {
    Prefetch none(nullptr, 0);
    copy_tile<T>(run<T, false>(program.base, work.tile, work, none), memory.sum, size(work));
    for (int b = 0; b < program.count; ++b) {
      copy_tile<T>(memory.sum, work.tile, size(work));
      use(b, run<T, false>(program.members[b].program, work.tile, work, none));
    }
  }

  // Adds the result of member b, transformed back to the domain of the base.
  void add_member(int b, T* weights, const Workspace<T>& work) const {
    const int n = program.base.n, width = work.width;
    T* member_weight = memory.member_weights + b * width;
    bool any = false;
    for (int l = 0; l < width; ++l) any |= member_weight[l] > 0;
    if (!any) return;
    const TransformFilter<T> filter = {program.members[b].program, level, has_pilot, nullptr,
                                       deviations_of(b)};
    copy_tile<T>(memory.coefficients + b * size(work), work.tile, size(work));
    for (int lane = 0; lane < width; lane += WIDTH<T>)
      filter.shrink_lanes(work.tile + lane, memory.guides + b * size(work) + lane,
                          memory.block_weights + lane, width);
    for (int l = 0; l < width; ++l) {
      member_weight[l] *= memory.block_weights[l];
      weights[l] += member_weight[l];
    }
    Prefetch none(nullptr, 0);
    const T* tile = run<T, true>(filter.program, work.tile, work, none);
    for (int i = 0; i < n; ++i)
      for (int lane = 0; lane < width; lane += LANES<T>) {
        const Index at = i * static_cast<Index>(width) + lane;
        store(memory.sum + at,
              load(memory.sum + at) + load(member_weight + lane) * load(tile + at));
      }
  }
};

}  // namespace FOST_NAMESPACE
}  // namespace fost
