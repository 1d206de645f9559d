// The memory that kernels work in, as drivers allocate it for each thread.
#pragma once

#include <algorithm>

#include "runtime/blas.hpp"
#include "runtime/buffer.hpp"
#include "plans/coder.hpp"
#include "types/kernel_table.hpp"

namespace fost {

// Signals per tile of plans with a product by BLAS, which copies the matrix each time, so that
// the tile grows with the matrix to make it worth while (benchmarks/bench_encode.py).
constexpr int DENSE_SIGNALS = 256;
constexpr int MOST_DENSE_SIGNALS = 1024;

// Signals per tile. With BLAS an odd multiple of the kernels' width, so that the
// features of a signal do not fall on the same lines of the cache.
inline int tile_width(const Coder& coder, int width, Index rows) {
  if (!coder.uses_blas) return width;
  const Index enough = (rows + width - 1) / width;
  const Index wanted = std::clamp(coder.n, DENSE_SIGNALS, MOST_DENSE_SIGNALS) / width | 1;
  return width * static_cast<int>(std::clamp<Index>(enough, 1, wanted));
}

// The memory behind one Workspace.
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

// Signals that are coded before they are added up, part by part: few enough to stay in the
// second-level cache, enough for the statistic to come to the first-level cache but now and then.
constexpr Index BATCH_BYTES = 256 * 1024;
constexpr Index MOST_PARTS = 8;

template <class T> int batch_signals(const Coder& coder, Index rows) {
  const Index part = part_size<T>(coder.n_members);
  const Index parts = std::clamp<Index>(BATCH_BYTES / (Index(sizeof(T)) * coder.n * part), 1, MOST_PARTS);
  return static_cast<int>(std::clamp<Index>(rows, 1, parts * part));
}

// The memory behind one BatchMemory.
template <class T> class BatchBuffers {
 public:
  BatchBuffers(const Coder& coder, const Kernels<T>& kernels, Index rows, int s)
      : size_(whole_tiles(batch_signals<T>(coder, rows), tile_width(coder, kernels.width, rows))),
        s_(s),
        rows_(Index(coder.n) * size_),
        values_(Index(s) * size_),
        indices_(Index(s) * size_),
        counts_(size_),
        heads_(coder.n_atoms()),
        order_(size_),
        links_(Index(s) * size_) {}

  BatchMemory<T> memory() const {
    return {size_, rows_.get(), {values_.get(), indices_.get(), counts_.get(), s_}, heads_.get(),
            links_.get(), order_.get()};
  }

 private:
  static int whole_tiles(int size, int width) { return (size + width - 1) / width * width; }

  int size_, s_;
  Buffer<T> rows_, values_;
  Buffer<std::int32_t> indices_, counts_, heads_, order_;
  Buffer<Link> links_;
};

// The memory behind one BankMemory; none for a transform alone.
template <class T> class BankBuffers {
 public:
  BankBuffers(const Coder& coder, const Kernels<T>& kernels, Index rows)
      : width_(coder.n_members ? tile_width(coder, kernels.width, rows) : 0),
        size_(Index(coder.n) * width_),
        numbers_(3 * size_ + (MOST_FEW + 5) * width_),
        offsets_(width_) {}

  BankMemory<T> memory() const {
    T* next = numbers_.get();
    const auto take = [&next](Index count) { return (next += count) - count; };
    return {take(2 * size_), take(size_),  take(MOST_FEW * width_), take(width_), take(width_),
            take(width_),    take(width_), take(width_),            offsets_.get()};
  }

 private:
  Index width_, size_;
  Buffer<T> numbers_;
  Buffer<std::int32_t> offsets_;
};

// Nanoseconds on one thread, roughly: forty operations per nanosecond, and half a nanosecond
// per feature to move it and to look at it.
inline double nanoseconds(const Coder& coder, Index rows) {
  return static_cast<double>(rows) * (coder.operations / 40 + coder.n / 2.0);
}

}  // namespace fost
