// Blocks without their means, filtered in the domain of a transform or in those of a bank's
// members. Both are called alike: look(workspace) where the blocks of a pilot are in work.tile,
// then filter(weights, workspace) where those to be filtered are.
#pragma once

#include "kernels/patches/shrinkage.hpp"
#include "kernels/transforms/stages.hpp"
#include "kernels/simd/tile.hpp"

namespace fost {
namespace FOST_NAMESPACE {

template <class T> void square_tile(const T* tile, T* squares, Index size) {
  for (Index i = 0; i < size; ++i) squares[i] = tile[i] * tile[i];
}

// In the domain of a transform alone ...
template <class T> struct TransformFilter {
  Program<T> program;
  T level;
  bool guided;
  T* guide;  // n x width, squared coefficients of the estimate that guides

  // The blocks of that estimate are in work.tile.
  void look(const Workspace<T>& work) const {
    Prefetch none(nullptr, 0);
    square_tile(run<T, false>(program, work.tile, work, none), guide, size(work));
  }

  // Those to be filtered are in work.tile. Returns where they are then, and their weights.
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
    if (guided)
      shrink_by_guide(program.n, tile, squares, width, level, lanes);
    else
      shrink_by_threshold(program.n, tile, width, level, lanes);
    store_lanes(lanes, weights);
  }
};

// ... or in those of all members of a bank: the mean of what they make of a block, in which those
// that suit it count more. (To choose the best alone is worse: in noise, which one is best is
// chance.)
template <class T> struct BankFilter {
  CoderProgram<T> program;
  FilterMemory<T> memory;
  T level, sharpness;
  bool guided;

  void look(const Workspace<T>& work) const {
    each_member(work, [&](int b, const T* tile) { square_tile(tile, memory.guides + b * size(work), size(work)); });
  }

  T* operator()(T* weights, const Workspace<T>& work) const {
    const int width = work.width, count = program.count;
    each_member(work, [&](int b, const T* tile) {
      copy_tile(tile, memory.coefficients + b * size(work), size(work));
      for (int lane = 0; lane < width; lane += WIDTH<T>) {
        PerLane<T> lanes;
        if (guided)
          guide_costs(program.base.n, memory.guides + b * size(work) + lane, width, level, lanes);
        else
          threshold_costs(program.base.n, tile + lane, width, level, lanes);
        store_lanes(lanes, memory.beliefs + b * width + lane);
      }
    });
    for (int lane = 0; lane < width; lane += LANES<T>) {
      T* costs = memory.beliefs + lane;
      Vec<T> least = load(costs);
      for (int b = 1; b < count; ++b) least = minimum<T>(least, load(costs + b * width));
      Vec<T> sum = {};
      for (int b = 0; b < count; ++b) {
        const Vec<T> share = belief<T>((load(costs + b * width) - least) * sharpness);
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

  Index size(const Workspace<T>& work) const { return static_cast<Index>(program.base.n) * work.width; }

  // The base once, then use(b, coefficients in member b).
  template <class Use> void each_member(const Workspace<T>& work, const Use& use) const {
    Prefetch none(nullptr, 0);
    copy_tile<T>(run<T, false>(program.base, work.tile, work, none), memory.sum, size(work));
    for (int b = 0; b < program.count; ++b) {
      copy_tile<T>(memory.sum, work.tile, size(work));
      use(b, run<T, false>(program.members[b].program, work.tile, work, none));
    }
  }

  // Adds what member b makes of the blocks, back in the domain of the base.
  void add_member(int b, T* weights, const Workspace<T>& work) const {
    const int n = program.base.n, width = work.width;
    T* belief = memory.beliefs + b * width;
    bool any = false;
    for (int l = 0; l < width; ++l) any |= belief[l] > 0;
    if (!any) return;
    const TransformFilter<T> filter = {program.members[b].program, level, guided, nullptr};
    copy_tile<T>(memory.coefficients + b * size(work), work.tile, size(work));
    for (int lane = 0; lane < width; lane += WIDTH<T>)
      filter.shrink_lanes(work.tile + lane, memory.guides + b * size(work) + lane, memory.shares + lane, width);
    for (int l = 0; l < width; ++l) {
      belief[l] *= memory.shares[l];
      weights[l] += belief[l];
    }
    Prefetch none(nullptr, 0);
    const T* tile = run<T, true>(filter.program, work.tile, work, none);
    for (int i = 0; i < n; ++i)
      for (int lane = 0; lane < width; lane += LANES<T>) {
        const Index at = i * static_cast<Index>(width) + lane;
        store(memory.sum + at, load(memory.sum + at) + load(belief + lane) * load(tile + at));
      }
  }
};

}  // namespace FOST_NAMESPACE
}  // namespace fost
