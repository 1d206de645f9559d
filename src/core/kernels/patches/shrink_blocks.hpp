// Shrinks all blocks of a grid: load a tile of blocks, filter it, add it to the volume. NumPy twin:
// tests/reference.py, shrink_patches.
#pragma once

#include "kernels/patches/dct_strips.hpp"
#include "kernels/patches/shrinkage.hpp"
#include "kernels/patches/transform_filters.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// Calls use(offset, alone) for each row of blocks: the offset of its first sample, and whether no
// other row of blocks covers any of the same samples.
template <class T, class Use> void each_row_of_blocks(const BlockGrid<T>& grid, const Use& use) {
  for (int i = 0; i < grid.fronts.count; ++i)
    for (int j = 0; j < grid.tops.count; ++j)
      use(grid.fronts.at[i] * grid.slice + grid.tops.at[j] * grid.pitch,
          grid.fronts.is_separate(i, grid.depth) && grid.tops.is_separate(j, grid.height));
}

template <class T, class Filter>
void shrink_with(const Filter& filter, const BlockGrid<T>& grid, const WeightedSums<T>& out,
                 const FilterMemory<T>& memory, const Workspace<T>& work) {
  T *line = memory.line, *means = memory.means, *weights = memory.weights;
  const int width = work.width, all = grid.lefts.count;
  const auto shrink_row = [&](Index at, bool) {
    clear_line(grid, line);
    BlockAdder<T> adder(grid, out.sums + at, line, memory.carry);
    for (int begin = 0; begin < all; begin += width) {
      const int rest = all - begin;
      Positions lefts = grid.lefts.part(begin, rest < width ? all : begin + width);
      // An incomplete last tile is filled with preceding blocks if that makes it contiguous; their
      // weights are set to zero, since they have been added already.
      int repeated = 0;
      if (rest < width && all >= width && are_adjacent(grid.lefts.part(all - width, all), width)) {
        repeated = width - rest;
        lefts = grid.lefts.part(all - width, all);
      }
      if (grid.pilot) {
        load_blocks(grid, grid.pilot + at, lefts, work.tile, width, means);
        filter.read_pilot(work);
      }
      load_blocks(grid, grid.volume + at, lefts, work.tile, width, means);
      const T* tile = filter(weights, work);
      for (int l = 0; l < repeated; ++l) weights[l] = T(0);
      adder.add(tile, means, weights, lefts, width);
    }
    adder.flush();
    add_line(grid, line, out.weights + at);
  };
  each_row_of_blocks(grid, shrink_row);
}

// Returns whether the algorithm of dct_strips.hpp applies.
template <class T, int N>
bool shrink_strips(const Program<T>& program, const BlockGrid<T>& grid, T level,
                   const WeightedSums<T>& out, const MomentumState<T>* state,
                   const FilterMemory<T>& memory, const Workspace<T>& work) {
  if (!strips_apply<T, N>(program, grid, work)) return false;
  const StripPass<T, N> pass(program, grid, level, memory, work);
  const bool whole = state && grid.lefts.at[0] == 0 && grid.lefts.count + N - 1 == grid.pitch;
  each_row_of_blocks(grid, [&](Index at, bool alone) {
    if (whole && alone)
      pass.step(at, *state);
    else
      pass.add(at, out);
  });
  return true;
}

template <class T>
void shrink(const CoderProgram<T>& program, const BlockGrid<T>& grid, T level, T sharpness,
            const WeightedSums<T>& out, const MomentumState<T>* state,
            const FilterMemory<T>& memory, const Workspace<T>& work) {
  const bool has_pilot = grid.pilot != nullptr;
  if (program.count) {
    const BankFilter<T> filter = {program, memory, level, sharpness, has_pilot, grid.deviations};
    shrink_with<T>(filter, grid, out, memory, work);
  } else if (!shrink_strips<T, 8>(program.base, grid, level, out, state, memory, work) &&
             !shrink_strips<T, 16>(program.base, grid, level, out, state, memory, work)) {
    const TransformFilter<T> filter = {program.base, level, has_pilot, memory.guides,
                                       grid.deviations};
    shrink_with<T>(filter, grid, out, memory, work);
  }
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
