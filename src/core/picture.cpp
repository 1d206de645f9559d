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

// The memory behind one FilterMemory.
template <class T> class FilterBuffers {
 public:
  FilterBuffers(const Coder& coder, const Kernels<T>& kernels, const PatchGrid<T>& grid)
      : width_(tile_width(coder, kernels.width, grid.n_lefts)),
        tile_(coder.n * width_),
        members_(coder.n_members),
        guides_(grid.pilot ? coder.n_atoms() * width_ : 0),
        sum_(members_ ? tile_ : 0),
        line_(grid.pitch),
        numbers_(3 * width_ + members_ * (tile_ + width_)) {}

  FilterMemory<T> memory() const {
    T* next = numbers_.get();
    const auto take = [&next](Index count) { return (next += count) - count; };
    return {line_.get(),            take(width_), take(width_),            guides_.get(),
            take(members_ * tile_), sum_.get(),   take(members_ * width_), take(width_)};
  }

 private:
  Index width_, tile_, members_;
  Buffer<T> guides_, sum_, line_, numbers_;
};

}  // namespace

template <class T>
void shrink(const Coder& coder, const PatchGrid<T>& grid, Index n_tops, T level, T sharpness,
            const Overlay<T>& out) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const CoderProgram<T> program = coder.program<T>();
  // Bands overlap their neighbours only, since each has at least as many rows of patches as a
  // patch has of pixels. So all even bands can be added at the same time, then all odd ones, and
  // every pixel is summed up in the same order whatever the number of threads.
  const Index band = std::max<Index>(BAND, grid.height);
  const Index bands = (n_tops + band - 1) / band;
  const double work = nanoseconds(coder, n_tops * grid.n_lefts) * (grid.pilot ? 3 : 2);
  const int threads = static_cast<int>(std::min<Index>(threads_for(work), (bands + 1) / 2));
  std::vector<WorkBuffers<T>> memory;
  std::vector<FilterBuffers<T>> filters;
  for (int k = 0; k < threads; ++k) {
    memory.emplace_back(coder, kernels, grid.n_lefts);
    filters.emplace_back(coder, kernels, grid);
  }
  for (Index parity = 0; parity < 2; ++parity)
    parallel_for((bands + 1 - parity) / 2, threads, [&](Index k, int thread) {
      const Index first = (2 * k + parity) * band, last = std::min(n_tops, first + band);
      kernels.shrink(program, grid, level, sharpness, first, last, out, filters[thread].memory(),
                     memory[thread].workspace());
    });
}

template void shrink<float>(const Coder&, const PatchGrid<float>&, Index, float, float,
                            const Overlay<float>&);
template void shrink<double>(const Coder&, const PatchGrid<double>&, Index, double, double,
                             const Overlay<double>&);

}  // namespace fost
