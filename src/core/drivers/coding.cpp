#include "drivers/coding.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "drivers/csr.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/ordered_sums.hpp"
#include "runtime/parallel.hpp"
#include "drivers/workspace.hpp"

namespace fost {
namespace {

// Partial statistics, each of its own range of signals: at least so many signals in one, at
// most so many ranges, and at most so much memory for all of them.
constexpr Index RANGE_SIGNALS = 1024;
constexpr Index STATISTIC_RANGES = 64;
constexpr Index STATISTIC_BYTES = 32 * 1024 * 1024;

// Results beyond this size, of one piece, do not fit into caches and are written past them.
constexpr Index STREAM_BYTES = 32 * 1024 * 1024;

template <class T> bool streams(const View<T>& x) {
  return x.column_stride == 1 && x.row_stride == x.columns &&
         x.rows * x.columns * Index(sizeof(T)) > STREAM_BYTES;
}

// Threads for one pass over so many signals.
int threads_for_pass(const Coder& coder, Index rows) { return threads_for(nanoseconds(coder, rows)); }

// Calls body(first, last, workspace, thread) for ranges that cover all rows, each a multiple of the
// tile but the last.
template <class T, class Body>
void over_rows(const Coder& coder, const Kernels<T>& kernels, Index rows, int threads,
               const Body& body, bool streams = false) {
  std::vector<WorkBuffers<T>> memory;
  for (int k = 0; k < threads; ++k) memory.emplace_back(coder, kernels, rows, streams);
  const Index width = tile_width(coder, kernels.width, rows);
  const Index tiles = (rows + width - 1) / width;
  const Index ranges = std::min<Index>(tiles, threads == 1 ? 1 : 8 * Index(threads));
  parallel_for(ranges, threads, [&](Index k, int thread) {
    const Index first = tiles * k / ranges * width;
    const Index last = std::min(rows, tiles * (k + 1) / ranges * width);
    body(first, last, memory[thread].workspace(), thread);
  });
}

}  // namespace

template <class T>
bool apply(const Plan& plan, bool inverse, const View<const T>& y, const View<T>& x) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const Program<T> program = plan.program<T>().base;
  std::atomic<bool> finite{true};
  over_rows(plan, kernels, y.rows, threads_for_pass(plan, y.rows),
            [&](Index first, Index last, const Workspace<T>& work, int) {
    if (!kernels.apply(program, inverse, y, x, first, last, work)) finite = false;
  }, streams(x));
  return finite;
}

template <class T, class I>
Index encode(const Coder& coder, const View<const T>& y, int s, T* values, std::int32_t* indices,
             I* indptr) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const CoderProgram<T> program = coder.program<T>();
  const int threads = threads_for_pass(coder, y.rows);
  std::vector<BankBuffers<T>> banks;
  for (int k = 0; k < threads; ++k) banks.emplace_back(coder, kernels, y.rows);
  const Buffer<std::int32_t> counts(y.rows);
  const Codes<T> codes = {values, indices, counts.get(), s};
  std::atomic<bool> finite{true}, full{true};
  indptr[0] = 0;
  over_rows(coder, kernels, y.rows, threads,
            [&](Index first, Index last, const Workspace<T>& work, int thread) {
    if (!kernels.encode(program, y, first, last, codes, banks[thread].memory(), work)) {
      finite = false;
      return;
    }
    // Nearly always every signal has s entries, and rows are where they belong already.
    Index entries = 0;
    for (Index row = first; row < last; ++row) {
      entries += codes.counts[row];
      indptr[row + 1] = static_cast<I>((row + 1) * s);
    }
    if (entries != (last - first) * s) full = false;
  });
  if (!finite) return -1;
  return full ? y.rows * s : compress(codes, y.rows, indptr);
}

namespace {

// The worst of what became of several ranges.
class Verdict {
 public:
  void add(Decoded found) {
    Decoded before = worst_;
    while (before < found && !worst_.compare_exchange_weak(before, found)) {
    }
  }
  Decoded worst() const { return worst_; }

 private:
  std::atomic<Decoded> worst_{Decoded::sound};
};

}  // namespace

template <class T, class I>
Decoded decode(const Plan& plan, const SparseRows<T, I>& codes, const View<T>& x) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const Program<T> program = plan.program<T>().base;
  if (codes.indptr[0] != 0) return Decoded::damaged;
  Verdict verdict;
  over_rows(plan, kernels, x.rows, threads_for_pass(plan, x.rows),
            [&](Index first, Index last, const Workspace<T>& work, int) {
    verdict.add(kernels.sparse(I()).decode(program, codes, x, first, last, work));
  });
  return verdict.worst();
}

template <class T, class I>
Decoded sum_atoms(const T* atoms, const SparseRows<T, I>& codes, const View<T>& x) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const double entries = static_cast<double>(codes.room);
  const int threads = threads_for((entries + static_cast<double>(x.rows)) * static_cast<double>(x.columns) / 16);
  const Index ranges = std::min<Index>(x.rows, threads == 1 ? 1 : 8 * Index(threads));
  if (codes.indptr[0] != 0) return Decoded::damaged;
  Verdict verdict;
  parallel_for(ranges, threads, [&](Index k, int) {
    verdict.add(kernels.sparse(I()).sum_atoms(atoms, codes, x, x.rows * k / ranges,
                                              x.rows * (k + 1) / ranges));
  });
  return verdict.worst();
}

namespace {

// What rows of partial statistics are padded to: a line of the cache, which no vector crosses.
constexpr Index STATISTIC_PITCH = 8;

// Adds the matrix of a range to that of all, whose rows have no gaps between them.
void add_matrix(const double* from, Index pitch, Index rows, Index columns, double* matrix) {
  for (Index row = 0; row < rows; ++row, from += pitch, matrix += columns)
    for (Index i = 0; i < columns; ++i) matrix[i] += from[i];
}

}  // namespace

template <class T>
double accumulate(const Coder& coder, const View<const T>& y, int s, double* matrix) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const CoderProgram<T> program = coder.program<T>();
  const Index pitch = (coder.n + STATISTIC_PITCH - 1) / STATISTIC_PITCH * STATISTIC_PITCH;
  const Index size = coder.n_atoms() * pitch;
  // The ranges follow from the sizes alone, and their sums are added in order, so that the
  // number of threads cannot change a bit.
  const Index room = std::clamp<Index>(STATISTIC_BYTES / (size * Index(sizeof(double))), 1, STATISTIC_RANGES);
  const Index ranges = std::clamp<Index>(y.rows / RANGE_SIGNALS, 1, room);
  // A pass over the signals, and as much again.
  const int threads =
      static_cast<int>(std::min<Index>(ranges, threads_for(2 * nanoseconds(coder, y.rows))));
  std::vector<WorkBuffers<T>> memory;
  std::vector<BankBuffers<T>> banks;
  std::vector<BatchBuffers<T>> batches;
  for (int k = 0; k < threads; ++k) {
    memory.emplace_back(coder, kernels, y.rows);
    banks.emplace_back(coder, kernels, y.rows);
    batches.emplace_back(coder, kernels, y.rows, s);
  }
  OrderedSums partial(ranges, size);
  std::vector<double> energies(ranges);
  std::atomic<bool> finite{true};
  std::fill(matrix, matrix + coder.n_atoms() * coder.n, 0.0);
  parallel_for(ranges, threads, [&](Index k, int thread) {
    Statistic sums = {partial.take(), pitch, 0.0};
    std::fill(sums.matrix, sums.matrix + size, 0.0);
    if (!kernels.accumulate(program, y, y.rows * k / ranges, y.rows * (k + 1) / ranges, sums,
                            batches[thread].memory(), banks[thread].memory(),
                            memory[thread].workspace()))
      finite = false;
    energies[k] = sums.energy;
    partial.give(k, sums.matrix, [&](const double* from) {
      add_matrix(from, pitch, coder.n_atoms(), coder.n, matrix);
    });
  });
  if (!finite) return std::numeric_limits<double>::quiet_NaN();
  return std::accumulate(energies.begin(), energies.end(), 0.0);
}

#define FOST_INSTANTIATE(T)                                                                    \
  template bool apply<T>(const Plan&, bool, const View<const T>&, const View<T>&);             \
  template Index encode<T, std::int32_t>(const Coder&, const View<const T>&, int, T*,          \
                                         std::int32_t*, std::int32_t*);                        \
  template Index encode<T, std::int64_t>(const Coder&, const View<const T>&, int, T*,          \
                                         std::int32_t*, std::int64_t*);                        \
  template Decoded decode<T, std::int32_t>(const Plan&, const SparseRows<T, std::int32_t>&,     \
                                           const View<T>&);                                    \
  template Decoded decode<T, std::int64_t>(const Plan&, const SparseRows<T, std::int64_t>&,     \
                                           const View<T>&);                                    \
  template Decoded sum_atoms<T, std::int32_t>(const T*, const SparseRows<T, std::int32_t>&,     \
                                              const View<T>&);                                 \
  template Decoded sum_atoms<T, std::int64_t>(const T*, const SparseRows<T, std::int64_t>&,     \
                                              const View<T>&);                                 \
  template double accumulate<T>(const Coder&, const View<const T>&, int, double*);
FOST_INSTANTIATE(float)
FOST_INSTANTIATE(double)

}  // namespace fost
