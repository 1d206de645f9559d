#include "picture.hpp"

#include <algorithm>
#include <vector>

#include "dispatch.hpp"
#include "parallel.hpp"
#include "workspace.hpp"

namespace fost {
namespace {

// Rows of patches in a band, at least: fewer would be too little work for a thread.
constexpr Index BAND = 16;

template <class T> int threads_for_patches(const Demands& plan, const PatchGrid<T>& grid, Index n_tops) {
  return threads_for(nanoseconds(plan, n_tops * grid.n_lefts) * (grid.pilot ? 3 : 2));
}

// Calls kernel(first, last, memory, workspace, thread) for ranges of rows of patches.
template <class T, class Kernel>
void over_bands(const Demands& plan, const PatchGrid<T>& grid, Index n_tops, int most_threads,
                const Kernel& kernel) {
  // Bands overlap their neighbours only, since each has at least as many rows of patches as a
  // patch has of pixels. So all even bands can be added at the same time, then all odd ones, and
  // every pixel is summed up in the same order whatever the number of threads.
  const Index band = std::max<Index>(BAND, grid.height);
  const Index bands = (n_tops + band - 1) / band;
  const int threads = static_cast<int>(std::min<Index>(most_threads, (bands + 1) / 2));
  std::vector<Memory<T>> memory;
  std::vector<Buffer<T>> lines, lanes, guides;
  for (int k = 0; k < threads; ++k) {
    memory.emplace_back(plan, kernels<T>(), grid.n_lefts);
    const Index width = memory.back().workspace().width;
    lines.emplace_back(grid.pitch);
    lanes.emplace_back(2 * width);
    guides.emplace_back(grid.pilot ? plan.n * width : 0);
  }
  for (Index parity = 0; parity < 2; ++parity)
    parallel_for((bands + 1 - parity) / 2, threads, [&](Index k, int thread) {
      const Index first = (2 * k + parity) * band, last = std::min(n_tops, first + band);
      kernel(first, last, {lines[thread].get(), lanes[thread].get(), guides[thread].get()},
             memory[thread].workspace(), thread);
    });
}

}  // namespace

template <class T>
void shrink(const Plan& plan, const PatchGrid<T>& grid, Index n_tops, T level,
            const Overlay<T>& out) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const Program<T> program = plan.program<T>();
  over_bands<T>(plan, grid, n_tops, threads_for_patches(plan, grid, n_tops),
                [&](Index first, Index last, const FilterMemory<T>& memory, const Workspace<T>& work, int) {
    kernels.shrink(program, grid, level, first, last, out, memory, work);
  });
}

template <class T>
void shrink(const Bank& bank, const PatchGrid<T>& grid, Index n_tops, T level, T sharpness,
            const Overlay<T>& out) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const Index width = tile_width(bank, kernels.width, grid.n_lefts), tile = bank.n * width;
  std::vector<Buffer<T>> buffers;
  const int threads = threads_for_patches(bank, grid, n_tops);
  for (int k = 0; k < threads; ++k)
    buffers.emplace_back((1 + 2 * Index(bank.count)) * tile + (bank.count + 1) * width);
  over_bands<T>(bank, grid, n_tops, threads,
                [&](Index first, Index last, const FilterMemory<T>& memory, const Workspace<T>& work, int thread) {
    T* sum = buffers[thread].get();
    T* coefficients = sum + tile;
    T* guides = coefficients + bank.count * tile;
    T* beliefs = guides + bank.count * tile;
    kernels.shrink_bank(bank.program<T>(), {sum, coefficients, guides, beliefs, beliefs + bank.count * width},
                        grid, level, sharpness, first, last, out, memory, work);
  });
}

#define FOST_INSTANTIATE(T)                                                                 \
  template void shrink<T>(const Plan&, const PatchGrid<T>&, Index, T, const Overlay<T>&);   \
  template void shrink<T>(const Bank&, const PatchGrid<T>&, Index, T, T, const Overlay<T>&);
FOST_INSTANTIATE(float)
FOST_INSTANTIATE(double)

}  // namespace fost
