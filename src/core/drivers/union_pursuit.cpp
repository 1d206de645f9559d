// Pursuit in a union, tile by tile, and the ordered reduction of X Y^T and X X^T.
#include "drivers/union_pursuit.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "drivers/csr.hpp"
#include "drivers/workspace.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/parallel.hpp"

namespace fost {
namespace {

// Partial sums of ranges of signals: the minimum number of signals per range, the numbers
// to be added per signal, and the maximum memory of all partial sums.
constexpr Index RANGE_SIGNALS = 2048;
constexpr Index NUMBERS_PER_SIGNAL = 32;
constexpr Index SUMS_BYTES = 32 * 1024 * 1024;

// Approximate time on one thread: the members, then the steps of pursuit.
double nanoseconds(const Union& all, Index rows, int s) {
  const double atoms = static_cast<double>(all.indices.size());
  return nanoseconds(all.bank, rows) + static_cast<double>(rows) * s * (60.0 + atoms / 4);
}

}  // namespace

template <class T, class I>
Index pursue(const Union& all, bool residuals, const T* gram, const View<const T>& y, int s,
             double tol, T* values, std::int32_t* indices, I* indptr) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const int count = static_cast<int>(all.indices.size()),
            pitch = static_cast<int>(round_up(count, PITCH));
  const Atoms<T> atoms = {all.bank.n,           count,   pitch,   nullptr,
                          const_cast<T*>(gram), nullptr, nullptr, nullptr};
  const Index width = tile_width(all.bank, kernels.width, y.rows),
              tiles = (y.rows + width - 1) / width;
  const int threads = threads_for(nanoseconds(all, y.rows, s));
  std::vector<WorkBuffers<T>> work;
  std::vector<BankBuffers<T>> banks;
  std::vector<PursuitBuffers<T>> buffers;
  for (int k = 0; k < threads; ++k) {
    work.emplace_back(all.bank, kernels, y.rows);
    banks.emplace_back(all.bank, kernels, y.rows);
    if (residuals)
      buffers.push_back(PursuitBuffers<T>::for_residuals(atoms, kernels.width, s, tol));
    else
      buffers.emplace_back(atoms, width, y.rows, s, false, tol);
  }
  const Buffer<std::int32_t> counts(y.rows);
  const Codes<T> codes = {values, indices, counts.get(), s};
  std::atomic<bool> finite{true};
  const Index ranges = std::min<Index>(tiles, threads == 1 ? 1 : 8 * Index(threads));
  const auto kernel = residuals ? kernels.pursue_residuals : kernels.pursue_union;
  parallel_for(ranges, threads, [&](Index k, int thread) {
    const Index first = tiles * k / ranges * width;
    const Index last = std::min(y.rows, tiles * (k + 1) / ranges * width);
    if (!kernel(all.program<T>(), atoms, y, first, last, codes, buffers[thread].memory(),
                banks[thread].memory(), work[thread].workspace()))
      finite = false;
  });
  return finite ? compress(codes, y.rows, indptr) : -1;
}

namespace {

// Adds the sums of the rows first:last.
template <class T>
void add_sums(const SparseRows<T, std::int64_t>& codes, Index atoms, const View<const T>& y,
              Index first, Index last, double* matrix, double* products) {
  const Index n = y.columns;
  const Buffer<double> signal(n);
  double* row = signal.get();
  for (Index r = first; r < last; ++r) {
    for (Index i = 0; i < n; ++i) row[i] = y.data[r * y.row_stride + i * y.column_stride];
    const std::int64_t begin = codes.indptr[r], end = codes.indptr[r + 1];
    for (std::int64_t k = begin; k < end; ++k) {
      const double value = codes.values[k];
      double* sums = matrix + codes.indices[k] * n;
      for (Index i = 0; i < n; ++i) sums[i] += value * row[i];
      double* pairs = products + codes.indices[k] * atoms;
      for (std::int64_t j = begin; j < end; ++j) pairs[codes.indices[j]] += value * codes.values[j];
    }
  }
}

}  // namespace

template <class T>
void code_sums(const SparseRows<T, std::int64_t>& codes, Index atoms, const View<const T>& y,
               double* matrix, double* products) {
  const Index size = atoms * y.columns, squares = atoms * atoms, both = size + squares;
  // Ranges depend on sizes only, and their sums are added in order: results are bit-identical
  // for any number of threads.
  const Index room = std::clamp<Index>(SUMS_BYTES / (both * Index(sizeof(double))), 1, 64);
  const Index least = std::max(RANGE_SIGNALS, both / NUMBERS_PER_SIGNAL);
  const Index ranges = std::clamp<Index>(y.rows / least, 1, room);
  const double entries = static_cast<double>(codes.indptr[y.rows]);
  const int threads = static_cast<int>(
      std::min<Index>(ranges, threads_for(entries * static_cast<double>(y.columns) / 4)));
  // The first range uses the result as its memory.
  const Buffer<double> partial((ranges - 1) * both);
  const auto own = [&](Index k) { return partial.get() + (k - 1) * both; };
  parallel_for(ranges, threads, [&](Index k, int) {
    double *to = k ? own(k) : matrix, *pairs = k ? own(k) + size : products;
    std::fill_n(to, size, 0.0);
    std::fill_n(pairs, squares, 0.0);
    add_sums(codes, atoms, y, y.rows * k / ranges, y.rows * (k + 1) / ranges, to, pairs);
  });
  for (Index k = 1; k < ranges; ++k) {
    for (Index i = 0; i < size; ++i) matrix[i] += own(k)[i];
    for (Index i = 0; i < squares; ++i) products[i] += own(k)[size + i];
  }
}

#define FOST_INSTANTIATE(T)                                                                       \
  template Index pursue<T, std::int32_t>(const Union&, bool, const T*, const View<const T>&, int, \
                                         double, T*, std::int32_t*, std::int32_t*);               \
  template Index pursue<T, std::int64_t>(const Union&, bool, const T*, const View<const T>&, int, \
                                         double, T*, std::int32_t*, std::int64_t*);               \
  template void code_sums<T>(const SparseRows<T, std::int64_t>&, Index, const View<const T>&,     \
                             double*, double*);
FOST_INSTANTIATE(float)
FOST_INSTANTIATE(double)

}  // namespace fost
