#include "conditioning.hpp"

#include <algorithm>
#include <cstdint>
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

// Rows of n entries with room for whole blocks of any size up to the largest; odd, so that columns do
// not fall into the same lines of a cache.
Index with_room(Index n) { return (n + LARGEST_BLOCK) | 1; }

// Signals by how much of them is missing, so that those worked on at once are alike, and those with
// the same gaps side by side.
struct Order {
  std::vector<Index> places;
  Index largest = 0;  // of the matrices that are factorised

  Order(const bool* missing, Index n, Index count, bool covariances) : places(count) {
    struct Key {
      Index gaps;
      std::uint64_t mask;  // gaps themselves, or a hash where they are more than fit
      Index row;
      bool operator<(const Key& other) const {
        if (gaps != other.gaps) return gaps < other.gaps;
        return mask != other.mask ? mask < other.mask : row < other.row;
      }
    };
    std::vector<Key> keys(count);
    for (Index r = 0; r < count; ++r) {
      const bool* own = missing + r * n;
      std::uint64_t mask = 0;
      for (Index i = 0; i < n; i += 64) {
        std::uint64_t bits = 0;
        for (Index k = i; k < std::min(i + 64, n); ++k) bits = bits << 1 | (own[k] ? 1 : 0);
        mask = (mask ^ mask >> 29) * 0x9e3779b97f4a7c15u ^ bits;
      }
      keys[r] = {std::count(own, own + n, true), mask, r};
    }
    std::sort(keys.begin(), keys.end());
    for (Index r = 0; r < count; ++r) places[r] = keys[r].row;
    for (Index r = 0; r < count; r += MOST_LANES) {
      const Index last = std::min<Index>(r + MOST_LANES, count) - 1;
      largest = std::max<Index>(largest, std::min(keys[last].gaps, n - keys[r].gaps));
    }
    if (covariances && count)
      largest = std::max<Index>(largest, std::min<Index>(keys[count - 1].gaps, most_by_precision(int(n))));
  }
};

// The memory behind one GapMemory.
class GapBuffers {
 public:
  GapBuffers(Index n, Index largest, bool covariances)
      : pitch_(with_room(largest)),
        wide_(with_room(n)),
        missing_(n * MOST_LANES),
        observed_(n * MOST_LANES),
        kept_(pitch_ * MOST_LANES),
        factor_(pitch_ * pitch_ * MOST_LANES),
        lines_(4 * pitch_ * MOST_LANES),
        rows_(2 * wide_ * MOST_LANES),
        solved_(covariances ? (pitch_ + LARGEST_BLOCK + 1) * wide_ * MOST_LANES : 0) {}

  GapMemory memory() const {
    const Index line = pitch_ * MOST_LANES, row = wide_ * MOST_LANES;
    double *lines = lines_.get(), *solved = solved_.get();
    return {pitch_, wide_, missing_.get(), observed_.get(), kept_.get(), factor_.get(), lines, lines + line,
            lines + 2 * line, rows_.get(), rows_.get() + row, solved, solved + pitch_ * row,
            solved + (pitch_ + LARGEST_BLOCK) * row};
  }

 private:
  Index pitch_, wide_;
  Buffer<std::int32_t> missing_, observed_, kept_;
  Buffer<double> factor_, lines_, rows_, solved_;
};

// What the sum over those signals that count is multiplied by, to stand for all: the sum of the weights
// of all over that of theirs.
double share_inverted(const GappedRows& signals, Index count) {
  double all = 0, counted = 0;
  for (Index r = 0; r < count; ++r) {
    const double weight = signals.weights ? signals.weights[signals.order[r]] : 1;
    all += weight;
    if (is_counted(r, signals.every)) counted += weight;
  }
  return counted > 0 ? all / counted : 1;
}

// Nanoseconds on one thread, roughly, for signals of which half is missing.
double nanoseconds(Index count, double n) { return double(count) * n * (5 + n * (0.1 + n / 500)); }

}  // namespace

void condition_rows(const Gaussian& gaussian, GappedRows signals, Index count, double* sum) {
  const Algebra& algebra = fost::algebra();
  const Index n = gaussian.n, most = (count + SIGNALS - 1) / SIGNALS;
  const Order order(signals.missing, n, count, sum != nullptr);
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
  const double scale = signals.every > 1 ? share_inverted(signals, count) : 1;
  for (Index k = 0; k < ranges; ++k)
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j <= i; ++j) sum[i * n + j] += scale * sums.get()[k * n * n + i * n + j];
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < i; ++j) sum[j * n + i] = sum[i * n + j];
}

}  // namespace fost
