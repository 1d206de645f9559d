#include "pursuit.hpp"

#include <algorithm>
#include <vector>

#include "blas.hpp"
#include "buffer.hpp"
#include "compress.hpp"
#include "dispatch.hpp"
#include "parallel.hpp"

namespace fost {
namespace {

// Signals whose correlations are computed by one product: enough to make packing the atoms
// worth while, few enough to stay in the cache.
constexpr Index MOST_SIGNALS = 256;
constexpr Index LEAST_SIGNALS = 16;
constexpr Index TILE_BYTES = 256 * 1024;

template <class T> Index tile_of(const Atoms<T>& atoms, int s, bool observed) {
  const Index bytes = sizeof(T) * (observed ? Index(atoms.n) * s : Index(atoms.pitch));
  return std::clamp(TILE_BYTES / bytes, LEAST_SIGNALS, MOST_SIGNALS);
}

// The memory behind one PursuitMemory.
template <class T> class PursuitBuffers {
 public:
  PursuitBuffers(const Atoms<T>& atoms, int s, bool observed, double tol)
      : tile_(tile_of(atoms, s, observed)),
        tol_(tol),
        rows_(tile_ * atoms.n),
        correlations_(tile_ * atoms.pitch),
        alpha_(Index(PURSUITS) * atoms.pitch),
        factor_((observed ? tile_ : PURSUITS) * s * s),
        c_((observed ? tile_ : PURSUITS) * s),
        x_(Index(PURSUITS) * s),
        observed_(observed ? tile_ * atoms.n : 0),
        directions_(observed ? tile_ * s * atoms.n : 0),
        scales_(observed && atoms.squares ? tile_ * atoms.pitch : 0),
        left_(observed ? tile_ : 0) {
    // Products fill the first `count` of each row; the others stay zero.
    std::fill_n(correlations_.get(), tile_ * atoms.pitch, T(0));
    if (scales_.get()) std::fill_n(scales_.get(), tile_ * atoms.pitch, T(0));
  }

  PursuitMemory<T> memory() const {
    return {static_cast<int>(tile_), tol_, rows_.get(), correlations_.get(), alpha_.get(),
            factor_.get(), c_.get(), x_.get(), observed_.get(), directions_.get(), scales_.get(),
            left_.get(), gemm<T>()};
  }

 private:
  Index tile_;
  double tol_;
  Buffer<T> rows_, correlations_, alpha_;
  Buffer<double> factor_, c_, x_;
  Buffer<T> observed_, directions_, scales_;
  Buffer<double> left_;
};

// Nanoseconds on one thread, roughly.
template <class T> double nanoseconds(const Atoms<T>& atoms, Index rows, int s, bool observed) {
  const double product = double(atoms.count) * atoms.n / 20;
  const double steps = s * (60.0 + s * double(observed ? atoms.n : atoms.pitch) / 16);
  return double(rows) * (product * (observed ? s : 1) + steps);
}

}  // namespace

template <class T, class I>
Index pursue(const Atoms<T>& atoms, const View<const T>& y, const View<const bool>* missing, int s,
             double tol, T* values, std::int32_t* indices, I* indptr) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const int threads = threads_for(nanoseconds(atoms, y.rows, s, missing != nullptr));
  std::vector<PursuitBuffers<T>> buffers;
  for (int k = 0; k < threads; ++k) buffers.emplace_back(atoms, s, missing != nullptr, tol);
  const Buffer<std::int32_t> counts(y.rows);
  const Codes<T> codes = {values, indices, counts.get(), s};
  const Index width = buffers[0].memory().tile, tiles = (y.rows + width - 1) / width;
  std::atomic<bool> finite{true};
  // One tile each, whatever the number of threads: BLAS may round a product of another size
  // differently.
  parallel_for(tiles, threads, [&](Index k, int thread) {
    const Index first = k * width, last = std::min(y.rows, first + width);
    const PursuitMemory<T> memory = buffers[thread].memory();
    const bool fine = missing
        ? kernels.pursue_observed(atoms, y, *missing, first, last, codes, memory)
        : kernels.pursue(atoms, y, first, last, codes, memory);
    if (!fine) finite = false;
  });
  return finite ? compress(codes, y.rows, indptr) : -1;
}

template <class T>
void sweep_atoms(const AtomUses<T>& uses, int n, const std::int32_t* order, int count, T* atoms,
                 T* residual) {
  const Buffer<double> direction(n);
  const Buffer<T> atom(n);
  kernels<T>().sweep_atoms(uses, n, order, count, atoms, residual, direction.get(), atom.get());
}

#define FOST_INSTANTIATE(T)                                                                   \
  template Index pursue<T, std::int32_t>(const Atoms<T>&, const View<const T>&,               \
                                         const View<const bool>*, int, double, T*,            \
                                         std::int32_t*, std::int32_t*);                       \
  template Index pursue<T, std::int64_t>(const Atoms<T>&, const View<const T>&,               \
                                         const View<const bool>*, int, double, T*,            \
                                         std::int32_t*, std::int64_t*);                       \
  template void sweep_atoms<T>(const AtomUses<T>&, int, const std::int32_t*, int, T*, T*);
FOST_INSTANTIATE(float)
FOST_INSTANTIATE(double)

}  // namespace fost
