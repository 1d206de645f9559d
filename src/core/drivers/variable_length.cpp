// Ranges of signals append their codes to separate parts, which are concatenated in order.
#include "drivers/variable_length.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "drivers/workspace.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/parallel.hpp"

namespace fost {
namespace {

// Capacity in entries before codes are appended to those of their range: a few tiles.
constexpr Index ROOM = 1 << 14;
// Signals per range.
constexpr Index RANGE_SIGNALS = 1024;

// The codes of a range of signals, of any number of entries.
template <class T> struct Part {
  std::vector<T> values;
  std::vector<std::int32_t> indices, counts;
};

// Working memory of one thread.
template <class T> struct VariableLengthBuffers {
  VariableLengthBuffers(const Coder& coder, const Kernels<T>& kernels, Index rows, int s)
      : width(tile_width(coder, kernels.width, rows)),
        step(std::max<Index>(1, ROOM / (width * Index(s))) * width),
        work(coder, kernels, rows),
        bank(coder, kernels, rows),
        selected(width),
        values(step * s),
        indices(step * s),
        counts(step),
        codes{values.get(), indices.get(), counts.get(), s} {}

  Index width, step;
  WorkBuffers<T> work;
  BankBuffers<T> bank;
  Buffer<Selected> selected;
  Buffer<T> values;
  Buffer<std::int32_t> indices, counts;
  Codes<T> codes;
};

template <class T> void append(Part<T>& part, const Codes<T>& codes, Index rows) {
  for (Index row = 0; row < rows; ++row) {
    const Index begin = row * codes.s, end = begin + codes.counts[row];
    part.values.insert(part.values.end(), codes.values + begin, codes.values + end);
    part.indices.insert(part.indices.end(), codes.indices + begin, codes.indices + end);
    part.counts.push_back(codes.counts[row]);
  }
}

// Concatenates all parts; each is released after it has been copied.
template <class T> OwnedRows<T> concatenated(std::vector<Part<T>>& parts, Index rows) {
  Index size = 0;
  for (const Part<T>& part : parts) size += Index(part.values.size());
  OwnedRows<T> out = {std::unique_ptr<T[]>(new T[size]),
                      std::unique_ptr<std::int32_t[]>(new std::int32_t[size]),
                      std::unique_ptr<std::int64_t[]>(new std::int64_t[rows + 1]), rows, size};
  std::int64_t end = 0;
  Index row = 0;
  out.indptr[0] = 0;
  for (Part<T>& part : parts) {
    std::copy(part.values.begin(), part.values.end(), out.values.get() + end);
    std::copy(part.indices.begin(), part.indices.end(), out.indices.get() + end);
    for (const std::int32_t count : part.counts) out.indptr[++row] = end += count;
    part = {};
  }
  return out;
}

}  // namespace

template <class T>
std::optional<OwnedRows<T>> encode_variable_length(const Coder& coder, const View<const T>& y,
                                                   const CodeLimits& limits) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const CoderProgram<T> program = coder.program<T>();
  const Index ranges = std::max<Index>(1, y.rows / RANGE_SIGNALS);
  // A transform, and a bisection of about ten steps over all features.
  const double work = nanoseconds(coder, y.rows) + 4.0 * double(y.rows) * double(coder.n_atoms());
  const int threads = static_cast<int>(std::min<Index>(ranges, threads_for(work)));
  std::vector<VariableLengthBuffers<T>> memory;
  memory.reserve(threads);
  for (int k = 0; k < threads; ++k) memory.emplace_back(coder, kernels, y.rows, limits.s);
  std::vector<Part<T>> parts(ranges);
  std::atomic<bool> finite{true}, room{true};
  parallel_for(ranges, threads, [&](Index k, int thread) {
    const VariableLengthBuffers<T>& own = memory[thread];
    const Index last = y.rows * (k + 1) / ranges;
    for (Index row = y.rows * k / ranges; row < last && finite && room; row += own.step) {
      const Index end = std::min(last, row + own.step);
      if (!kernels.encode_variable_length(program, y, row, end, limits, own.codes,
                                          own.bank.memory(), own.selected.get(),
                                          own.work.workspace())) {
        finite = false;
        return;
      }
      try {
        append(parts[k], own.codes, end - row);
      } catch (const std::bad_alloc&) {  // tasks must not throw
        room = false;
      }
    }
  });
  if (!room) throw std::bad_alloc();
  if (!finite) return std::nullopt;
  return concatenated(parts, y.rows);
}

template std::optional<OwnedRows<float>> encode_variable_length<float>(const Coder&,
                                                                       const View<const float>&,
                                                                       const CodeLimits&);
template std::optional<OwnedRows<double>> encode_variable_length<double>(const Coder&,
                                                                         const View<const double>&,
                                                                         const CodeLimits&);

}  // namespace fost
