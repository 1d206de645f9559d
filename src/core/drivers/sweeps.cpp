// Working memory of reflector, rotation and Procrustes updates.
#include "drivers/sweeps.hpp"

#include <algorithm>

#include "runtime/blas.hpp"
#include "runtime/buffer.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/parallel.hpp"

namespace fost {
namespace {

// Lanczos vectors that are kept before a restart.
constexpr int LANCZOS_STEPS = 200;

constexpr Index LANES = 8;  // upper bound over all instruction sets

// Rows of whole vectors. With an odd number of cache lines per row (| LANES), the entries of a
// column do not map to the same cache sets.
Index padded(int n) { return (n + LANES - 1) / LANES * LANES; }

void run_parallel(Index count, int threads, void (*task)(const void*, Index), const void* context) {
  parallel_for(count, threads, [&](Index k, int) { task(context, k); });
}

// Owner of a SweepMemory.
class SweepBuffers {
 public:
  // `bytes` is the size of an entry of M in products.
  explicit SweepBuffers(int n, int bytes = sizeof(double))
      : n_(n),
        bytes_(bytes),
        steps_(std::min(n, LANCZOS_STEPS)),
        matrices_(2 * Index(n) * n),
        basis_(Index(steps_) * n),
        lines_((4 + Index(sweep_ranges(n))) * n),
        small_(7 * Index(steps_) + 18 * (Index(steps_) + 1)),
        integers_(10 * (Index(steps_) + 1) + 2) {}

  SweepMemory memory() const {
    double* next = small_.get();
    const auto take = [&next](Index count) { return (next += count) - count; };
    LanczosMemory lanczos{};
    lanczos.steps = steps_;
    lanczos.basis = basis_.get();
    lanczos.next = lines_.get();
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
    // A product reads M from memory at about ten bytes per nanosecond.
    const int threads = threads_for(static_cast<double>(n_) * n_ * bytes_ / 10);
    return {matrices_.get(),
            matrices_.get() + Index(n_) * n_,
            lines_.get() + n_,
            lanczos,
            {run_parallel, threads}};
  }

 private:
  int n_, bytes_, steps_;
  Buffer<double> matrices_, basis_, lines_, small_;
  Buffer<int> integers_;
};

}  // namespace

void sweep_reflectors(const double* statistic, int n, double* vectors, int m,
                      const std::int32_t* order, const std::int32_t* begins, bool single) {
  const SweepBuffers buffers(n, single ? sizeof(float) : sizeof(double));
  algebra().sweep_reflectors(statistic, n, vectors, m, order, begins, single, buffers.memory());
}

void lowest_eigenvectors(const double* statistic, int n, double* vectors, int m) {
  const SweepBuffers buffers(n);
  algebra().lowest_eigenvectors(statistic, n, vectors, m, buffers.memory());
}

bool solve_procrustes(const double* statistic, const double* current, int n, double* found) {
  const Index rows = padded(n), pitch = rows | LANES, size = rows * pitch;
  const Buffer<double> numbers(2 * size + LANES * (rows + pitch) + n);
  const Buffer<std::int32_t> integers(2 * Index(n));
  double* next = numbers.get();
  const auto take = [&next](Index count) { return (next += count) - count; };
  PolarMemory memory{};
  memory.rows = rows;
  memory.pitch = pitch;
  memory.x = take(size);
  memory.inverse = take(size);
  memory.panel = take(LANES * rows);
  memory.lines = take(LANES * pitch);
  memory.lengths = take(n);
  memory.order = integers.get();
  memory.unused = integers.get() + n;
  return algebra().solve_procrustes(statistic, current, n, found, memory);
}

int sweep_rotations(const double* statistic, int n, std::int32_t* pairs, double* blocks,
                    double* gains, int g, double least) {
  const Index pitch = padded(n) | LANES, size = n * pitch;
  const Buffer<double> matrices(3 * size), lines(2 * Index(n));
  const Buffer<std::int32_t> partners(n);
  double* first = matrices.get();
  const RotationMemory memory = {pitch,       first,           first + size,  first + 2 * size,
                                 lines.get(), lines.get() + n, partners.get()};
  return algebra().sweep_rotations(statistic, memory, n, pairs, blocks, gains, g, least);
}

}  // namespace fost
