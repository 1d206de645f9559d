#include "conditioning.hpp"

#include <algorithm>
#include <vector>

#include "buffer.hpp"
#include "dispatch.hpp"
#include "parallel.hpp"

namespace fost {
namespace {

// Signals in a range, a multiple of MOST_LANES; where covariances are added up, ranges have a matrix
// each, and so there are only a few of them.
constexpr Index SIGNALS = 64;
constexpr Index MOST_SUMS = 16;

Index rounded_up(Index n, Index unit) { return (n + unit - 1) / unit * unit; }

// Signals by how much of them is missing, so that those worked on at once are alike. Those with the
// same gaps stay side by side.
struct Order {
  std::vector<Index> places;
  Index largest = 0;  // of the smaller matrices that are worked on at once

  Order(const bool* missing, Index n, Index count) : places(count) {
    std::vector<int> gaps(count);
    std::vector<Index> begins(n + 2);
    for (Index r = 0; r < count; ++r) {
      gaps[r] = static_cast<int>(std::count(missing + r * n, missing + (r + 1) * n, true));
      ++begins[gaps[r] + 1];
    }
    for (Index k = 0; k <= n; ++k) begins[k + 1] += begins[k];
    for (Index r = 0; r < count; ++r) places[begins[gaps[r]]++] = r;
    for (Index r = 0; r < count; r += MOST_LANES) {
      const Index last = std::min<Index>(r + MOST_LANES, count) - 1;
      largest = std::max<Index>(largest, std::min<Index>(gaps[places[last]], n - gaps[places[r]]));
    }
  }
};

// The memory behind one GapMemory.
class GapBuffers {
 public:
  GapBuffers(Index n, Index largest, bool covariances)
      : pitch_(rounded_up(largest, LARGEST_BLOCK) + 1),
        wide_(rounded_up(n, LARGEST_BLOCK) + 1),
        missing_(n * MOST_LANES),
        observed_(n * MOST_LANES),
        factor_(pitch_ * pitch_ * MOST_LANES),
        lines_(4 * pitch_ * MOST_LANES),
        rows_(2 * wide_ * MOST_LANES),
        solved_(covariances ? (pitch_ + LARGEST_BLOCK + 1) * wide_ * MOST_LANES : 0) {}

  GapMemory memory() const {
    const Index line = pitch_ * MOST_LANES, row = wide_ * MOST_LANES;
    double *lines = lines_.get(), *solved = solved_.get();
    return {pitch_, wide_, missing_.get(), observed_.get(), factor_.get(), lines, lines + line,
            lines + 2 * line, rows_.get(), rows_.get() + row, solved, solved + pitch_ * row,
            solved + (pitch_ + LARGEST_BLOCK) * row};
  }

 private:
  Index pitch_, wide_;
  Buffer<std::int32_t> missing_, observed_;
  Buffer<double> factor_, lines_, rows_, solved_;
};

// Nanoseconds on one thread, roughly, for signals of which half is missing.
double nanoseconds(Index count, double n) { return double(count) * n * (5 + n * (0.1 + n / 500)); }

}  // namespace

void condition_rows(const Gaussian& gaussian, GappedRows signals, Index count, double* sum) {
  const Algebra& algebra = fost::algebra();
  const Index n = gaussian.n, most = (count + SIGNALS - 1) / SIGNALS;
  const Order order(signals.missing, n, count);
  signals.order = order.places.data();
  const Index ranges = sum ? std::min(most, MOST_SUMS) : most;
  const int threads = static_cast<int>(
      std::min<Index>(threads_for(nanoseconds(count, double(n))), std::max<Index>(ranges, 1)));
  std::vector<GapBuffers> buffers;
  for (int k = 0; k < threads; ++k) buffers.emplace_back(n, order.largest, sum || signals.variances);
  const Buffer<double> sums(sum ? ranges * n * n : 0);
  const auto begin = [&](Index k) { return most * k / ranges * SIGNALS; };
  parallel_for(ranges, threads, [&](Index k, int thread) {
    double* own = sum ? sums.get() + k * n * n : nullptr;
    if (own) std::fill_n(own, n * n, 0.0);
    algebra.condition(gaussian, signals, begin(k), std::min(begin(k + 1), count), own,
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
