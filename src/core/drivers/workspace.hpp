// Working memory of the kernels, allocated by drivers for each thread.
#pragma once

#include <algorithm>

#include "plans/coder.hpp"
#include "runtime/blas.hpp"
#include "runtime/buffer.hpp"
#include "types/kernel_table.hpp"
#include "types/pursuit.hpp"

namespace fost {

// Signals per tile for plans with BLAS products. BLAS packs the matrix for each product, so the
// tile grows with the matrix (benchmarks/bench_encode.py).
constexpr int DENSE_SIGNALS = 256;
constexpr int MAX_DENSE_SIGNALS = 1024;

// Signals per tile. With BLAS an odd multiple of the kernels' width, so that the features of a
// signal do not map to the same cache sets.
inline int tile_width(const Coder& coder, int width, Index rows) {
  if (!coder.uses_blas) return width;
  const Index enough = (rows + width - 1) / width;
  const Index wanted = std::clamp(coder.n, DENSE_SIGNALS, MAX_DENSE_SIGNALS) / width | 1;
  return width * static_cast<int>(std::clamp<Index>(enough, 1, wanted));
}

// Owner of a Workspace.
template <class T> class WorkBuffers {
 public:
  WorkBuffers(const Coder& coder, const Kernels<T>& kernels, Index rows, bool streams = false)
      : width_(tile_width(coder, kernels.width, rows)),
        tile_(Index(coder.n) * width_),
        second_(coder.has_dense ? Index(coder.n) * width_ : 0),
        scratch_(kernels.scratch_size(coder.n)),
        staged_(streams ? Index(coder.n) * kernels.width : 0) {}

  Workspace<T> workspace() const {
    return {width_, tile_.get(), second_.get(), scratch_.get(), gemm<T>(), staged_.get()};
  }

 private:
  int width_;
  Buffer<T> tile_, second_, scratch_, staged_;
};

// Signals that are coded before they are added to the statistic in parts: few enough to stay in the
// second-level cache, many enough to amortise loading the statistic.
constexpr Index BATCH_BYTES = 256 * 1024;
constexpr Index MAX_PARTS = 8;

template <class T> int batch_signals(const Coder& coder, Index rows) {
  const Index part = part_size<T>(coder.n_members, coder.n);
  const Index parts =
      std::clamp<Index>(BATCH_BYTES / (Index(sizeof(T)) * coder.n * part), 1, MAX_PARTS);
  return static_cast<int>(std::clamp<Index>(rows, 1, parts * part));
}

// Owner of a BatchMemory.
template <class T> class BatchBuffers {
 public:
  BatchBuffers(const Coder& coder, const Kernels<T>& kernels, Index rows, int s)
      : size_(whole_tiles(batch_signals<T>(coder, rows), tile_width(coder, kernels.width, rows))),
        s_(s),
        rows_(Index(coder.n) * size_),
        values_(Index(s) * size_),
        indices_(Index(s) * size_),
        counts_(size_),
        ends_(coder.n_atoms()),
        order_(size_),
        uses_(Index(s) * size_),
        columns_(Index(MAX_COLUMNS) * size_) {}

  BatchMemory<T> memory() const {
    return {size_,       rows_.get(), {values_.get(), indices_.get(), counts_.get(), s_},
            ends_.get(), uses_.get(), columns_.get(),
            order_.get()};
  }

 private:
  static int whole_tiles(int size, int width) { return (size + width - 1) / width * width; }

  int size_, s_;
  Buffer<T> rows_, values_;
  Buffer<std::int32_t> indices_, counts_, ends_, order_;
  Buffer<Use<T>> uses_;
  Buffer<T> columns_;
};

// Owner of a BankMemory; empty for a transform alone.
template <class T> class BankBuffers {
 public:
  BankBuffers(const Coder& coder, const Kernels<T>& kernels, Index rows)
      : width_(coder.n_members ? tile_width(coder, kernels.width, rows) : 0),
        size_(Index(coder.n) * width_),
        numbers_(3 * size_ + (MAX_IN_REGISTERS + 5) * width_),
        offsets_(width_) {}

  BankMemory<T> memory() const {
    T* next = numbers_.get();
    const auto take = [&next](Index count) { return (next += count) - count; };
    return {take(2 * size_), take(size_),  take(MAX_IN_REGISTERS * width_),
            take(width_),    take(width_), take(width_),
            take(width_),    take(width_), offsets_.get()};
  }

 private:
  Index width_, size_;
  Buffer<T> numbers_;
  Buffer<std::int32_t> offsets_;
};

// Approximate time on one thread: forty operations per nanosecond, plus half a nanosecond per
// feature for loading and selection.
inline double nanoseconds(const Coder& coder, Index rows) {
  return static_cast<double>(rows) * (coder.operations / 40 + coder.n / 2.0);
}

// Signals whose correlations are computed by one product: enough to amortise packing the atoms, few
// enough to stay in the cache.
constexpr Index MAX_TILE_SIGNALS = 256;
constexpr Index MIN_TILE_SIGNALS = 16;
constexpr Index TILE_BYTES = 256 * 1024;

// Cache budget for the Gram rows of the atoms chosen by the signals of a batch.
constexpr Index BATCH_GRAM_BYTES = 1024 * 1024;

template <class T> Index tile_of(const Atoms<T>& atoms, Index rows, int s, bool observed) {
  const Index bytes = sizeof(T) * (observed ? Index(atoms.n) * s : Index(atoms.pitch));
  const Index most = std::clamp(TILE_BYTES / bytes, MIN_TILE_SIGNALS, MAX_TILE_SIGNALS);
  return rows <= FEW_SIGNALS ? std::max<Index>(rows, 1) : most;
}

template <class T> Index pursuit_batch(const Atoms<T>& atoms, Index rows, int s) {
  const Index bytes = sizeof(T) * Index(atoms.pitch) * s;
  return std::min(std::clamp<Index>(BATCH_GRAM_BYTES / bytes, 1, BATCH_SIGNALS),
                  std::max<Index>(rows, 1));
}

// Owner of a PursuitMemory.
template <class T> class PursuitBuffers {
 public:
  PursuitBuffers(const Atoms<T>& atoms, Index tile, Index rows, int s, bool observed, double tol)
      : tile_(tile),
        batch_(pursuit_batch(atoms, rows, s)),
        tol_(tol),
        gemm_(rows <= FEW_SIGNALS ? nullptr : gemm<T>()),
        rows_(tile_ * atoms.n),
        correlations_(tile_ * atoms.pitch),
        alpha_(batch_ * atoms.pitch),
        factor_(observed ? tile_ * s * s : Index(s) * (s + 1) / 2 * BATCH_SIGNALS),
        products_(BATCH_SIGNALS * Index(s)),
        c_((observed ? tile_ : BATCH_SIGNALS) * s),
        x_(BATCH_SIGNALS * Index(s)),
        directions_(observed ? tile_ * s * atoms.n : 0),
        observed_(observed ? tile_ * atoms.n : 0),
        scales_(observed && atoms.squares ? tile_ * atoms.pitch : 0),
        left_(observed ? tile_ : 0) {
    // Products fill the first `count` entries of each row; the others stay zero.
    std::fill_n(correlations_.get(), tile_ * atoms.pitch, T(0));
    if (scales_.get()) std::fill_n(scales_.get(), tile_ * atoms.pitch, T(0));
  }

  // For pursuit with explicit residuals, without correlations.
  static PursuitBuffers for_residuals(const Atoms<T>& atoms, Index lanes, int s, double tol) {
    return PursuitBuffers(atoms, lanes, s, tol);
  }

  PursuitMemory<T> memory() const {
    return {static_cast<int>(tile_),
            static_cast<int>(batch_),
            tol_,
            rows_.get(),
            correlations_.get(),
            alpha_.get(),
            factor_.get(),
            products_.get(),
            c_.get(),
            x_.get(),
            directions_.get(),
            observed_.get(),
            scales_.get(),
            left_.get(),
            gemm_};
  }

 private:
  PursuitBuffers(const Atoms<T>& atoms, Index lanes, int s, double tol)
      : tile_(lanes),
        batch_(lanes),
        tol_(tol),
        gemm_(nullptr),
        rows_(lanes * round_up(atoms.n, RESIDUAL_PITCH)),
        correlations_(0),
        alpha_(lanes * s),
        factor_(Index(s) * (s + 1) / 2 * lanes),
        products_(lanes * s),
        c_(lanes * s),
        x_(lanes * s),
        directions_(0),
        observed_(0),
        scales_(0),
        left_(0) {}

  Index tile_, batch_;
  double tol_;
  Gemm<T> gemm_;
  Buffer<T> rows_, correlations_, alpha_;
  Buffer<double> factor_, products_, c_, x_;
  Buffer<T> directions_, observed_, scales_;
  Buffer<double> left_;
};

}  // namespace fost
