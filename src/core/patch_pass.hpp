// A pass over the patches of a range of rows: load a tile, filter it, add it to the picture.
#pragma once

#include "filters.hpp"
#include "shrinkage.hpp"

namespace fost {
namespace FOST_NAMESPACE {

template <class T, class Filter>
void shrink_with(const Filter& filter, const PatchGrid<T>& grid, Index first, Index last,
                 const Overlay<T>& out, const FilterMemory<T>& memory, const Workspace<T>& work) {
  const int n = grid.height * grid.width;
  T *line = memory.line, *means = memory.means, *weights = memory.weights;
  const auto load_from = [&](const T* picture, const std::int32_t* lefts, int count) {
    load_patches(grid, picture, lefts, count, work.tile, work.width);
    for (int lane = 0; lane < work.width; lane += WIDTH<T>) {
      PerLane<T> removed;
      remove_mean(n, work.tile + lane, work.width, removed);
      store_lanes(removed, means + lane);
    }
  };
  for (Index row = first; row < last; ++row) {
    const Index top = grid.tops[row];
    for (Index i = 0; i < grid.pitch; ++i) line[i] = T(0);
    for (int begin = 0; begin < grid.n_lefts; begin += work.width) {
      const int count = grid.n_lefts - begin < work.width ? grid.n_lefts - begin : work.width;
      const std::int32_t* lefts = grid.lefts + begin;
      if (grid.pilot) {
        load_from(grid.pilot + top * grid.pitch, lefts, count);
        filter.look(work);
      }
      load_from(grid.image + top * grid.pitch, lefts, count);
      const T* tile = filter(weights, work);
      add_patches(grid, tile, means, weights, lefts, count, work.width,
                  out.sums + top * grid.pitch, line);
    }
    for (int i = 0; i < grid.height; ++i) {
      T* to = out.weights + (top + i) * grid.pitch;
      for (Index k = 0; k < grid.pitch; ++k) to[k] += line[k];
    }
  }
}

template <class T>
void shrink(const CoderProgram<T>& program, const PatchGrid<T>& grid, T level, T sharpness,
            Index first, Index last, const Overlay<T>& out, const FilterMemory<T>& memory,
            const Workspace<T>& work) {
  const bool guided = grid.pilot != nullptr;
  if (program.count) {
    const BankFilter<T> filter = {program, memory, level, sharpness, guided};
    shrink_with<T>(filter, grid, first, last, out, memory, work);
  } else {
    const TransformFilter<T> filter = {program.base, level, guided, memory.guides};
    shrink_with<T>(filter, grid, first, last, out, memory, work);
  }
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
