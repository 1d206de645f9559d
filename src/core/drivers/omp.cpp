// Gram matrices, tiles of signals and threads for pursuit.
#include "drivers/omp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "drivers/csr.hpp"
#include "drivers/workspace.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/parallel.hpp"

namespace fost {
namespace {

constexpr int BLOCK = 16;  // rows of the Gram matrix that are computed, or mirrored, together

// Approximate time on one thread.
template <class T> double nanoseconds(const Atoms<T>& atoms, Index rows, int s, bool observed) {
  const double product = double(atoms.count) * atoms.n / 20;
  const double steps = s * (60.0 + s * double(observed ? atoms.n : atoms.pitch) / 24);
  return double(rows) * (product * (observed ? s : 1) + steps);
}

// The same for the steps of Batch-OMP alone.
template <class T> double pursuit_nanoseconds(const Atoms<T>& atoms, Index rows, int s) {
  return double(rows) * s * (60.0 + s * double(atoms.pitch) / 24);
}

}  // namespace

template <class T> std::pair<double, double> squared_norms(const T* rows, Index n, Index count) {
  const Buffer<double> squares(count);
  kernels<T>().squared_norms(rows, n, count, squares.get());
  double least = std::numeric_limits<double>::infinity(), most = 0, sum = 0;
  for (Index k = 0; k < count; ++k) {
    const double square = squares.get()[k];
    least = std::min(least, square);
    most = std::max(most, square);
    sum += square;
  }
  if (std::isnan(sum)) least = most = sum;
  return {least, most};
}

template <class T> void inner_products(const T* rows, int n, int count, int pitch, T* gram) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const Index blocks = (count + BLOCK - 1) / BLOCK;
  const int threads = threads_for(double(count) * count * n / 16);
  parallel_for(blocks, threads, [&](Index k, int) {
    kernels.upper_inner_products(rows, n, count, pitch, k * BLOCK,
                                 std::min<Index>(count, (k + 1) * BLOCK), gram);
  });
  for (Index k = 0; k < blocks; ++k)
    for (Index j = 0; j <= k; ++j)
      for (Index row = k * BLOCK; row < std::min<Index>(count, (k + 1) * BLOCK); ++row)
        for (Index column = j * BLOCK; column < std::min(row, (j + 1) * BLOCK); ++column)
          gram[row * pitch + column] = gram[column * pitch + row];
}

namespace {

// The Gram matrix for one call, if the atoms come without one.
template <class T> class OwnGram {
 public:
  // For `rows` signals: the whole matrix, or only the rows of chosen atoms if these are fewer than
  // half.
  OwnGram(const Atoms<T>& atoms, Index rows, int s)
      : whole_(rows * s > atoms.count / 2),
        gram_(Index(atoms.count) * atoms.pitch),
        known_(whole_ ? 0 : atoms.count) {
    if (whole_)
      inner_products(atoms.rows, atoms.n, atoms.count, atoms.pitch, gram_.get());
    else
      std::fill_n(known_.get(), atoms.count, false);
  }
  void attach(Atoms<T>& atoms) const {
    atoms.gram = gram_.get();
    atoms.known = known_.get();
  }

 private:
  bool whole_;
  Buffer<T> gram_;
  Buffer<bool> known_;
};

}  // namespace

template <class T, class I>
Index pursue(const Atoms<T>& given, const View<const T>& y, const View<const bool>* missing, int s,
             double tol, T* values, std::int32_t* indices, I* indptr) {
  const Kernels<T>& kernels = fost::kernels<T>();
  Atoms<T> atoms = given;
  std::optional<OwnGram<T>> products;
  if (!atoms.gram && !missing) {
    products.emplace(atoms, y.rows, s);
    products->attach(atoms);
  }
  // The set of computed rows is not shared between threads.
  const int threads =
      atoms.known ? 1 : threads_for(nanoseconds(atoms, y.rows, s, missing != nullptr));
  std::vector<PursuitBuffers<T>> buffers;
  const Index tile = tile_of(atoms, y.rows, s, missing != nullptr);
  for (int k = 0; k < threads; ++k)
    buffers.emplace_back(atoms, tile, y.rows, s, missing != nullptr, tol);
  const Buffer<std::int32_t> counts(y.rows);
  const Codes<T> codes = {values, indices, counts.get(), s};
  const Index width = buffers[0].memory().tile, tiles = (y.rows + width - 1) / width;
  std::atomic<bool> finite{true};
  // One tile per task for any number of threads: BLAS may round products of another size
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

template <class T, class I>
Index pursue_sparse(const TransformPlan& base, const SparseAtoms<T>& sparse, int count,
                    const T* gram, const View<const T>& y, int s, double tol, T* values,
                    std::int32_t* indices, I* indptr) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const Program<T> program = base.program<T>().base;
  const Atoms<T> atoms = {base.n,
                          count,
                          static_cast<int>(round_up(count, PITCH)),
                          nullptr,
                          const_cast<T*>(gram),
                          nullptr,
                          nullptr,
                          nullptr};
  const Index width = tile_width(base, kernels.width, y.rows), tiles = (y.rows + width - 1) / width;
  const double product = double(y.rows) * count * sparse.entries / 10;
  const int threads =
      threads_for(nanoseconds(base, y.rows) + product + pursuit_nanoseconds(atoms, y.rows, s));
  std::vector<WorkBuffers<T>> work;
  std::vector<PursuitBuffers<T>> buffers;
  for (int k = 0; k < threads; ++k) {
    work.emplace_back(base, kernels, y.rows);
    buffers.emplace_back(atoms, width, y.rows, s, false, tol);
  }
  const Buffer<std::int32_t> counts(y.rows);
  const Codes<T> codes = {values, indices, counts.get(), s};
  std::atomic<bool> finite{true};
  const Index ranges = std::min<Index>(tiles, threads == 1 ? 1 : 8 * Index(threads));
  parallel_for(ranges, threads, [&](Index k, int thread) {
    const Index first = tiles * k / ranges * width;
    const Index last = std::min(y.rows, tiles * (k + 1) / ranges * width);
    if (!kernels.pursue_sparse(program, sparse, atoms, y, first, last, codes,
                               buffers[thread].memory(), work[thread].workspace()))
      finite = false;
  });
  return finite ? compress(codes, y.rows, indptr) : -1;
}

template <class T>
void sweep_atoms(const AtomUses<T>& uses, int n, int entries, const std::int32_t* order, int count,
                 T* atoms, T* residual) {
  const Buffer<double> direction(n);
  const Buffer<T> atom(n);
  kernels<T>().sweep_atoms(uses, n, entries, order, count, atoms, residual, direction.get(),
                           atom.get());
}

#define FOST_INSTANTIATE(T)                                                                       \
  template std::pair<double, double> squared_norms<T>(const T*, Index, Index);                    \
  template void inner_products<T>(const T*, int, int, int, T*);                                   \
  template Index pursue<T, std::int32_t>(const Atoms<T>&, const View<const T>&,                   \
                                         const View<const bool>*, int, double, T*, std::int32_t*, \
                                         std::int32_t*);                                          \
  template Index pursue<T, std::int64_t>(const Atoms<T>&, const View<const T>&,                   \
                                         const View<const bool>*, int, double, T*, std::int32_t*, \
                                         std::int64_t*);                                          \
  template Index pursue_sparse<T, std::int32_t>(const TransformPlan&, const SparseAtoms<T>&, int, \
                                                const T*, const View<const T>&, int, double, T*,  \
                                                std::int32_t*, std::int32_t*);                    \
  template Index pursue_sparse<T, std::int64_t>(const TransformPlan&, const SparseAtoms<T>&, int, \
                                                const T*, const View<const T>&, int, double, T*,  \
                                                std::int32_t*, std::int64_t*);                    \
  template void sweep_atoms<T>(const AtomUses<T>&, int, int, const std::int32_t*, int, T*, T*);
FOST_INSTANTIATE(float)
FOST_INSTANTIATE(double)

}  // namespace fost
