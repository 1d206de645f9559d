// Bands of blocks that are added in two interleaved phases, so that threads never write the same
// sample at once.
#include "drivers/patches.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "drivers/workspace.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/parallel.hpp"

namespace fost {
namespace {

// Minimum rows of blocks per band, and minimum blocks per band if there is only one row: less would
// be too little work for a thread.
constexpr Index BAND_ROWS = 16;
constexpr Index BAND_BLOCKS = 2048;
// Samples per range of element-wise steps.
constexpr Index STEP_SAMPLES = 16384;

// A grid cut into bands along its outermost axis with several positions. Only adjacent bands
// overlap, since each has at least as many positions as a block is long.
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
  const Positions& places() const { return grid_.*cut_; }

  BlockGrid<T> grid_;
  Positions BlockGrid<T>::* cut_;
  Index size_;
};

// Owner of a FilterMemory.
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
    return {line_.get(),
            carry_.get(),
            take(width_),
            take(width_),
            guides_.get(),
            strips_.get(),
            take(members_ * tile_),
            sum_.get(),
            take(members_ * width_),
            take(width_)};
  }

 private:
  Index width_, tile_, members_;
  Buffer<T> guides_, strips_, sum_, line_, carry_, numbers_;
};

// As `shrink`; with a momentum state, rows of the volume that a single row of blocks covers take
// their step at once.
template <class T>
void run_pass(const Coder& coder, const BlockGrid<T>& grid, T level, T sharpness,
              const WeightedSums<T>& out, const MomentumState<T>* state) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const CoderProgram<T> program = coder.program<T>();
  // All even bands are added concurrently, then all odd ones: every sample is summed in the same
  // order for any number of threads.
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
      kernels.shrink(program, bands[2 * k + parity], level, sharpness, out, state,
                     filters[thread].memory(), memory[thread].workspace());
    });
}

}  // namespace

template <class T>
void shrink(const Coder& coder, const BlockGrid<T>& grid, T level, T sharpness,
            const WeightedSums<T>& out) {
  run_pass<T>(coder, grid, level, sharpness, out, nullptr);
}

template <class T>
void momentum_step(const MomentumState<T>& state, const WeightedSums<T>& towards, Index count) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const Index ranges = (count + STEP_SAMPLES - 1) / STEP_SAMPLES;
  parallel_for(ranges, threads_for(double(count)), [&](Index k, int) {
    kernels.momentum_step(state, towards, k * STEP_SAMPLES,
                          std::min(count, (k + 1) * STEP_SAMPLES));
  });
}

template <class T>
void shrink_and_step(const Coder& coder, const BlockGrid<T>& grid, T level, T sharpness,
                     const WeightedSums<T>& between, MomentumState<T> state, Index rows) {
  const std::unique_ptr<bool[]> done(new bool[rows]());
  state.done = done.get();
  run_pass(coder, grid, level, sharpness, between, &state);
  // The remaining rows, in contiguous runs.
  for (Index first = 0, last; first < rows; first = last) {
    for (last = first + 1; last < rows && done[last] == done[first]; ++last) {}
    if (done[first]) continue;
    const Index from = first * grid.pitch;
    const MomentumState<T> rest = {state.estimate + from, state.velocity + from,
                                   state.missing + from,  state.relaxation,
                                   state.momentum,        nullptr};
    momentum_step<T>(rest, {between.sums + from, between.weights + from},
                     (last - first) * grid.pitch);
  }
}

template void momentum_step<float>(const MomentumState<float>&, const WeightedSums<float>&, Index);
template void momentum_step<double>(const MomentumState<double>&, const WeightedSums<double>&,
                                    Index);
template void shrink_and_step<float>(const Coder&, const BlockGrid<float>&, float, float,
                                     const WeightedSums<float>&, MomentumState<float>, Index);
template void shrink_and_step<double>(const Coder&, const BlockGrid<double>&, double, double,
                                      const WeightedSums<double>&, MomentumState<double>, Index);
template void shrink<float>(const Coder&, const BlockGrid<float>&, float, float,
                            const WeightedSums<float>&);
template void shrink<double>(const Coder&, const BlockGrid<double>&, double, double,
                             const WeightedSums<double>&);

}  // namespace fost
