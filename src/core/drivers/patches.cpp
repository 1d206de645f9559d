#include "drivers/patches.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "runtime/dispatch.hpp"
#include "runtime/parallel.hpp"
#include "drivers/workspace.hpp"

namespace fost {
namespace {

// Rows of blocks in a band, at least, and blocks where there is one row only: fewer would be too
// little work for a thread.
constexpr Index BAND_ROWS = 16;
constexpr Index BAND_BLOCKS = 2048;
// Samples of a range where each is by itself.
constexpr Index STEP_SAMPLES = 16384;

// A grid cut into bands along the outermost axis with several places. Bands overlap their
// neighbours only, since each has at least as many places as a block is long.
template <class T> class Bands {
 public:
  explicit Bands(const BlockGrid<T>& grid) : grid_(grid) {
    Index length, least;
    if (grid.fronts.count > 1) {
      cut_ = &BlockGrid<T>::fronts, length = grid.depth;
      least = (BAND_ROWS + grid.tops.count - 1) / grid.tops.count;
    } else if (grid.tops.count > 1) {
      cut_ = &BlockGrid<T>::tops, length = grid.height, least = BAND_ROWS;
    } else {
      cut_ = &BlockGrid<T>::lefts, length = grid.width, least = BAND_BLOCKS;
    }
    size_ = std::max(length, least);
  }

  Index count() const { return (places().count + size_ - 1) / size_; }

  BlockGrid<T> operator[](Index k) const {
    BlockGrid<T> band = grid_;
    band.*cut_ = places().part(k * size_, std::min<Index>(places().count, (k + 1) * size_));
    return band;
  }

 private:
  const Places& places() const { return grid_.*cut_; }

  BlockGrid<T> grid_;
  Places BlockGrid<T>::*cut_;
  Index size_;
};

// The memory behind one FilterMemory.
template <class T> class FilterBuffers {
 public:
  FilterBuffers(const Coder& coder, const Kernels<T>& kernels, const BlockGrid<T>& grid)
      : width_(tile_width(coder, kernels.width, grid.lefts.count)),
        tile_(coder.n * width_),
        members_(coder.n_members),
        guides_(grid.pilot ? coder.n_atoms() * width_ : 0),
        strips_(strip_size(grid, kernels.width)),
        sum_(members_ ? tile_ : 0),
        line_(grid.pitch),
        carry_((Index(grid.depth) * grid.height + 1) * (grid.width + kernels.width)),
        numbers_(3 * width_ + members_ * (tile_ + width_)) {}

  FilterMemory<T> memory() const {
    T* next = numbers_.get();
    const auto take = [&next](Index count) { return (next += count) - count; };
    return {line_.get(),   carry_.get(),           take(width_), take(width_),            guides_.get(),
            strips_.get(), take(members_ * tile_), sum_.get(),   take(members_ * width_), take(width_)};
  }

 private:
  Index width_, tile_, members_;
  Buffer<T> guides_, strips_, sum_, line_, carry_, numbers_;
};

// As `shrink`; with a motion, rows of the volume that one row of blocks covers go on at once.
template <class T>
void run_pass(const Coder& coder, const BlockGrid<T>& grid, T level, T sharpness, const Overlay<T>& out,
              const Motion<T>* motion) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const CoderProgram<T> program = coder.program<T>();
  // All even bands can be added at the same time, then all odd ones, and every sample is summed up
  // in the same order whatever the number of threads.
  const Bands<T> bands(grid);
  const Index blocks = Index(grid.fronts.count) * grid.tops.count * grid.lefts.count;
  const double work = nanoseconds(coder, blocks) * (grid.pilot ? 3 : 2);
  const int threads = static_cast<int>(std::min<Index>(threads_for(work), (bands.count() + 1) / 2));
  std::vector<WorkBuffers<T>> memory;
  std::vector<FilterBuffers<T>> filters;
  for (int k = 0; k < threads; ++k) {
    memory.emplace_back(coder, kernels, grid.lefts.count);
    filters.emplace_back(coder, kernels, grid);
  }
  for (Index parity = 0; parity < 2; ++parity)
    parallel_for((bands.count() + 1 - parity) / 2, threads, [&](Index k, int thread) {
      kernels.shrink(program, bands[2 * k + parity], level, sharpness, out, motion,
                     filters[thread].memory(), memory[thread].workspace());
    });
}

}  // namespace

template <class T>
void shrink(const Coder& coder, const BlockGrid<T>& grid, T level, T sharpness,
            const Overlay<T>& out) {
  run_pass<T>(coder, grid, level, sharpness, out, nullptr);
}

template <class T>
void advance(const Motion<T>& motion, const Overlay<T>& towards, Index count) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const Index ranges = (count + STEP_SAMPLES - 1) / STEP_SAMPLES;
  parallel_for(ranges, threads_for(double(count)), [&](Index k, int) {
    kernels.advance(motion, towards, k * STEP_SAMPLES, std::min(count, (k + 1) * STEP_SAMPLES));
  });
}

template <class T>
void shrink_on(const Coder& coder, const BlockGrid<T>& grid, T level, T sharpness,
               const Overlay<T>& between, Motion<T> motion, Index rows) {
  const std::unique_ptr<bool[]> done(new bool[rows]());
  motion.done = done.get();
  run_pass(coder, grid, level, sharpness, between, &motion);
  // The others, as many in a row as there are.
  for (Index first = 0, last; first < rows; first = last) {
    for (last = first + 1; last < rows && done[last] == done[first]; ++last) {}
    if (done[first]) continue;
    const Index from = first * grid.pitch;
    const Motion<T> rest = {motion.estimate + from, motion.velocity + from, motion.missing + from,
                            motion.relaxation, motion.momentum, nullptr};
    advance<T>(rest, {between.sums + from, between.weights + from}, (last - first) * grid.pitch);
  }
}

template void advance<float>(const Motion<float>&, const Overlay<float>&, Index);
template void advance<double>(const Motion<double>&, const Overlay<double>&, Index);
template void shrink_on<float>(const Coder&, const BlockGrid<float>&, float, float, const Overlay<float>&,
                               Motion<float>, Index);
template void shrink_on<double>(const Coder&, const BlockGrid<double>&, double, double,
                                const Overlay<double>&, Motion<double>, Index);
template void shrink<float>(const Coder&, const BlockGrid<float>&, float, float,
                            const Overlay<float>&);
template void shrink<double>(const Coder&, const BlockGrid<double>&, double, double,
                             const Overlay<double>&);

}  // namespace fost
