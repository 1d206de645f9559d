// Ranges of tiles, one workspace per thread, and the ordered reduction of statistics.
#include "drivers/coding.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "drivers/csr.hpp"
#include "drivers/workspace.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/ordered_sums.hpp"
#include "runtime/parallel.hpp"

namespace fost {
namespace {

// Partial statistics of ranges of signals: the minimum number of signals per range, the maximum
// number of ranges, and the maximum memory of more than two of them.
constexpr Index RANGE_SIGNALS = 1024;
constexpr Index STATISTIC_RANGES = 64;
constexpr Index STATISTIC_BYTES = 32 * 1024 * 1024;

// Contiguous results larger than this exceed the caches and are written by streaming stores.
constexpr Index STREAM_BYTES = 32 * 1024 * 1024;

template <class T> bool needs_streaming(const View<T>& x) {
  return x.column_stride == 1 && x.row_stride == x.columns &&
         x.rows * x.columns * Index(sizeof(T)) > STREAM_BYTES;
}

// Threads for one pass over `rows` signals.
int threads_for_pass(const Coder& coder, Index rows) {
  return threads_for(nanoseconds(coder, rows));
}

// Calls body(first, last, workspace, thread) for ranges that cover all rows; all ranges but the
// last are multiples of the tile.
template <class T, class Body>
void for_ranges(const Coder& coder, const Kernels<T>& kernels, Index rows, int threads,
                const Body& body, bool needs_streaming = false) {
  std::vector<WorkBuffers<T>> memory;
  for (int k = 0; k < threads; ++k) memory.emplace_back(coder, kernels, rows, needs_streaming);
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
bool apply(const TransformPlan& plan, bool inverse, const View<const T>& y, const View<T>& x) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const Program<T> program = plan.program<T>().base;
  std::atomic<bool> finite{true};
  for_ranges(
      plan, kernels, y.rows, threads_for_pass(plan, y.rows),
      [&](Index first, Index last, const Workspace<T>& work, int) {
        if (!kernels.apply(program, inverse, y, x, first, last, work)) finite = false;
      },
      needs_streaming(x));
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
  for_ranges(coder, kernels, y.rows, threads,
             [&](Index first, Index last, const Workspace<T>& work, int thread) {
               if (!kernels.encode(program, y, first, last, codes, banks[thread].memory(), work)) {
                 finite = false;
                 return;
               }
               // Nearly always every signal has s entries, and rows are in place already.
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

// The worst status of several ranges.
class WorstStatus {
 public:
  void add(DecodeStatus found) {
    DecodeStatus before = worst_;
    while (before < found && !worst_.compare_exchange_weak(before, found)) {}
  }
  DecodeStatus worst() const { return worst_; }

 private:
  std::atomic<DecodeStatus> worst_{DecodeStatus::ok};
};

}  // namespace

template <class T, class I>
DecodeStatus decode(const TransformPlan& plan, const SparseRows<T, I>& codes, const View<T>& x) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const Program<T> program = plan.program<T>().base;
  if (codes.indptr[0] != 0) return DecodeStatus::invalid;
  WorstStatus status;
  for_ranges(plan, kernels, x.rows, threads_for_pass(plan, x.rows),
             [&](Index first, Index last, const Workspace<T>& work, int) {
               status.add(kernels.sparse(I()).decode(program, codes, x, first, last, work));
             });
  return status.worst();
}

template <class T, class I>
DecodeStatus sum_atoms(const T* atoms, const SparseRows<T, I>& codes, const View<T>& x) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const double entries = static_cast<double>(codes.room);
  const int threads =
      threads_for((entries + static_cast<double>(x.rows)) * static_cast<double>(x.columns) / 16);
  const Index ranges = std::min<Index>(x.rows, threads == 1 ? 1 : 8 * Index(threads));
  if (codes.indptr[0] != 0) return DecodeStatus::invalid;
  WorstStatus status;
  parallel_for(ranges, threads, [&](Index k, int) {
    status.add(kernels.sparse(I()).sum_atoms(atoms, codes, x, x.rows * k / ranges,
                                             x.rows * (k + 1) / ranges));
  });
  return status.worst();
}

namespace {

// Rows of partial statistics are padded to a cache line, so that no vector crosses a line.
constexpr Index STATISTIC_PITCH = 8;

// Adds the padded matrix of a range to the total, which is contiguous.
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
  // Ranges depend on sizes only, and their sums are added in order: results are bit-identical for
  // any number of threads.
  const Index room =
      std::clamp<Index>(STATISTIC_BYTES / (size * Index(sizeof(double))), 2, STATISTIC_RANGES);
  const Index ranges = std::clamp<Index>(y.rows / RANGE_SIGNALS, 1, room);
  // One pass over the signals, and about as much again for the statistic.
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

#define FOST_INSTANTIATE(T)                                                                      \
  template bool apply<T>(const TransformPlan&, bool, const View<const T>&, const View<T>&);      \
  template Index encode<T, std::int32_t>(const Coder&, const View<const T>&, int, T*,            \
                                         std::int32_t*, std::int32_t*);                          \
  template Index encode<T, std::int64_t>(const Coder&, const View<const T>&, int, T*,            \
                                         std::int32_t*, std::int64_t*);                          \
  template DecodeStatus decode<T, std::int32_t>(                                                 \
      const TransformPlan&, const SparseRows<T, std::int32_t>&, const View<T>&);                 \
  template DecodeStatus decode<T, std::int64_t>(                                                 \
      const TransformPlan&, const SparseRows<T, std::int64_t>&, const View<T>&);                 \
  template DecodeStatus sum_atoms<T, std::int32_t>(const T*, const SparseRows<T, std::int32_t>&, \
                                                   const View<T>&);                              \
  template DecodeStatus sum_atoms<T, std::int64_t>(const T*, const SparseRows<T, std::int64_t>&, \
                                                   const View<T>&);                              \
  template double accumulate<T>(const Coder&, const View<const T>&, int, double*);
FOST_INSTANTIATE(float)
FOST_INSTANTIATE(double)

}  // namespace fost
