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

}  // namespace

template <class T>
void shrink(const Plan& plan, const PatchGrid<T>& grid, Index n_tops, T level,
            const Overlay<T>& out) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const Program<T> program = plan.program<T>();
  // Bands overlap their neighbours only, since each has at least as many rows of patches as a
  // patch has of pixels. So all even bands can be added at the same time, then all odd ones, and
  // every pixel is summed up in the same order whatever the number of threads.
  const Index band = std::max<Index>(BAND, grid.height);
  const Index bands = (n_tops + band - 1) / band;
  const double work = nanoseconds(plan, n_tops * grid.n_lefts) * (grid.pilot ? 3 : 2);
  const int threads = static_cast<int>(std::min<Index>(threads_for(work), (bands + 1) / 2));
  std::vector<Memory<T>> memory;
  std::vector<Buffer<T>> lines, guides;
  for (int k = 0; k < threads; ++k) {
    memory.emplace_back(plan, kernels, grid.n_lefts);
    const Index width = memory.back().workspace().width;
    lines.emplace_back(grid.pitch);
    guides.emplace_back((plan.n + 2) * width);
  }
  for (Index parity = 0; parity < 2; ++parity)
    parallel_for((bands + 1 - parity) / 2, threads, [&](Index k, int thread) {
      const Index first = (2 * k + parity) * band, last = std::min(n_tops, first + band);
      kernels.shrink(program, grid, level, first, last, out, lines[thread].get(),
                     guides[thread].get(), memory[thread].workspace());
    });
}

template void shrink<float>(const Plan&, const PatchGrid<float>&, Index, float,
                            const Overlay<float>&);
template void shrink<double>(const Plan&, const PatchGrid<double>&, Index, double,
                             const Overlay<double>&);

}  // namespace fost
