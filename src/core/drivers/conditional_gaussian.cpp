// Sorts signals by their masks, processes ranges in parallel, and adds covariances in a fixed
// order.
#include "drivers/conditional_gaussian.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/buffer.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/parallel.hpp"

namespace fost {
namespace {

// Signals per range, a multiple of MAX_LANES. Ranges that add covariances have a matrix each, hence
// only a few of them.
constexpr Index SIGNALS = 64;
constexpr Index MAX_SUMS = 16;

// Entries per row with room for whole blocks; odd, so that columns do not map to the same cache
// sets.
Index with_room(Index n) { return (n + MAX_BLOCK) | 1; }

// Up to 64 flags as bits, the first flag highest.
std::uint64_t bits_of(const bool* flags, Index count) {
  std::uint64_t bits = 0;
  Index k = 0;
  for (; k + 8 <= count; k += 8) {
    std::uint64_t bytes = 0;
    for (int b = 0; b < 8; ++b) bytes |= std::uint64_t(flags[k + b]) << 8 * b;  // one load
    // Byte b goes to bit 63 - b, and no two partial products share a bit.
    bits = bits << 8 | (bytes * 0x8040201008040201u) >> 56;
  }
  for (; k < count; ++k) bits = bits << 1 | std::uint64_t(flags[k]);
  return bits;
}

// Signals sorted by their number of missing entries, then by mask: signals in one vector are alike,
// and equal masks are adjacent.
struct Order {
  std::vector<Index> places;
  Index largest = 0;  // size of the matrices that are factorised

  Order(const bool* missing, Index n, Index count, bool covariances) : places(count) {
    struct Key {
      Index n_missing;
      std::uint64_t mask;  // the mask itself, or a hash of a longer one
      Index row;
      bool operator<(const Key& other) const {
        if (n_missing != other.n_missing) return n_missing < other.n_missing;
        return mask != other.mask ? mask < other.mask : row < other.row;
      }
    };
    std::vector<Key> keys(count);
    for (Index r = 0; r < count; ++r) {
      const bool* own = missing + r * n;
      std::uint64_t mask = 0;
      Index n_missing = 0;
      for (Index i = 0; i < n; i += 64) {
        const std::uint64_t bits = bits_of(own + i, std::min<Index>(64, n - i));
        n_missing += __builtin_popcountll(bits);
        mask = (mask ^ mask >> 29) * 0x9e3779b97f4a7c15u ^ bits;
      }
      keys[r] = {n_missing, mask, r};
    }
    std::sort(keys.begin(), keys.end());
    for (Index r = 0; r < count; ++r) places[r] = keys[r].row;
    for (Index r = 0; r < count; r += MAX_LANES) {
      const Index last = std::min<Index>(r + MAX_LANES, count) - 1;
      largest = std::max<Index>(largest, std::min(keys[last].n_missing, n - keys[r].n_missing));
    }
    if (covariances && count)
      largest = std::max<Index>(
          largest, std::min<Index>(keys[count - 1].n_missing, max_missing_by_precision(int(n))));
  }
};

// Owner of a ConditioningMemory.
class ConditioningBuffers {
 public:
  ConditioningBuffers(Index n, Index largest, bool covariances)
      : pitch_(with_room(largest)),
        wide_(with_room(n)),
        missing_(n * MAX_LANES),
        observed_(n * MAX_LANES),
        kept_(pitch_ * MAX_LANES),
        factor_(pitch_ * pitch_ * MAX_LANES),
        lines_(4 * pitch_ * MAX_LANES),
        rows_(2 * wide_ * MAX_LANES),
        solved_(covariances ? (pitch_ + MAX_BLOCK + 1) * wide_ * MAX_LANES : 0) {}

  ConditioningMemory memory() const {
    const Index line = pitch_ * MAX_LANES, row = wide_ * MAX_LANES;
    double *lines = lines_.get(), *solved = solved_.get();
    return {pitch_,
            wide_,
            missing_.get(),
            observed_.get(),
            kept_.get(),
            factor_.get(),
            lines,
            lines + line,
            lines + 2 * line,
            rows_.get(),
            rows_.get() + row,
            solved,
            solved + pitch_ * row,
            solved + (pitch_ + MAX_BLOCK) * row};
  }

 private:
  Index pitch_, wide_;
  Buffer<std::int32_t> missing_, observed_, kept_;
  Buffer<double> factor_, lines_, rows_, solved_;
};

// The factor that scales the sum over contributing signals to all signals: the ratio of the sums of
// weights.
double weight_ratio(const IncompleteRows& signals, Index count) {
  double all = 0, counted = 0;
  for (Index r = 0; r < count; ++r) {
    const double weight = signals.weights ? signals.weights[signals.order[r]] : 1;
    all += weight;
    if (contributes(r, signals.every)) counted += weight;
  }
  return counted > 0 ? all / counted : 1;
}

// Approximate time on one thread, for signals with half of their entries missing.
double nanoseconds(Index count, double n) { return double(count) * n * (5 + n * (0.1 + n / 500)); }

}  // namespace

void condition_rows(std::vector<ConditioningTask> tasks) {
  struct Range {
    Index task, first, last;
    double* sum;
  };
  const Algebra& algebra = fost::algebra();
  std::vector<Order> orders;
  std::vector<Range> ranges;
  double work = 0;
  Index n = 0, largest = 0, sums = 0;
  bool covariances = false;
  for (ConditioningTask& task : tasks) {
    n = task.gaussian.n;
    orders.emplace_back(task.signals.missing, n, task.count, task.sum != nullptr);
    largest = std::max(largest, orders.back().largest);
    work += nanoseconds(task.count, double(n));
    covariances = covariances || task.sum || task.signals.variances;
    const Index most = (task.count + SIGNALS - 1) / SIGNALS;
    const Index parts = task.sum ? std::min(most, MAX_SUMS) : most;
    if (task.sum) sums += parts;
    for (Index k = 0; k < parts; ++k)
      ranges.push_back({&task - tasks.data(), most * k / parts * SIGNALS,
                        std::min(most * (k + 1) / parts * SIGNALS, task.count), nullptr});
  }
  const Buffer<double> partial(sums * n * n);
  double* next = partial.get();
  for (Range& range : ranges) {
    if (!tasks[range.task].sum) continue;
    range.sum = next;
    next += n * n;
  }
  for (std::size_t t = 0; t < tasks.size(); ++t) tasks[t].signals.order = orders[t].places.data();
  const int threads = static_cast<int>(
      std::min<Index>(threads_for(work), std::max<Index>(Index(ranges.size()), 1)));
  std::vector<ConditioningBuffers> buffers;
  for (int k = 0; k < threads; ++k) buffers.emplace_back(n, largest, covariances);
  parallel_for(Index(ranges.size()), threads, [&](Index k, int thread) {
    const Range& range = ranges[k];
    const ConditioningTask& task = tasks[range.task];
    if (range.sum) std::fill_n(range.sum, n * n, 0.0);
    algebra.condition(task.gaussian, task.signals, range.first, range.last, range.sum,
                      buffers[thread].memory());
  });
  std::vector<double> scales;
  for (const ConditioningTask& task : tasks)
    scales.push_back(task.sum && task.signals.every > 1 ? weight_ratio(task.signals, task.count)
                                                        : 1);
  for (const Range& range : ranges) {
    if (!range.sum) continue;
    const ConditioningTask& task = tasks[range.task];
    const double scale = scales[range.task];
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j <= i; ++j) task.sum[i * n + j] += scale * range.sum[i * n + j];
  }
  for (const ConditioningTask& task : tasks)
    for (Index i = 0; i < n && task.sum; ++i)
      for (Index j = 0; j < i; ++j) task.sum[j * n + i] = task.sum[i * n + j];
}

void invert_covariances(const std::vector<const double*>& covariances, int n,
                        const std::vector<double*>& inverses, double* logarithms) {
  const Algebra& algebra = fost::algebra();
  const Index pitch = with_room(n), line = pitch * MAX_LANES;
  const Buffer<double> factor(pitch * line), solved(pitch * line), lines(3 * line);
  const InverseMemory memory = {pitch,       factor.get(),       solved.get(),
                                lines.get(), lines.get() + line, lines.get() + 2 * line};
  const Index count = Index(covariances.size());
  for (Index first = 0; first < count; first += algebra.lanes)
    algebra.invert_lanes(covariances.data() + first, n,
                         static_cast<int>(std::min<Index>(algebra.lanes, count - first)),
                         inverses.data() + first, logarithms + first, memory);
}

void mahalanobis_distances(const MahalanobisTask& task, Index count) {
  const Algebra& algebra = fost::algebra();
  const Index ranges = (count + SIGNALS - 1) / SIGNALS;
  const double work = double(count) * task.members * task.n * (4 + task.n / 20.0) / 4;
  const int threads =
      static_cast<int>(std::min<Index>(threads_for(work), std::max<Index>(ranges, 1)));
  std::vector<Buffer<float>> buffers;
  for (int k = 0; k < threads; ++k) buffers.emplace_back(Index(task.n) * MAHALANOBIS_MEMORY);
  parallel_for(ranges, threads, [&](Index k, int thread) {
    algebra.mahalanobis_distances(task, k * SIGNALS, std::min((k + 1) * SIGNALS, count),
                                  buffers[thread].get());
  });
}

}  // namespace fost
