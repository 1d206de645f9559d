// Shrinkage of blocks with a stride of one in the domain of a DCT and subsequent stages.
//
// The blocks of one row share their columns, and a DCT works axis by axis. A strip of the volume,
// as high and deep as a block:
//   1. Transform the strip across its rows once for all blocks in it.
//   2. Per tile of blocks: transform along rows, apply further stages, threshold, and invert both.
//   3. Add the weighted blocks while columns are still coefficients; invert step 1 once for the
//      sums.
//
// The mean of a block is one of its coefficients, and is always kept. NumPy twin:
// tests/reference.py, shrink_patches.
#pragma once

#include "kernels/patches/shrinkage.hpp"
#include "kernels/patches/transform_filters.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// Whether this algorithm applies to a program and to blocks whose rows have N samples.
template <class T, int N>
bool strips_apply(const Program<T>& program, const BlockGrid<T>& grid, const Workspace<T>& work) {
  if (!program.n_stages || grid.pilot || grid.deviations) return false;
  if (grid.width != N || work.width != WIDTH<T>) return false;
  const Stage<T>& first = program.stages[0];
  if (first.kind != StageKind::cosine || first.is_transposed || !first.count) return false;
  for (int a = 0; a < first.count; ++a)
    if (!first.axes[a].codelet && first.axes[a].length > 1) return false;
  return first.axes[first.count - 1].length == N && are_adjacent(grid.lefts, grid.lefts.count);
}

// Adds adjacent blocks, each one sample further; `own` are vectors of their columns, from column R
// on. Sums beyond the vectors of the tile follow them in `sums`.
template <class T, int N, int R = 0>
FOST_INLINE void add_shifted(const Vec<T> (&own)[UNROLL][N], Vec<T>* sums) {
  if constexpr (R < N) {
    constexpr int L = LANES<T>, S = R % L, FIRST = R / L;
    const Vec<T> zero = {};
#pragma GCC unroll 2
    for (int k = 0; k < UNROLL; ++k)
      sums[FIRST + k] += shifted_up<L, S>(k ? own[k ? k - 1 : 0][R] : zero, own[k][R]);
    if constexpr (S > 0) sums[FIRST + UNROLL] += shifted_up<L, S>(own[UNROLL - 1][R], zero);
    add_shifted<T, N, R + 1>(own, sums);
  }
}

template <class T>
FOST_NOINLINE void add_row(const T* __restrict sums, const T* __restrict weights,
                           const WeightedSums<T>& out, Index count) {
  T* __restrict to = out.sums, * __restrict line = out.weights;
  for (Index i = 0; i < count; ++i) {
    to[i] += sums[i];
    line[i] += weights[i];
  }
}

// The first stage of a program, with a last axis of N samples, on strips; later stages on tiles.
template <class T, int N> class StripPass {
 public:
  StripPass(const Program<T>& program, const BlockGrid<T>& grid, T level,
            const FilterMemory<T>& memory, const Workspace<T>& work)
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
        scales_(line_ + pitch_),
        scales_back_(scales_ + program.n) {
    for (int i = 0; i < 2 * program.n; ++i) scales_[i] = T(1);
    if (!rest_.n_stages) return;
    take_scales(scaled_last<false>(), scales_);
    take_scales(scaled_last<true>(), scales_back_);
  }

  // Adds a row of blocks to the sums; `at` is the offset of the first row of the volume that they
  // cover.
  void add(Index at, const WeightedSums<T>& out) const {
    shrink_strip(at);
    const Index begin = at + grid_.lefts.at[0], covered = grid_.lefts.count + N - 1;
    const T* from = sums_;
    each_row(grid_, [&](Index offset) {
      add_row(from, line_, {out.sums + begin + offset, out.weights + begin + offset}, covered);
      from += pitch_;
    });
  }

  // Takes the momentum step of all rows of the volume that only this row of blocks covers.
  void step(Index at, const MomentumState<T>& state) const {
    shrink_strip(at);
    for (Index i = 0; i < grid_.pitch; ++i) line_[i] = T(1) / line_[i];
    const T* from = sums_;
    each_row(grid_, [&](Index offset) {
      step_row(state, from, line_, at + offset, grid_.pitch);
      state.done[(at + offset) / grid_.pitch] = true;
      from += pitch_;
    });
  }

 private:
  static constexpr int L = LANES<T>;
  static constexpr int BEYOND = (N + L - 1) / L;  // vectors beyond a tile that its blocks reach

  // The weighted sums of the blocks of a strip, and a line of weights.
  void shrink_strip(Index at) const {
    const int count = grid_.lefts.count;
    copy_in(grid_.volume + at + grid_.lefts.at[0], count + N - 1);
    across<false>(strip_);
    for (Index i = 0; i < (rows_ + 1) * BEYOND * L; ++i) memory_.carry[i] = T(0);
    int left = 0;
    for (; left < count; left += WIDTH<T>) {
      std::uint64_t nonzero = 0;
      const T* tile = filter(left, nonzero);
      // Beyond the last block.
      for (int l = count - left; l < WIDTH<T>; ++l) memory_.weights[l] = T(0);
      if (rest_.n_stages)
        add_tile<true>(tile, left, nonzero);
      else
        add_tile<false>(tile, left, nonzero);
    }
    const T* carried = memory_.carry;
    for (int i = 0; i <= rows_; ++i)
      for (int j = 0; j < BEYOND * L; ++j) sums_[i * pitch_ + left + j] = *carried++;
    across<true>(sums_);
  }

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
      const CosineAxis<T>& axis = first_.axes[a];
      const Index inner = axis.stride / N, whole = axis.length * inner;
      if (axis.length > 1)
        for (Index outer = 0; outer < rows_; outer += whole)
          for (Index i = outer; i < outer + inner; ++i)
            run_codelet<T, INVERSE>(axis.length, axis.codelet, strip + i * pitch_, inner * pitch_,
                                    pitch_ / L, L, none);
    }
  }

  // The kept coefficients of blocks, and their weights; returns where they are. (`nonzero` is used
  // for a DCT alone: after inverse rotations, too few rows are zero.)
  const T* filter(int left, std::uint64_t& nonzero) const {
    if (!rest_.n_stages) {
      nonzero = along<true>(left);
      return work_.tile;
    }
    along<false>(left);
    T* tile = run_rest<false>(work_.tile);
    PerLane<T> weights;
    shrink_by_threshold(rest_.n, tile, WIDTH<T>, level_, weights, scales_);
    store_lanes(weights, memory_.weights);
    return run_rest<true>(tile);
  }

  // The bit of row i in a set of rows; the last bit stands for all rows from 63 on.
  static std::uint64_t row_bit(int i) { return std::uint64_t(1) << (i < 63 ? i : 63); }

  // The last axis of the DCT, from the strip to a tile. If no stage follows, coefficients are
  // thresholded at once, and the result is the set of rows with kept coefficients; at high
  // thresholds many rows have none.
  template <bool SHRINKS> std::uint64_t along(int left) const {
    std::uint64_t nonzero = 0;
    const Vec<T> zero = {}, least = zero + level_;
    // No coefficient exceeds sqrt(N) times the largest of its samples.
    static_assert(N <= 16);
    const Vec<T> small = least * T(N <= 8 ? 0.3535 : 0.2499);
    const Index pitch = pitch_;
    const T* tables = tables_;
    for (int k = 0; k < UNROLL; ++k) {
      const T* from = strip_ + left + k * L;
      T* to = work_.tile + k * L;
      Mask<T> kept = {};
      for (int i = 0; i < rows_; ++i, from += pitch, to += N * WIDTH<T>) {
        if constexpr (SHRINKS && N - 1 <= L) {
          const Vec<T> most = maximum<T>(absolute(load(from)), absolute(load(from + N - 1)));
          if (i && !any<T>(Mask<T>(most > small))) {
#pragma GCC unroll 16
            for (int j = 0; j < N; ++j) store(to + j * WIDTH<T>, zero);
            continue;
          }
        }
        Vec<T> x[N];
#pragma GCC unroll 16
        for (int j = 0; j < N; ++j) {
          x[j] = load(from + j);
          if constexpr (N <= 8) keep_in_register(x[j]);
        }
        codelet_forward<T, N>(tables, x);
        if (i == 0) {
          store(memory_.means + k * L, x[0]);
          x[0] = zero;
        }
        const Mask<T> before = kept;
#pragma GCC unroll 16
        for (int j = 0; j < N; ++j)
          store(to + j * WIDTH<T>, SHRINKS ? kept_above<T>(x[j], least, kept) : x[j]);
        if (SHRINKS && any<T>(Mask<T>(kept != before))) nonzero |= row_bit(i);
      }
      if constexpr (SHRINKS) store(memory_.weights + k * L, weight_of<T>(kept));
    }
    return nonzero;
  }

  // The rotations whose scale factors are merged into the next operation, if the last stage has
  // any.
  template <bool INVERSE> const Rotations<T>* scaled_last() const {
    const Stage<T>& stage = rest_.stages[INVERSE ? 0 : rest_.n_stages - 1];
    if (stage.kind != StageKind::rotations) return nullptr;
    return stage.is_transposed != INVERSE ? &stage.inverse : &stage.forward;
  }

  static void take_scales(const Rotations<T>* rotations, T* scales) {
    if (rotations)
      for (int k = 0; k < rotations->n_scaled; ++k)
        scales[rotations->scaled[k]] = rotations->scales[k];
  }

  // All stages but the first, without the factors in `scales_`.
  template <bool INVERSE> T* run_rest(T* tile) const {
    Prefetch none(nullptr, 0);
    const Rotations<T>* last = scaled_last<INVERSE>();
    const int left_out = last != nullptr;
    const Program<T> others = {rest_.n, rest_.n_stages - left_out,
                               rest_.stages + (INVERSE ? left_out : 0)};
    tile = run<T, INVERSE>(others, tile, work_, none);
    if (last) rotate_rows<T, WIDTH<T>>(*last, tile, WIDTH<T>, none);
    return tile;
  }

  // Adds weighted blocks, whose rows are still coefficients, to the sums, and the weights to the
  // line. Without scale factors, zero rows are skipped.
  template <bool SCALES> void add_tile(const T* tile, int left, std::uint64_t nonzero) const {
    const T* scales = scales_back_;
    const T* tables = tables_;
    PerLane<T> weight;
    for (int k = 0; k < UNROLL; ++k) weight.v[k] = load(memory_.weights + k * L);
    T *carried = memory_.carry, *to = sums_ + left;
    for (int i = 0; i <= rows_;
         ++i, tile += N * WIDTH<T>, scales += N, carried += BEYOND * L, to += pitch_) {
      Vec<T> sums[UNROLL + BEYOND] = {};
#pragma GCC unroll 8
      for (int k = 0; k < BEYOND; ++k) sums[k] = load(carried + k * L);
      if (SCALES || i == 0 || i == rows_ || nonzero & row_bit(i)) {
        Vec<T> own[UNROLL][N];
#pragma GCC unroll 2
        for (int k = 0; k < UNROLL; ++k) {
          Vec<T>* x = own[k];
          if (i < rows_) {
#pragma GCC unroll 16
            for (int j = 0; j < N; ++j) {
              x[j] = load(tile + j * WIDTH<T> + k * L);
              if constexpr (SCALES) x[j] *= scales[j];
            }
            if (i == 0) x[0] += load(memory_.means + k * L);
            codelet_inverse<T, N>(tables, x);
          }
#pragma GCC unroll 16
          for (int j = 0; j < N; ++j) x[j] = i < rows_ ? Vec<T>(x[j] * weight.v[k]) : weight.v[k];
        }
        add_shifted<T, N>(own, sums);
      }
#pragma GCC unroll 2
      for (int k = 0; k < UNROLL; ++k) store(to + k * L, sums[k]);
#pragma GCC unroll 8
      for (int k = 0; k < BEYOND; ++k) store(carried + k * L, sums[UNROLL + k]);
    }
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
  T *strip_, *sums_, *line_, *scales_, *scales_back_;
};

}  // namespace FOST_NAMESPACE
}  // namespace fost
