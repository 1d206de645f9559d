// A pass over the blocks of a grid: load a tile, filter it, add it to the volume.
#pragma once

#include "filters.hpp"
#include "shrinkage.hpp"

namespace fost {
namespace FOST_NAMESPACE {

template <class T, class Filter>
void shrink_with(const Filter& filter, const BlockGrid<T>& grid, const Overlay<T>& out,
                 const FilterMemory<T>& memory, const Workspace<T>& work) {
  const int n = static_cast<int>(grid.size());
  T *line = memory.line, *means = memory.means, *weights = memory.weights;
  const auto load_from = [&](const T* rows, const Places& lefts) {
    load_blocks(grid, rows, lefts, work.tile, work.width);
    for (int lane = 0; lane < work.width; lane += WIDTH<T>) {
      PerLane<T> removed;
      remove_mean(n, work.tile + lane, work.width, removed);
      store_lanes(removed, means + lane);
    }
  };
  const auto shrink_row = [&](Index at) {
    clear_line(grid, line);
    for (int begin = 0; begin < grid.lefts.count; begin += work.width) {
      const int rest = grid.lefts.count - begin, count = rest < work.width ? rest : work.width;
      const Places lefts = grid.lefts.part(begin, begin + count);
      if (grid.pilot) {
        load_from(grid.pilot + at, lefts);
        filter.look(work);
      }
      load_from(grid.volume + at, lefts);
      const T* tile = filter(weights, work);
      add_blocks(grid, tile, means, weights, lefts, work.width, out.sums + at, line);
    }
    add_line(grid, line, out.weights + at);
  };
  for (int i = 0; i < grid.fronts.count; ++i)
    for (int j = 0; j < grid.tops.count; ++j)
      shrink_row(grid.fronts.at[i] * grid.slice + grid.tops.at[j] * grid.pitch);
}

template <class T>
void shrink(const CoderProgram<T>& program, const BlockGrid<T>& grid, T level, T sharpness,
            const Overlay<T>& out, const FilterMemory<T>& memory, const Workspace<T>& work) {
  const bool guided = grid.pilot != nullptr;
  if (program.count) {
    const BankFilter<T> filter = {program, memory, level, sharpness, guided};
    shrink_with<T>(filter, grid, out, memory, work);
  } else {
    const TransformFilter<T> filter = {program.base, level, guided, memory.guides};
    shrink_with<T>(filter, grid, out, memory, work);
  }
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
