// The memory of pursuits, as drivers allocate it for each thread.
#pragma once

#include <algorithm>

#include "runtime/blas.hpp"
#include "runtime/buffer.hpp"
#include "drivers/omp.hpp"

namespace fost {

// Signals whose correlations are computed by one product: enough to make packing the atoms
// worth while, few enough to stay in the cache.
constexpr Index MOST_SIGNALS = 256;
constexpr Index LEAST_SIGNALS = 16;
constexpr Index TILE_BYTES = 256 * 1024;

// What the inner products of the atoms that signals side by side have chosen may fill of the caches.
constexpr Index TOGETHER_BYTES = 1024 * 1024;

template <class T> Index tile_of(const Atoms<T>& atoms, Index rows, int s, bool observed) {
  const Index bytes = sizeof(T) * (observed ? Index(atoms.n) * s : Index(atoms.pitch));
  const Index most = std::clamp(TILE_BYTES / bytes, LEAST_SIGNALS, MOST_SIGNALS);
  return rows <= FEW_SIGNALS ? std::max<Index>(rows, 1) : most;
}

template <class T> Index together(const Atoms<T>& atoms, Index rows, int s) {
  const Index bytes = sizeof(T) * Index(atoms.pitch) * s;
  return std::min(std::clamp<Index>(TOGETHER_BYTES / bytes, 1, PURSUITS), std::max<Index>(rows, 1));
}

// The memory behind one PursuitMemory.
template <class T> class PursuitBuffers {
 public:
  PursuitBuffers(const Atoms<T>& atoms, Index tile, Index rows, int s, bool observed, double tol)
      : tile_(tile),
        together_(together(atoms, rows, s)),
        tol_(tol),
        gemm_(rows <= FEW_SIGNALS ? nullptr : gemm<T>()),
        rows_(tile_ * atoms.n),
        correlations_(tile_ * atoms.pitch),
        alpha_(together_ * atoms.pitch),
        factor_(observed ? tile_ * s * s : Index(s) * (s + 1) / 2 * PURSUITS),
        products_(PURSUITS * Index(s)),
        c_((observed ? tile_ : PURSUITS) * s),
        x_(PURSUITS * Index(s)),
        directions_(observed ? tile_ * s * atoms.n : 0),
        observed_(observed ? tile_ * atoms.n : 0),
        scales_(observed && atoms.squares ? tile_ * atoms.pitch : 0),
        left_(observed ? tile_ : 0) {
    // Products fill the first `count` of each row; the others stay zero.
    std::fill_n(correlations_.get(), tile_ * atoms.pitch, T(0));
    if (scales_.get()) std::fill_n(scales_.get(), tile_ * atoms.pitch, T(0));
  }

  // For signals side by side that are pursued by their residuals, without correlations.
  static PursuitBuffers for_residuals(const Atoms<T>& atoms, Index lanes, int s, double tol) {
    return PursuitBuffers(atoms, lanes, s, tol);
  }

  PursuitMemory<T> memory() const {
    return {static_cast<int>(tile_), static_cast<int>(together_), tol_, rows_.get(),
            correlations_.get(), alpha_.get(), factor_.get(), products_.get(), c_.get(), x_.get(),
            directions_.get(), observed_.get(), scales_.get(), left_.get(), gemm_};
  }

 private:
  PursuitBuffers(const Atoms<T>& atoms, Index lanes, int s, double tol)
      : tile_(lanes),
        together_(lanes),
        tol_(tol),
        gemm_(nullptr),
        rows_(lanes * whole(atoms.n, RESIDUAL_PITCH)),
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

  Index tile_, together_;
  double tol_;
  Gemm<T> gemm_;
  Buffer<T> rows_, correlations_, alpha_;
  Buffer<double> factor_, products_, c_, x_;
  Buffer<T> directions_, observed_, scales_;
  Buffer<double> left_;
};

}  // namespace fost
