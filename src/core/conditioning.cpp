#include "conditioning.hpp"

#include <algorithm>
#include <vector>

#include "buffer.hpp"
#include "dispatch.hpp"
#include "parallel.hpp"

namespace fost {
namespace {

// Signals in a range; where covariances are added up, ranges have a matrix each, and so there are
// only a few of them.
constexpr Index SIGNALS = 64;
constexpr Index MOST_SUMS = 16;
// Rows begin at a multiple of the widest vector, and not at one of a page, where many columns
// would share a few places of the cache.
constexpr Index VECTOR = 8;

// The memory behind one GapMemory.
class GapBuffers {
 public:
  explicit GapBuffers(Index n)
      : pitch_((n + VECTOR - 1) / VECTOR * VECTOR + VECTOR),
        missing_(n),
        observed_(n),
        factor_(n * pitch_),
        solved_(n * pitch_),
        difference_(pitch_),
        right_(pitch_),
        row_(pitch_) {}

  GapMemory memory() const {
    return {pitch_, missing_.get(), observed_.get(), factor_.get(), solved_.get(),
            difference_.get(), right_.get(), row_.get()};
  }

 private:
  Index pitch_;
  Buffer<std::int32_t> missing_, observed_;
  Buffer<double> factor_, solved_, difference_, right_, row_;
};

// Nanoseconds on one thread, roughly, for signals of which half is missing.
double nanoseconds(Index count, double n) { return double(count) * n * (10 + n * (1 + n / 64)); }

}  // namespace

void condition_rows(const Gaussian& gaussian, const GappedRows& signals, Index count, double* sum) {
  const Algebra& algebra = fost::algebra();
  const Index n = gaussian.n, most = (count + SIGNALS - 1) / SIGNALS;
  const Index ranges = sum ? std::min(most, MOST_SUMS) : most;
  const int threads = static_cast<int>(
      std::min<Index>(threads_for(nanoseconds(count, double(n))), std::max<Index>(ranges, 1)));
  std::vector<GapBuffers> buffers;
  for (int k = 0; k < threads; ++k) buffers.emplace_back(n);
  const Buffer<double> sums(sum ? ranges * n * n : 0);
  parallel_for(ranges, threads, [&](Index k, int thread) {
    double* own = sum ? sums.get() + k * n * n : nullptr;
    if (own) std::fill_n(own, n * n, 0.0);
    algebra.condition(gaussian, signals, count * k / ranges, count * (k + 1) / ranges, own,
                      buffers[thread].memory());
  });
  if (!sum) return;
  for (Index k = 0; k < ranges; ++k)
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j <= i; ++j) sum[i * n + j] += sums.get()[k * n * n + i * n + j];
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < i; ++j) sum[j * n + i] = sum[i * n + j];
}

}  // namespace fost
