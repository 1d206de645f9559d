#include "union_plan.hpp"

#include <algorithm>
#include <atomic>

#include "compress.hpp"
#include "dispatch.hpp"
#include "parallel.hpp"
#include "pursuit_memory.hpp"
#include "workspace.hpp"

namespace fost {
namespace {

// Sums of codes, each of its own range of signals: at least so many signals in one, and at most so
// much memory for all of them.
constexpr Index RANGE_SIGNALS = 2048;
constexpr Index SUMS_BYTES = 32 * 1024 * 1024;

// A kernel of wide tiles or of one vector of signals, and a step after another of pursuit.
double nanoseconds(const Union& all, Index rows, int s) {
  const double atoms = static_cast<double>(all.indices.size());
  return nanoseconds(all.bank, rows) + static_cast<double>(rows) * s * (60.0 + atoms / 4);
}

}  // namespace

template <class T>
UnionTables<T>::UnionTables(const CoderProgram<T>& bank, const std::vector<std::int32_t>& indices)
    : members_(bank.count), program_{bank, nullptr, indices.data()} {
  const int n = bank.base.n;
  std::size_t next = 0;
  for (int b = 0; b < bank.count; ++b) {
    // Where the coefficients of all features are, and up to which factors.
    std::vector<std::int32_t> rows(n);
    std::vector<T> factors(n, T(1));
    for (int k = 0; k < bank.n_common; ++k)
      rows[second_row(bank.common[k])] = static_cast<std::int32_t>(first_row(bank.common[k]));
    for (int k = 0; k < bank.n_varying; ++k) {
      const RowPair place = bank.members[b].places[k];
      rows[second_row(place)] = static_cast<std::int32_t>(first_row(place));
      factors[second_row(place)] = bank.members[b].scales[k];
    }
    auto& places = places_.emplace_back();
    auto& scales = scales_.emplace_back();
    const int first = static_cast<int>(next);
    for (; next < indices.size() && indices[next] / n == b; ++next) {
      places.push_back(rows[indices[next] % n]);
      scales.push_back(factors[indices[next] % n]);
    }
    members_[b] = {first, static_cast<int>(places.size()), places.data(), scales.data()};
  }
  program_.members = members_.data();
}

Union::Union(const Plan& base, const std::vector<const Plan*>& members,
             std::vector<std::int32_t> indices)
    : bank(base, members),
      indices(std::move(indices)),
      single(bank.program<float>(), this->indices),
      full(bank.program<double>(), this->indices) {}

template <class T, class I>
Index pursue(const Union& all, const T* gram, const View<const T>& y, int s, double tol, T* values,
             std::int32_t* indices, I* indptr) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const int count = static_cast<int>(all.indices.size()), pitch = (count + PITCH - 1) / PITCH * PITCH;
  const Atoms<T> atoms = {all.bank.n, count, pitch, nullptr, const_cast<T*>(gram), nullptr, nullptr, nullptr};
  const Index width = tile_width(all.bank, kernels.width, y.rows), tiles = (y.rows + width - 1) / width;
  const int threads = threads_for(nanoseconds(all, y.rows, s));
  std::vector<WorkBuffers<T>> work;
  std::vector<BankBuffers<T>> boards;
  std::vector<PursuitBuffers<T>> buffers;
  for (int k = 0; k < threads; ++k) {
    work.emplace_back(all.bank, kernels, y.rows);
    boards.emplace_back(all.bank, kernels, y.rows);
    buffers.emplace_back(atoms, width, y.rows, s, false, tol);
  }
  const Buffer<std::int32_t> counts(y.rows);
  const Codes<T> codes = {values, indices, counts.get(), s};
  std::atomic<bool> finite{true};
  const Index ranges = std::min<Index>(tiles, threads == 1 ? 1 : 8 * Index(threads));
  parallel_for(ranges, threads, [&](Index k, int thread) {
    const Index first = tiles * k / ranges * width;
    const Index last = std::min(y.rows, tiles * (k + 1) / ranges * width);
    if (!kernels.pursue_union(all.program<T>(), atoms, y, first, last, codes, buffers[thread].memory(),
                              boards[thread].memory(), work[thread].workspace()))
      finite = false;
  });
  return finite ? compress(codes, y.rows, indptr) : -1;
}

namespace {

// Adds those of the rows first:last.
template <class T>
void add_sums(const SparseRows<T, std::int64_t>& codes, Index atoms, const View<const T>& y, Index first, Index last,
              double* matrix, double* products) {
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
void code_sums(const SparseRows<T, std::int64_t>& codes, Index atoms, const View<const T>& y, double* matrix,
               double* products) {
  const Index size = atoms * y.columns, squares = atoms * atoms, both = size + squares;
  // The ranges follow from the sizes alone, and their sums are added in order, so that the
  // number of threads cannot change a bit.
  const Index room = std::clamp<Index>(SUMS_BYTES / (both * Index(sizeof(double))), 1, 64);
  const Index ranges = std::clamp<Index>(y.rows / RANGE_SIGNALS, 1, room);
  const double entries = static_cast<double>(codes.indptr[y.rows]);
  const int threads = static_cast<int>(
      std::min<Index>(ranges, threads_for(entries * static_cast<double>(y.columns) / 4)));
  const Buffer<double> partial(ranges * both);
  std::fill_n(partial.get(), ranges * both, 0.0);
  parallel_for(ranges, threads, [&](Index k, int) {
    double* own = partial.get() + k * both;
    add_sums(codes, atoms, y, y.rows * k / ranges, y.rows * (k + 1) / ranges, own, own + size);
  });
  std::fill_n(matrix, size, 0.0);
  std::fill_n(products, squares, 0.0);
  for (Index k = 0; k < ranges; ++k) {
    const double* own = partial.get() + k * both;
    for (Index i = 0; i < size; ++i) matrix[i] += own[i];
    for (Index i = 0; i < squares; ++i) products[i] += own[size + i];
  }
}

#define FOST_INSTANTIATE(T)                                                                      \
  template class UnionTables<T>;                                                                 \
  template Index pursue<T, std::int32_t>(const Union&, const T*, const View<const T>&, int,      \
                                         double, T*, std::int32_t*, std::int32_t*);              \
  template Index pursue<T, std::int64_t>(const Union&, const T*, const View<const T>&, int,      \
                                         double, T*, std::int32_t*, std::int64_t*);              \
  template void code_sums<T>(const SparseRows<T, std::int64_t>&, Index, const View<const T>&, double*, double*);
FOST_INSTANTIATE(float)
FOST_INSTANTIATE(double)

}  // namespace fost
