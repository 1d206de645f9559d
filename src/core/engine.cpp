#include "engine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "blas.hpp"
#include "buffer.hpp"
#include "compress.hpp"
#include "dispatch.hpp"
#include "parallel.hpp"
#include "workspace.hpp"

namespace fost {
namespace {

// Lanczos vectors that are kept before a restart.
constexpr int LANCZOS_STEPS = 200;
// Partial statistics, each of its own range of signals: at least so many signals in one, at
// most so many ranges, and at most so much memory for all of them.
constexpr Index RANGE_SIGNALS = 1024;
constexpr Index STATISTIC_RANGES = 64;
constexpr Index STATISTIC_BYTES = 32 * 1024 * 1024;

// Threads for one pass over so many signals.
int threads_for_pass(const Demands& plan, Index rows) { return threads_for(nanoseconds(plan, rows)); }

// Calls body(first, last, workspace, thread) for ranges that cover all rows, each a multiple of the
// tile but the last.
template <class T, class Body>
void over_rows(const Demands& plan, const Kernels<T>& kernels, Index rows, int s, int threads,
               const Body& body) {
  std::vector<Memory<T>> memory;
  for (int k = 0; k < threads; ++k) memory.emplace_back(plan, kernels, rows, s);
  const Index width = memory[0].workspace().width;
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
  const Program<T> program = plan.program<T>();
  std::atomic<bool> finite{true};
  over_rows(plan, kernels, y.rows, 0, threads_for_pass(plan, y.rows),
            [&](Index first, Index last, const Workspace<T>& work, int) {
    if (!kernels.apply(program, inverse, y, x, first, last, work)) finite = false;
  });
  return finite;
}

namespace {

// Codes in compressed sparse rows: kernel(first, last, codes, workspace, thread) writes those of
// a range, false where one is not finite.
template <class T, class I, class Kernel>
Index encode_by(const Demands& plan, const View<const T>& y, int s, T* values,
                std::int32_t* indices, I* indptr, int threads, const Kernel& kernel) {
  const Buffer<std::int32_t> counts(y.rows);
  const Codes<T> codes = {values, indices, counts.get(), s};
  std::atomic<bool> finite{true}, full{true};
  indptr[0] = 0;
  over_rows(plan, kernels<T>(), y.rows, s, threads,
            [&](Index first, Index last, const Workspace<T>& work, int thread) {
    if (!kernel(first, last, codes, work, thread)) {
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

// The memory of a bank, for each of the threads.
template <class T> class BankBuffers {
 public:
  BankBuffers(const Bank& bank, Index rows, int threads)
      : width_(tile_width(bank, kernels<T>().width, rows)), size_(Index(bank.n) * width_) {
    for (int k = 0; k < threads; ++k) {
      numbers_.emplace_back(3 * size_ + (MOST_FEW + 5) * width_);
      offsets_.emplace_back(width_);
    }
  }

  BankMemory<T> memory(int thread) const {
    T* board = numbers_[thread].get();
    T* chosen = board + 2 * size_;
    T* heads = chosen + size_;
    T* units = heads + MOST_FEW * width_;
    return {board,
            chosen,
            heads,
            units,
            units + width_,
            units + 2 * width_,
            units + 3 * width_,
            units + 4 * width_,
            offsets_[thread].get()};
  }

 private:
  int width_;
  Index size_;
  std::vector<Buffer<T>> numbers_;
  std::vector<Buffer<std::int32_t>> offsets_;
};

}  // namespace

template <class T, class I>
Index encode(const Plan& plan, const View<const T>& y, int s, T* values, std::int32_t* indices,
             I* indptr) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const Program<T> program = plan.program<T>();
  return encode_by(plan, y, s, values, indices, indptr, threads_for_pass(plan, y.rows),
                   [&](Index first, Index last, const Codes<T>& codes, const Workspace<T>& work, int) {
    return kernels.encode(program, y, first, last, codes, work);
  });
}

template <class T, class I>
Index encode(const Bank& bank, const View<const T>& y, int s, T* values, std::int32_t* indices,
             I* indptr) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const int threads = threads_for_pass(bank, y.rows);
  const BankBuffers<T> buffers(bank, y.rows, threads);
  return encode_by(bank, y, s, values, indices, indptr, threads,
                   [&](Index first, Index last, const Codes<T>& codes, const Workspace<T>& work, int thread) {
    return kernels.encode_bank(bank.program<T>(), buffers.memory(thread), y, first, last, codes, work);
  });
}

template <class T> void decode(const Plan& plan, const SparseRows<T>& codes, const View<T>& x) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const Program<T> program = plan.program<T>();
  over_rows(plan, kernels, x.rows, 0, threads_for_pass(plan, x.rows),
            [&](Index first, Index last, const Workspace<T>& work, int) {
    kernels.decode(program, codes, x, first, last, work);
  });
}

template <class T> void sum_atoms(const T* atoms, const SparseRows<T>& codes, const View<T>& x) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const double entries = static_cast<double>(codes.indptr[x.rows]);
  const int threads = threads_for((entries + static_cast<double>(x.rows)) * static_cast<double>(x.columns) / 8);
  const Index ranges = std::min<Index>(x.rows, 8 * Index(threads));
  parallel_for(ranges, threads, [&](Index k, int) {
    kernels.sum_atoms(atoms, codes, x, x.rows * k / ranges, x.rows * (k + 1) / ranges);
  });
}

namespace {

// Threads to add up a statistic: a pass over the signals, and as much again.
int threads_for_statistic(const Demands& plan, Index rows) {
  return threads_for(2 * nanoseconds(plan, rows));
}

// X Y^T (n_rows x n) and ||X||_F^2: kernel(first, last, sums, workspace, thread) adds a range.
template <class T, class Kernel>
double accumulate_by(const Demands& plan, const View<const T>& y, int s, Index n_rows,
                     double* matrix, int most_threads, const Kernel& kernel) {
  const Index size = n_rows * plan.n;
  // The ranges follow from the sizes alone, and their sums are added in order, so that the
  // number of threads cannot change a bit.
  const Index room = std::clamp<Index>(STATISTIC_BYTES / (size * Index(sizeof(double))), 1, STATISTIC_RANGES);
  const Index ranges = std::clamp<Index>(y.rows / RANGE_SIGNALS, 1, room);
  const int threads = static_cast<int>(std::min<Index>(ranges, most_threads));
  std::vector<Memory<T>> memory;
  for (int k = 0; k < threads; ++k) memory.emplace_back(plan, kernels<T>(), y.rows, s, n_rows);
  const Buffer<double> partial(ranges * size);
  std::vector<Statistic> sums(ranges);
  std::atomic<bool> finite{true};
  parallel_for(ranges, threads, [&](Index k, int thread) {
    sums[k] = {partial.get() + k * size, 0.0};
    std::fill(sums[k].matrix, sums[k].matrix + size, 0.0);
    if (!kernel(y.rows * k / ranges, y.rows * (k + 1) / ranges, sums[k],
                memory[thread].workspace(), thread))
      finite = false;
  });
  if (!finite) return std::numeric_limits<double>::quiet_NaN();
  double energy = 0;
  std::fill(matrix, matrix + size, 0.0);
  for (const Statistic& sum : sums) {
    for (Index i = 0; i < size; ++i) matrix[i] += sum.matrix[i];
    energy += sum.energy;
  }
  return energy;
}

}  // namespace

template <class T>
double accumulate(const Plan& plan, const View<const T>& y, int s, double* matrix) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const Program<T> program = plan.program<T>();
  return accumulate_by(plan, y, s, plan.n, matrix, threads_for_statistic(plan, y.rows),
                       [&](Index first, Index last, Statistic& sums, const Workspace<T>& work, int) {
    return kernels.accumulate(program, y, first, last, sums, work);
  });
}

template <class T>
double accumulate(const Bank& bank, const View<const T>& y, int s, double* matrix) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const int threads = threads_for_statistic(bank, y.rows);
  const BankBuffers<T> buffers(bank, y.rows, threads);
  return accumulate_by(bank, y, s, Index(bank.n) * bank.count, matrix, threads,
                       [&](Index first, Index last, Statistic& sums, const Workspace<T>& work, int thread) {
    return kernels.accumulate_bank(bank.program<T>(), buffers.memory(thread), y, first, last, sums, work);
  });
}

namespace {

// The memory behind a SweepMemory.
class SweepBuffers {
 public:
  explicit SweepBuffers(int n)
      : n_(n),
        steps_(std::min(n, LANCZOS_STEPS)),
        matrices_(2 * Index(n) * n),
        basis_(Index(steps_) * n),
        lines_(2 * Index(n)),
        small_(7 * Index(steps_) + 18 * (Index(steps_) + 1)),
        integers_(10 * (Index(steps_) + 1) + 2) {}

  SweepMemory memory() const {
    double* next = small_.get();
    const auto take = [&next](Index count) { return (next += count) - count; };
    LanczosMemory lanczos{};
    lanczos.steps = steps_;
    lanczos.basis = basis_.get();
    lanczos.next = lines_.get() + n_;
    lanczos.diagonal = take(steps_);
    lanczos.off_diagonal = take(steps_);
    lanczos.diagonal_copy = take(steps_);
    lanczos.off_diagonal_copy = take(steps_);
    lanczos.ritz_values = take(steps_);
    lanczos.ritz_vector = take(steps_);
    lanczos.overlaps = take(steps_);
    lanczos.real_work = take(18 * (Index(steps_) + 1));
    lanczos.support = integers_.get();
    lanczos.integer_work = integers_.get() + 2;
    lanczos.stemr = stemr();
    return {matrices_.get(), matrices_.get() + Index(n_) * n_, lines_.get(), lanczos};
  }

 private:
  int n_, steps_;
  Buffer<double> matrices_, basis_, lines_, small_;
  Buffer<int> integers_;
};

}  // namespace

void sweep_reflectors(const double* statistic, int n, double* vectors, int m,
                      const std::int32_t* order, const std::int32_t* begins) {
  const SweepBuffers buffers(n);
  algebra().sweep_reflectors(statistic, n, vectors, m, order, begins, buffers.memory());
}

void lowest_eigenvectors(const double* statistic, int n, double* vectors, int m) {
  const SweepBuffers buffers(n);
  algebra().lowest_eigenvectors(statistic, n, vectors, m, buffers.memory());
}

int sweep_rotations(const double* statistic, int n, std::int32_t* pairs, double* blocks,
                    double* gains, int g, double least) {
  const Index size = Index(n) * n;
  const Buffer<double> matrices(3 * size), lines(2 * Index(n));
  const Buffer<std::int32_t> partners(n);
  const RotationMemory memory = {matrices.get(), matrices.get() + size, matrices.get() + 2 * size,
                                 lines.get(), lines.get() + n, partners.get()};
  return algebra().sweep_rotations(statistic, memory, n, pairs, blocks, gains, g, least);
}

#define FOST_INSTANTIATE(T)                                                                    \
  template bool apply<T>(const Plan&, bool, const View<const T>&, const View<T>&);             \
  template Index encode<T, std::int32_t>(const Plan&, const View<const T>&, int, T*,           \
                                         std::int32_t*, std::int32_t*);                        \
  template Index encode<T, std::int64_t>(const Plan&, const View<const T>&, int, T*,           \
                                         std::int32_t*, std::int64_t*);                        \
  template void decode<T>(const Plan&, const SparseRows<T>&, const View<T>&);                  \
  template void sum_atoms<T>(const T*, const SparseRows<T>&, const View<T>&);                  \
  template double accumulate<T>(const Plan&, const View<const T>&, int, double*);              \
  template Index encode<T, std::int32_t>(const Bank&, const View<const T>&, int, T*,           \
                                         std::int32_t*, std::int32_t*);                        \
  template Index encode<T, std::int64_t>(const Bank&, const View<const T>&, int, T*,           \
                                         std::int32_t*, std::int64_t*);                        \
  template double accumulate<T>(const Bank&, const View<const T>&, int, double*);
FOST_INSTANTIATE(float)
FOST_INSTANTIATE(double)

}  // namespace fost
