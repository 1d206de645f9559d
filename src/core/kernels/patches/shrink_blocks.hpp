// A pass over the blocks of a grid: load a tile, filter it, add it to the volume.
#pragma once

#include "kernels/patches/transform_filters.hpp"
#include "kernels/patches/shrinkage.hpp"
#include "kernels/patches/dct_strips.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// Calls use(offset, alone) for each row of blocks, where offset is the way to the first sample of its
// slice and row, and alone whether no other row of blocks covers any of the same samples.
template <class T, class Use> void each_row_of_blocks(const BlockGrid<T>& grid, const Use& use) {
  for (int i = 0; i < grid.fronts.count; ++i)
    for (int j = 0; j < grid.tops.count; ++j)
      use(grid.fronts.at[i] * grid.slice + grid.tops.at[j] * grid.pitch,
          grid.fronts.apart(i, grid.depth) && grid.tops.apart(j, grid.height));
}

template <class T, class Filter>
void shrink_with(const Filter& filter, const BlockGrid<T>& grid, const Overlay<T>& out,
                 const FilterMemory<T>& memory, const Workspace<T>& work) {
  T *line = memory.line, *means = memory.means, *weights = memory.weights;
  const int width = work.width, all = grid.lefts.count;
  const auto shrink_row = [&](Index at, bool) {
    clear_line(grid, line);
    BlockAdder<T> adder(grid, out.sums + at, line, memory.carry);
    for (int begin = 0; begin < all; begin += width) {
      const int rest = all - begin;
      Places lefts = grid.lefts.part(begin, rest < width ? all : begin + width);
      // The last blocks come with others that have been before, where that makes a whole tile of
      // neighbours; these do not count again.
      int again = 0;
      if (rest < width && all >= width && side_by_side(grid.lefts.part(all - width, all), width)) {
        again = width - rest;
        lefts = grid.lefts.part(all - width, all);
      }
      if (grid.pilot) {
        load_blocks(grid, grid.pilot + at, lefts, work.tile, width, means);
        filter.look(work);
      }
      load_blocks(grid, grid.volume + at, lefts, work.tile, width, means);
      const T* tile = filter(weights, work);
      for (int l = 0; l < again; ++l) weights[l] = T(0);
      adder.add(tile, means, weights, lefts, width);
    }
    adder.flush();
    add_line(grid, line, out.weights + at);
  };
  each_row_of_blocks(grid, shrink_row);
}

// Whether there was a way by strips.
template <class T, int N>
bool shrink_strips(const Program<T>& program, const BlockGrid<T>& grid, T level, const Overlay<T>& out,
                   const Motion<T>* motion, const FilterMemory<T>& memory, const Workspace<T>& work) {
  if (!in_strips<T, N>(program, grid, work)) return false;
  const StripPass<T, N> pass(program, grid, level, memory, work);
  const bool whole = motion && grid.lefts.at[0] == 0 && grid.lefts.count + N - 1 == grid.pitch;
  each_row_of_blocks(grid, [&](Index at, bool alone) {
    if (whole && alone)
      pass.advance(at, *motion);
    else
      pass.add(at, out);
  });
  return true;
}

template <class T>
void shrink(const CoderProgram<T>& program, const BlockGrid<T>& grid, T level, T sharpness,
            const Overlay<T>& out, const Motion<T>* motion, const FilterMemory<T>& memory,
            const Workspace<T>& work) {
  const bool guided = grid.pilot != nullptr;
  if (program.count) {
    const BankFilter<T> filter = {program, memory, level, sharpness, guided};
    shrink_with<T>(filter, grid, out, memory, work);
  } else if (!shrink_strips<T, 8>(program.base, grid, level, out, motion, memory, work) &&
             !shrink_strips<T, 16>(program.base, grid, level, out, motion, memory, work)) {
    const TransformFilter<T> filter = {program.base, level, guided, memory.guides};
    shrink_with<T>(filter, grid, out, memory, work);
  }
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
