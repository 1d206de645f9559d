#include "drivers/conditional_gaussian.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/buffer.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/parallel.hpp"

namespace fost {
namespace {

// Signals in a range, a multiple of MOST_LANES; where covariances are added up, ranges have a matrix
// each, and so there are only a few of them.
constexpr Index SIGNALS = 64;
constexpr Index MOST_SUMS = 16;

// Rows of n entries with room for whole blocks of any size up to the largest; odd, so that columns do
// not fall into the same lines of a cache.
Index with_room(Index n) { return (n + LARGEST_BLOCK) | 1; }

// Up to 64 flags as bits, the first of them the highest one.
std::uint64_t bits_of(const bool* flags, Index count) {
  std::uint64_t bits = 0;
  Index k = 0;
  for (; k + 8 <= count; k += 8) {
    std::uint64_t bytes = 0;
    for (int b = 0; b < 8; ++b) bytes |= std::uint64_t(flags[k + b]) << 8 * b;  // one load
    // Byte b goes to bit 63 - b, and no two products to the same bit.
    bits = bits << 8 | (bytes * 0x8040201008040201u) >> 56;
  }
  for (; k < count; ++k) bits = bits << 1 | std::uint64_t(flags[k]);
  return bits;
}

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
      Index gaps = 0;
      for (Index i = 0; i < n; i += 64) {
        const std::uint64_t bits = bits_of(own + i, std::min<Index>(64, n - i));
        gaps += __builtin_popcountll(bits);
        mask = (mask ^ mask >> 29) * 0x9e3779b97f4a7c15u ^ bits;
      }
      keys[r] = {gaps, mask, r};
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

void condition_rows(std::vector<GapTask> tasks) {
  struct Range {
    Index task, first, last;
    double* sum;
  };
  const Algebra& algebra = fost::algebra();
  std::vector<Order> orders;
  std::vector<Range> ranges;
  double work = 0;
  Index n = 0, largest = 0, sums = 0;
  bool sides = false;
  for (GapTask& task : tasks) {
    n = task.gaussian.n;
    orders.emplace_back(task.signals.missing, n, task.count, task.sum != nullptr);
    largest = std::max(largest, orders.back().largest);
    work += nanoseconds(task.count, double(n));
    sides = sides || task.sum || task.signals.variances;
    const Index most = (task.count + SIGNALS - 1) / SIGNALS;
    const Index parts = task.sum ? std::min(most, MOST_SUMS) : most;
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
  const int threads =
      static_cast<int>(std::min<Index>(threads_for(work), std::max<Index>(Index(ranges.size()), 1)));
  std::vector<GapBuffers> buffers;
  for (int k = 0; k < threads; ++k) buffers.emplace_back(n, largest, sides);
  parallel_for(Index(ranges.size()), threads, [&](Index k, int thread) {
    const Range& range = ranges[k];
    const GapTask& task = tasks[range.task];
    if (range.sum) std::fill_n(range.sum, n * n, 0.0);
    algebra.condition(task.gaussian, task.signals, range.first, range.last, range.sum,
                      buffers[thread].memory());
  });
  std::vector<double> scales;
  for (const GapTask& task : tasks)
    scales.push_back(task.sum && task.signals.every > 1 ? share_inverted(task.signals, task.count) : 1);
  for (const Range& range : ranges) {
    if (!range.sum) continue;
    const GapTask& task = tasks[range.task];
    const double scale = scales[range.task];
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j <= i; ++j) task.sum[i * n + j] += scale * range.sum[i * n + j];
  }
  for (const GapTask& task : tasks)
    for (Index i = 0; i < n && task.sum; ++i)
      for (Index j = 0; j < i; ++j) task.sum[j * n + i] = task.sum[i * n + j];
}

void invert_covariances(const std::vector<const double*>& covariances, int n,
                        const std::vector<double*>& inverses, double* logarithms) {
  const Algebra& algebra = fost::algebra();
  const Index pitch = with_room(n), line = pitch * MOST_LANES;
  const Buffer<double> factor(pitch * line), solved(pitch * line), lines(3 * line);
  const InverseMemory memory = {pitch, factor.get(), solved.get(), lines.get(), lines.get() + line,
                                lines.get() + 2 * line};
  const Index count = Index(covariances.size());
  for (Index first = 0; first < count; first += algebra.lanes)
    algebra.invert_lanes(covariances.data() + first, n,
                         static_cast<int>(std::min<Index>(algebra.lanes, count - first)),
                         inverses.data() + first, logarithms + first, memory);
}

void find_energies(const Distances& task, Index count) {
  const Algebra& algebra = fost::algebra();
  const Index ranges = (count + SIGNALS - 1) / SIGNALS;
  const double work = double(count) * task.members * task.n * (4 + task.n / 20.0) / 4;
  const int threads =
      static_cast<int>(std::min<Index>(threads_for(work), std::max<Index>(ranges, 1)));
  std::vector<Buffer<float>> buffers;
  for (int k = 0; k < threads; ++k) buffers.emplace_back(Index(task.n) * MOST_ENERGIES);
  parallel_for(ranges, threads, [&](Index k, int thread) {
    algebra.find_energies(task, k * SIGNALS, std::min((k + 1) * SIGNALS, count),
                          buffers[thread].get());
  });
}

}  // namespace fost
