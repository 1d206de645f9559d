// Passes over a range of signals: load a tile, run the stages, use the result. Compiled
// once per instruction set; see simd.hpp for what may be used here.
#include "kernels.hpp"

#include "atom_sweep.hpp"
#include "bank.hpp"
#include "dct.hpp"
#include "dense.hpp"
#include "givens.hpp"
#include "householder.hpp"
#include "omp.hpp"
#include "omp_observed.hpp"
#include "reflector_sweep.hpp"
#include "rotation_sweep.hpp"
#include "select.hpp"
#include "shrinkage.hpp"
#include "statistic.hpp"
#include "tile.hpp"

namespace fost {
namespace FOST_NAMESPACE {
namespace {

// out (n x width) = U^T tile, or U tile for the inverse. Tiles are column-major width x n.
template <class T, bool INVERSE>
void apply_dense(const Stage<T>& stage, int n, T* tile, T* out, const Workspace<T>& work,
                 Prefetch& ahead) {
  if (stage.transposed) {
    for (int lane = 0; lane < work.width; lane += WIDTH<T>)
      multiply_tile(INVERSE ? stage.transposed : stage.matrix, n, tile + lane, out + lane,
                    work.width, ahead);
    return;
  }
  char no = 'N', side = INVERSE ? 'N' : 'T';
  int width = work.width;
  T one = 1, zero = 0;
  work.gemm(&no, &side, &width, &n, &n, &one, tile, &width, const_cast<T*>(stage.matrix), &n,
            &zero, out, &width);
}

template <class T, bool INVERSE>
void apply_in_lanes(const Stage<T>& stage, int n, T* lanes, const Workspace<T>& work,
                    Prefetch& ahead) {
  switch (stage.kind) {
    case Kind::reflectors: return apply_reflectors<T, INVERSE>(stage, n, lanes, work.width, ahead);
    case Kind::rotations: return apply_rotations<T, INVERSE>(stage, lanes, work.width, ahead);
    default: return apply_cosine<T, INVERSE>(stage, n, lanes, work.width, work.scratch, ahead);
  }
}

// Runs the stages on `tile`, one of the two of the workspace, and returns where the result is.
template <class T, bool INVERSE>
T* run(const Program<T>& program, T* tile, const Workspace<T>& work, Prefetch& ahead) {
  T* other = tile == work.tile ? work.second : work.tile;
  for (int k = 0; k < program.n_stages; ++k) {
    const Stage<T>& stage = program.stages[INVERSE ? program.n_stages - 1 - k : k];
    if (stage.kind == Kind::dense) {
      apply_dense<T, INVERSE>(stage, program.n, tile, other, work, ahead);
      T* swap = tile;
      tile = other;
      other = swap;
    } else {
      for (int lane = 0; lane < work.width; lane += WIDTH<T>)
        apply_in_lanes<T, INVERSE>(stage, program.n, tile + lane, work, ahead);
    }
  }
  return tile;
}

int rows_at(Index row, Index last, int width) {
  return static_cast<int>(last - row < width ? last - row : width);
}

template <class T>
bool apply(const Program<T>& program, bool inverse, const View<const T>& y, const View<T>& x,
           Index first, Index last, const Workspace<T>& work) {
  bool finite = true;
  for (Index row = first; row < last; row += work.width) {
    const int rows = rows_at(row, last, work.width);
    load_tile(y, row, rows, work.tile, work.width);
    Prefetch ahead = next_tile(y, row, last, work.width);
    const T* tile = inverse ? run<T, true>(program, work.tile, work, ahead)
                            : run<T, false>(program, work.tile, work, ahead);
    finite &= all_finite(tile, static_cast<Index>(program.n) * work.width, ahead);
    store_tile(tile, work.width, x, row, rows);
  }
  return finite;
}

// Codes of the signals in work.tile: T_s of their transform ...
template <class T> struct TransformCoder {
  Program<T> program;
  int n_rows() const { return program.n; }
  bool operator()(int rows, const Codes<T>& codes, const Workspace<T>& work, Prefetch& ahead) const {
    const T* tile = run<T, false>(program, work.tile, work, ahead);
    return select_tile<T>(tile, work.width, program.n, rows, codes, work.scratch, ahead);
  }
};

// ... or of that member of a bank which keeps the most energy.
template <class T> struct BankCoder {
  BankProgram<T> program;
  BankMemory<T> memory;
  Workspace<T> work;  // of members
  int n_rows() const { return program.base.n * program.count; }

  // Signals need not be copied to the board where they can be loaded to it.
  Workspace<T> for_signals() const {
    Workspace<T> outer = work;
    if (work.width == WIDTH<T>) outer.tile = memory.board;
    return outer;
  }

  bool operator()(int rows, const Codes<T>& codes, const Workspace<T>& outer, Prefetch& ahead) const {
    const T* tile = run<T, false>(program.base, outer.tile, outer, ahead);
    const bool sound = with_constant(codes.s, [&](auto s) {
      return try_members<decltype(s)::value>(tile, codes.s, ahead);
    });
    Codes<T> next = codes;
    for (int lane = 0; lane < rows; lane += WIDTH<T>, advance(next, WIDTH<T>)) {
      const BankMemory<T> here = memory_at(memory, program.base.n, lane);
      if (!sound && !all_finite<T>(here.chosen, program.base.n * WIDTH<T>, ahead)) return false;
      write(here, rows - lane < WIDTH<T> ? rows - lane : WIDTH<T>, next);
    }
    return true;
  }

  // False where an entry may not be finite.
  template <int S>
  bool try_members(const T* tile, int s, Prefetch& ahead) const {
    const int n = program.base.n;
    bool sound = true, open = true;
    for (int lane = 0; lane < work.width; lane += WIDTH<T>) {
      const BankMemory<T> here = memory_at(memory, n, lane);
      if (tile != here.board) copy_lanes(tile + lane, work.width, here.board, WIDTH<T>, n);
      sound &= Contest<T, S>{program, here, s, work.scratch}.open();
    }
    for (int b = 0; b < program.count && open; ++b) {
      const BankMember<T>& member = program.members[b];
      const T* result = member.rotates ? nullptr : apply_member(member, ahead);
      open = false;
      for (int lane = 0; lane < work.width; lane += WIDTH<T>) {
        const BankMemory<T> here = memory_at(memory, n, lane);
        const Contest<T, S> contest = {program, here, s, work.scratch};
        const T* x = here.board;
        if (member.rotates) {
          turn_rows<T, WIDTH<T>>(member.rotations, here.board, WIDTH<T>, ahead);
        } else if (work.width == WIDTH<T>) {
          x = result;
        } else {
          x += n * WIDTH<T>;
          copy_lanes(result + lane, work.width, here.board + n * WIDTH<T>, WIDTH<T>, n);
        }
        if (b)
          contest.enter(b, x);
        else
          contest.enter_first(x);
        open |= contest.is_open();
      }
    }
    return sound;
  }

  const T* apply_member(const BankMember<T>& member, Prefetch& ahead) const {
    const int n = program.base.n;
    for (int lane = 0; lane < work.width; lane += WIDTH<T>)
      copy_lanes(memory_at(memory, n, lane).board, WIDTH<T>, work.tile + lane, work.width, n);
    return run<T, false>(member.program, work.tile, work, ahead);
  }

  void write(const BankMemory<T>& here, int rows, const Codes<T>& codes) const {
    const int n = program.base.n;
    for (int l = 0; l < WIDTH<T>; ++l)
      here.offsets[l] = static_cast<std::int32_t>(here.winners[l]) * n;
    collect_tile<T>(here.chosen, WIDTH<T>, n, rows, codes, here.levels, here.offsets);
  }
};

template <class T, class Coder>
bool encode_with(const Coder& coder, const View<const T>& y, Index first, Index last,
                 const Codes<T>& codes, const Workspace<T>& work) {
  bool finite = true;
  for (Index row = first; row < last; row += work.width) {
    const int rows = rows_at(row, last, work.width);
    load_tile(y, row, rows, work.tile, work.width);
    Prefetch ahead = next_tile(y, row, last, work.width);
    const Codes<T> here = {codes.values + row * codes.s, codes.indices + row * codes.s,
                           codes.counts + row, codes.s};
    finite &= coder(rows, here, work, ahead);
  }
  return finite;
}

template <class T>
bool encode(const Program<T>& program, const View<const T>& y, Index first, Index last,
            const Codes<T>& codes, const Workspace<T>& work) {
  return encode_with<T>(TransformCoder<T>{program}, y, first, last, codes, work);
}

template <class T>
bool encode_bank(const BankProgram<T>& program, const BankMemory<T>& memory,
                 const View<const T>& y, Index first, Index last, const Codes<T>& codes,
                 const Workspace<T>& work) {
  const BankCoder<T> coder = {program, memory, work};
  return encode_with<T>(coder, y, first, last, codes, coder.for_signals());
}

template <class T>
void decode(const Program<T>& program, const SparseRows<T>& codes, const View<T>& x,
            Index first, Index last, const Workspace<T>& work) {
  for (Index row = first; row < last; row += work.width) {
    const int rows = rows_at(row, last, work.width);
    load_codes(codes, row, rows, program.n, work.tile, work.width);
    Prefetch none(nullptr, 0);
    store_tile<T>(run<T, true>(program, work.tile, work, none), work.width, x, row, rows);
  }
}

template <class T>
void sum_atoms(const T* atoms, const SparseRows<T>& codes, const View<T>& x, Index first,
               Index last) {
  const Index n = x.columns;
  for (Index row = first; row < last; ++row) {
    T* out = x.data + row * x.row_stride;
    for (Index i = 0; i < n; ++i) out[i] = T(0);
    for (std::int64_t k = codes.indptr[row]; k < codes.indptr[row + 1]; ++k) {
      const T* atom = atoms + codes.indices[k] * n;
      const T value = codes.values[k];
      Index i = 0;
      for (; i + LANES<T> <= n; i += LANES<T>)
        store(out + i, load(out + i) + value * load(atom + i));
      for (; i < n; ++i) out[i] += value * atom[i];
    }
  }
}

template <class T, class Coder>
bool accumulate_with(const Coder& coder, const View<const T>& y, Index first, Index last,
                     Statistic& sums, const Workspace<T>& work) {
  const int n = static_cast<int>(y.columns);
  const bool direct = y.column_stride == 1;
  const View<T> rows = {work.rows, work.batch, n, n, 1};
  for (Index begin = first; begin < last; begin += work.batch) {
    const Index end = begin + rows_at(begin, last, work.batch);
    Codes<T> codes = work.codes;
    for (Index row = begin; row < end; row += work.width) {
      const int here = rows_at(row, end, work.width);
      load_tile(y, row, here, work.tile, work.width);
      if (!direct) store_tile<T>(work.tile, work.width, rows, row - begin, here);
      Prefetch ahead = next_tile(y, row, last, work.width);
      if (!coder(here, codes, work, ahead)) return false;
      advance(codes, work.width);
    }
    const int count = static_cast<int>(end - begin);
    const T* signals = direct ? y.data + begin * y.row_stride : work.rows;
    add_outer_products<T>({signals, direct ? y.row_stride : n, count, n, coder.n_rows(), work.codes,
                           work.heads, work.links}, sums);
  }
  return true;
}

template <class T>
bool accumulate(const Program<T>& program, const View<const T>& y, Index first, Index last,
                Statistic& sums, const Workspace<T>& work) {
  return accumulate_with<T>(TransformCoder<T>{program}, y, first, last, sums, work);
}

template <class T>
bool accumulate_bank(const BankProgram<T>& program, const BankMemory<T>& memory,
                     const View<const T>& y, Index first, Index last, Statistic& sums,
                     const Workspace<T>& work) {
  const BankCoder<T> coder = {program, memory, work};
  return accumulate_with<T>(coder, y, first, last, sums, coder.for_signals());
}

template <class T> void square_tile(const T* tile, T* squares, Index size) {
  for (Index i = 0; i < size; ++i) squares[i] = tile[i] * tile[i];
}

// Patches without their means, filtered in the domain of a transform ...
template <class T> struct TransformFilter {
  Program<T> program;
  T level;
  bool guided;
  T* guide;  // n x width, squared coefficients of the estimate that guides

  // The patches of that estimate are in work.tile.
  void look(const Workspace<T>& work) const {
    Prefetch none(nullptr, 0);
    square_tile(run<T, false>(program, work.tile, work, none), guide, size(work));
  }

  // Those to be filtered are in work.tile. Returns where they are then, and their weights.
  T* operator()(T* weights, const Workspace<T>& work) const {
    Prefetch none(nullptr, 0);
    T* tile = run<T, false>(program, work.tile, work, none);
    for (int lane = 0; lane < work.width; lane += WIDTH<T>)
      shrink_lanes(tile + lane, guide + lane, weights + lane, work.width);
    return run<T, true>(program, tile, work, none);
  }

  Index size(const Workspace<T>& work) const { return static_cast<Index>(program.n) * work.width; }

  void shrink_lanes(T* tile, const T* squares, T* weights, int width) const {
    PerLane<T> lanes;
    if (guided)
      shrink_by_guide(program.n, tile, squares, width, level, lanes);
    else
      shrink_by_threshold(program.n, tile, width, level, lanes);
    store_lanes(lanes, weights);
  }
};

// ... or in those of all members of a bank: the mean of what they make of a patch, in which those
// that suit it count more. (To choose the best alone is worse: in noise, which one is best is
// chance.)
template <class T> struct BankFilter {
  BankProgram<T> program;
  BankFilterMemory<T> memory;
  T level, sharpness;
  bool guided;

  void look(const Workspace<T>& work) const {
    each_member(work, [&](int b, const T* tile) { square_tile(tile, memory.guides + b * size(work), size(work)); });
  }

  T* operator()(T* weights, const Workspace<T>& work) const {
    const int width = work.width, count = program.count;
    each_member(work, [&](int b, const T* tile) {
      copy_tile(tile, memory.coefficients + b * size(work), size(work));
      for (int lane = 0; lane < width; lane += WIDTH<T>) {
        PerLane<T> lanes;
        if (guided)
          guide_costs(program.base.n, memory.guides + b * size(work) + lane, width, level, lanes);
        else
          threshold_costs(program.base.n, tile + lane, width, level, lanes);
        store_lanes(lanes, memory.beliefs + b * width + lane);
      }
    });
    for (int lane = 0; lane < width; lane += LANES<T>) {
      T* costs = memory.beliefs + lane;
      Vec<T> least = load(costs);
      for (int b = 1; b < count; ++b) least = minimum<T>(least, load(costs + b * width));
      Vec<T> sum = {};
      for (int b = 0; b < count; ++b) {
        const Vec<T> share = belief<T>((load(costs + b * width) - least) * sharpness);
        store(costs + b * width, share);
        sum += share;
      }
      for (int b = 0; b < count; ++b) store(costs + b * width, load(costs + b * width) / sum);
    }
    for (Index i = 0; i < size(work); ++i) memory.sum[i] = T(0);
    for (int l = 0; l < width; ++l) weights[l] = T(0);
    for (int b = 0; b < count; ++b) add_member(b, weights, work);
    for (int lane = 0; lane < width; lane += LANES<T>)
      for (int i = 0; i < program.base.n; ++i) {
        const Index at = i * static_cast<Index>(width) + lane;
        store(work.tile + at, load(memory.sum + at) / load(weights + lane));
      }
    Prefetch none(nullptr, 0);
    return run<T, true>(program.base, work.tile, work, none);
  }

  Index size(const Workspace<T>& work) const { return static_cast<Index>(program.base.n) * work.width; }

  // The base once, then use(b, coefficients in member b).
  template <class Use> void each_member(const Workspace<T>& work, const Use& use) const {
    Prefetch none(nullptr, 0);
    copy_tile<T>(run<T, false>(program.base, work.tile, work, none), memory.sum, size(work));
    for (int b = 0; b < program.count; ++b) {
      copy_tile<T>(memory.sum, work.tile, size(work));
      use(b, run<T, false>(program.members[b].program, work.tile, work, none));
    }
  }

  // Adds what member b makes of the patches, back in the domain of the base.
  void add_member(int b, T* weights, const Workspace<T>& work) const {
    const int n = program.base.n, width = work.width;
    T* belief = memory.beliefs + b * width;
    bool any = false;
    for (int l = 0; l < width; ++l) any |= belief[l] > 0;
    if (!any) return;
    const TransformFilter<T> filter = {program.members[b].program, level, guided, nullptr};
    copy_tile<T>(memory.coefficients + b * size(work), work.tile, size(work));
    for (int lane = 0; lane < width; lane += WIDTH<T>)
      filter.shrink_lanes(work.tile + lane, memory.guides + b * size(work) + lane, memory.weights + lane, width);
    for (int l = 0; l < width; ++l) {
      belief[l] *= memory.weights[l];
      weights[l] += belief[l];
    }
    Prefetch none(nullptr, 0);
    const T* tile = run<T, true>(filter.program, work.tile, work, none);
    for (int i = 0; i < n; ++i)
      for (int lane = 0; lane < width; lane += LANES<T>) {
        const Index at = i * static_cast<Index>(width) + lane;
        store(memory.sum + at, load(memory.sum + at) + load(belief + lane) * load(tile + at));
      }
  }
};

template <class T, class Filter>
void shrink_with(const Filter& filter, const PatchGrid<T>& grid, Index first, Index last,
                 const Overlay<T>& out, T* line, T* lanes, const Workspace<T>& work) {
  const int n = grid.height * grid.width;
  T *means = lanes, *weights = lanes + work.width;
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
void shrink(const Program<T>& program, const PatchGrid<T>& grid, T level, Index first, Index last,
            const Overlay<T>& out, const FilterMemory<T>& memory, const Workspace<T>& work) {
  const TransformFilter<T> filter = {program, level, grid.pilot != nullptr, memory.guide};
  shrink_with<T>(filter, grid, first, last, out, memory.line, memory.lanes, work);
}

template <class T>
void shrink_bank(const BankProgram<T>& program, const BankFilterMemory<T>& bank,
                 const PatchGrid<T>& grid, T level, T sharpness, Index first, Index last,
                 const Overlay<T>& out, const FilterMemory<T>& memory, const Workspace<T>& work) {
  const BankFilter<T> filter = {program, bank, level, sharpness, grid.pilot != nullptr};
  shrink_with<T>(filter, grid, first, last, out, memory.line, memory.lanes, work);
}

template <class T> Index scratch_size(Index n) {
  return cosine_scratch<T>(n) > select_scratch<T>(n) ? cosine_scratch<T>(n) : select_scratch<T>(n);
}

template <class T> constexpr Kernels<T> table() {
  return {WIDTH<T>,
          scratch_size<T>,
          Clean<apply<T>>::call,
          Clean<encode<T>>::call,
          Clean<decode<T>>::call,
          Clean<sum_atoms<T>>::call,
          Clean<accumulate<T>>::call,
          Clean<squared_norms<T>>::call,
          Clean<upper_inner_products<T>>::call,
          Clean<pursue<T>>::call,
          Clean<pursue_observed<T>>::call,
          Clean<sweep_atoms<T>>::call,
          Clean<shrink<T>>::call,
          Clean<encode_bank<T>>::call,
          Clean<accumulate_bank<T>>::call,
          Clean<shrink_bank<T>>::call};
}

}  // namespace

extern const Kernels<float> single = table<float>();
extern const Kernels<double> full = table<double>();
extern const Algebra algebra = {Clean<sweep_reflectors>::call, Clean<lowest_eigenvectors>::call,
                                Clean<sweep_rotations>::call};

}  // namespace FOST_NAMESPACE
}  // namespace fost
