// The memory that kernels work in, as drivers allocate it for each thread.
#pragma once

#include <algorithm>

#include "blas.hpp"
#include "buffer.hpp"
#include "kernels.hpp"

namespace fost {

// Signals per tile of plans with a product by BLAS, which copies the matrix each time, so that
// the tile grows with the matrix to make it worth while (benchmarks/bench_encode.py).
constexpr int DENSE_SIGNALS = 256;
constexpr int MOST_DENSE_SIGNALS = 1024;
// Codes of this many signals are collected before they are added to the statistic: signals
// of 64 features then take 64 KiB.
template <class T> constexpr int BATCH = 1024 / static_cast<int>(sizeof(T));

// Signals per tile. With BLAS an odd multiple of the kernels' width, so that the
// features of a signal do not fall on the same lines of the cache.
inline int tile_width(const Demands& plan, int width, Index rows) {
  if (!plan.uses_blas) return width;
  const Index enough = (rows + width - 1) / width;
  const Index wanted = std::clamp(plan.n, DENSE_SIGNALS, MOST_DENSE_SIGNALS) / width | 1;
  return width * static_cast<int>(std::clamp<Index>(enough, 1, wanted));
}

// The memory behind one Workspace; `heads` adds the room that statistics need.
template <class T> class Memory {
 public:
  // `heads` is the number of rows of the statistic, where there is one.
  Memory(const Demands& plan, const Kernels<T>& kernels, Index rows, int s = 0, Index heads = 0)
      : width_(tile_width(plan, kernels.width, rows)),
        batch_(heads ? (BATCH<T> + width_ - 1) / width_ * width_ : 0),
        s_(s),
        tile_(Index(plan.n) * width_),
        second_(plan.has_dense ? Index(plan.n) * width_ : 0),
        scratch_(kernels.scratch_size(plan.n)),
        rows_(Index(plan.n) * batch_),
        values_(Index(s) * batch_),
        indices_(Index(s) * batch_),
        counts_(batch_),
        heads_(heads),
        links_(Index(s) * batch_) {}

  Workspace<T> workspace() const {
    return {width_,
            tile_.get(),
            second_.get(),
            scratch_.get(),
            rows_.get(),
            {values_.get(), indices_.get(), counts_.get(), s_},
            batch_,
            heads_.get(),
            links_.get(),
            gemm<T>()};
  }

 private:
  int width_, batch_, s_;
  Buffer<T> tile_, second_, scratch_, rows_, values_;
  Buffer<std::int32_t> indices_, counts_, heads_;
  Buffer<Link> links_;
};

// Nanoseconds on one thread, roughly: forty operations per nanosecond, and half a nanosecond
// per feature to move it and to look at it.
inline double nanoseconds(const Demands& plan, Index rows) {
  return static_cast<double>(rows) * (plan.operations / 40 + plan.n / 2.0);
}

}  // namespace fost
