// Blocks a sample apart, in the domain of a DCT and of what follows it.
//
// Blocks of one row share their columns, and a DCT works along one axis after another. So a strip of
// the volume, as high and deep as a block, is transformed across its rows once for all blocks in it, and
// what is left for each block are its rows. Backwards likewise: blocks are added up, weighted, where
// columns are still coefficients. The mean of a block is one of its coefficients, which is always kept.
#pragma once

#include "filters.hpp"
#include "shrinkage.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// Whether that is the way for blocks whose rows have N samples.
template <class T, int N>
bool in_strips(const Program<T>& program, const BlockGrid<T>& grid, const Workspace<T>& work) {
  if (!program.n_stages || grid.pilot || grid.width != N || work.width != WIDTH<T>) return false;
  const Places& lefts = grid.lefts;
  const Stage<T>& first = program.stages[0];
  if (first.kind != Kind::cosine || first.backwards || !first.count) return false;
  const CosineAxis<T>& along = first.axes[first.count - 1];
  return along.length == N && along.codelet && side_by_side(lefts, lefts.count);
}

// The first stage of a program, whose last axis has N samples, on strips; the others on tiles.
template <class T, int N> class StripPass {
 public:
  StripPass(const Program<T>& program, const BlockGrid<T>& grid, T level, const FilterMemory<T>& memory,
            const Workspace<T>& work)
      : first_(program.stages[0]),
        rest_{program.n, program.n_stages - 1, program.stages + 1},
        tables_(first_.axes[first_.count - 1].codelet),
        grid_(grid),
        level_(level),
        memory_(memory),
        work_(work),
        rows_(grid.depth * grid.height),
        pitch_(strip_pitch(grid, WIDTH<T>)),
        strip_(memory.strips),
        sums_(strip_ + rows_ * pitch_),
        line_(sums_ + rows_ * pitch_),
        spectra_{strip_, nullptr, grid.height * pitch_, pitch_, grid.depth, grid.height, N, {}, {}, {}} {}

  // Adds a row of blocks; `at` is the way to the first row of the volume that they cover.
  void operator()(Index at, const Overlay<T>& out) const {
    const int count = grid_.lefts.count;
    const Index begin = grid_.lefts.at[0], covered = count + N - 1;
    copy_in(grid_.volume + at + begin, covered);
    across<false>(strip_);
    for (Index i = 0; i < (rows_ + 1) * pitch_; ++i) sums_[i] = T(0);  // and the line
    BlockAdder<T> adder(spectra_, sums_, line_, memory_.carry);
    for (int left = 0; left < count; left += WIDTH<T>) {
      const T* tile = filter(left);
      for (int l = count - left; l < WIDTH<T>; ++l) memory_.weights[l] = T(0);  // beyond the last
      adder.template add_spectra<N>(tables_, tile, memory_.means, memory_.weights, left);
    }
    adder.flush();
    across<true>(sums_);
    add_out(at + begin, covered, out);
  }

 private:
  void copy_in(const T* from, Index covered) const {
    T* to = strip_;
    each_row(grid_, [&](Index offset) {
      for (Index i = 0; i < covered; ++i) to[i] = from[offset + i];
      for (Index i = covered; i < pitch_; ++i) to[i] = T(0);
      to += pitch_;
    });
  }

  // All axes of the DCT but the last.
  template <bool INVERSE> void across(T* strip) const {
    Prefetch none(nullptr, 0);
    for (int a = 0; a + 1 < first_.count; ++a) {
      CosineAxis<T> axis = first_.axes[a];
      axis.stride /= N;
      for (Index i = 0; i < pitch_; i += WIDTH<T>)
        apply_cosine_axis<T, INVERSE>(axis, rows_, strip + i, static_cast<int>(pitch_), work_.scratch, none);
    }
  }

  // The shrunk coefficients of blocks, but the first axes' first, and their weights; where they are.
  const T* filter(int left) const {
    if (rest_.n_stages == 0) {
      along<true>(left);
      return work_.tile;
    }
    along<false>(left);
    Prefetch none(nullptr, 0);
    T* tile = run<T, false>(rest_, work_.tile, work_, none);
    PerLane<T> weights;
    shrink_by_threshold(rest_.n, tile, WIDTH<T>, level_, weights);
    store_lanes(weights, memory_.weights);
    return run<T, true>(rest_, tile, work_, none);
  }

  // The last axis of the DCT, from the strip to a tile. Where nothing follows coefficients are shrunk
  // at once.
  template <bool SHRINKS> void along(int left) const {
    const Vec<T> zero = {}, one = zero + T(1), least = zero + level_;
    for (int k = 0; k < UNROLL; ++k) {
      const T* from = strip_ + left + k * LANES<T>;
      T* to = work_.tile + k * LANES<T>;
      Vec<T> kept = one;
      for (int i = 0; i < rows_; ++i, from += pitch_, to += N * WIDTH<T>) {
        Vec<T> x[N];
#pragma GCC unroll 16
        for (int j = 0; j < N; ++j) {
          x[j] = load(from + j);
          if constexpr (N <= 8) hold(x[j]);
        }
        codelet_forward<T, N>(tables_, x);
        if (i == 0) {
          store(memory_.means + k * LANES<T>, x[0]);
          x[0] = zero;
        }
#pragma GCC unroll 16
        for (int j = 0; j < N; ++j) {
          if constexpr (SHRINKS) {
            const auto keep = absolute(x[j]) > least;
            store(to + j * WIDTH<T>, keep ? x[j] : zero);
            kept += keep ? one : zero;
          } else {
            store(to + j * WIDTH<T>, x[j]);
          }
        }
      }
      if constexpr (SHRINKS) store(memory_.weights + k * LANES<T>, one / kept);
    }
  }

  void add_out(Index at, Index covered, const Overlay<T>& out) const {
    const T* from = sums_;
    each_row(grid_, [&](Index offset) {
      T *__restrict sums = out.sums + at + offset, *__restrict weights = out.weights + at + offset;
      for (Index i = 0; i < covered; ++i) {
        sums[i] += from[i];
        weights[i] += line_[i];
      }
      from += pitch_;
    });
  }

  const Stage<T>& first_;
  Program<T> rest_;
  const T* tables_;
  const BlockGrid<T>& grid_;
  T level_;
  const FilterMemory<T>& memory_;
  const Workspace<T>& work_;
  int rows_;
  Index pitch_;
  T *strip_, *sums_, *line_;
  BlockGrid<T> spectra_;
};

}  // namespace FOST_NAMESPACE
}  // namespace fost
