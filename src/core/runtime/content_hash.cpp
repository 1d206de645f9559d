#include "runtime/content_hash.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "runtime/parallel.hpp"

namespace fost {
namespace {

using Word = std::uint64_t;

constexpr Word seen_bits = ~Word(0) << 32;
// Comparisons that do not wait for each other.
constexpr Index chains = 8;
// No round number, so that signals of few digits are not right between two steps.
constexpr double steps = 181.0233;
// Added to a number below 2^51 it leaves that, rounded, in the last bits.
constexpr double rounding = 6755399441055744.0;
// Below it, what a signal looks like is not seen: its reciprocal must not overflow.
constexpr double least = 1e-300;

// The end of SplitMix64.
Word mixed(Word x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

Word bits(double x) {
  Word word;
  std::memcpy(&word, &x, sizeof word);
  return word;
}

// The largest magnitude, which is not that of NaN.
template <class T> double largest(const T* y, Index n, Index stride) {
  double found[chains];
  std::fill_n(found, chains, least);
  const auto compare = [&](Index i, Index chain) {
    const double size = std::fabs(static_cast<double>(y[i * stride]));
    found[chain] = size > found[chain] ? size : found[chain];
  };
  Index i = 0;
  for (; i + chains <= n; i += chains) {
    for (Index chain = 0; chain < chains; ++chain) compare(i + chain, chain);
  }
  for (; i < n; ++i) compare(i, 0);
  return *std::max_element(found, found + chains);
}

template <class T> Word mark(const T* y, Index n, Index stride, const Word* factors) {
  const double scale = steps / largest(y, n, stride);
  Word looks = 0, holds = 0;
  for (Index i = 0; i < n; ++i) {
    const double entry = static_cast<double>(y[i * stride]);
    const Word word = bits(entry);
    looks += factors[i] * bits(entry * scale + rounding);
    // Numbers of few digits end in zeros, which a product would keep.
    holds += factors[i] * (word ^ (word >> 32));
  }
  return (mixed(looks) & seen_bits) | (mixed(holds) & ~seen_bits);
}

}  // namespace

template <class T> void mark_signals(const View<const T>& y, Word* marks) {
  std::vector<Word> factors(static_cast<std::size_t>(y.columns));
  Word step = 0;
  for (Word& factor : factors) factor = mixed(step += 0x9E3779B97F4A7C15u) | 1;
  const double entries = static_cast<double>(y.rows) * static_cast<double>(y.columns);
  const int threads = threads_for(entries);
  const Index ranges = std::min<Index>(y.rows, threads == 1 ? 1 : 8 * Index(threads));
  parallel_for(ranges, threads, [&](Index k, int) {
    for (Index row = y.rows * k / ranges; row < y.rows * (k + 1) / ranges; ++row) {
      const T* signal = y.data + row * y.row_stride;
      marks[row] = y.column_stride == 1 ? mark(signal, y.columns, 1, factors.data())
                                        : mark(signal, y.columns, y.column_stride, factors.data());
    }
  });
}

template void mark_signals(const View<const float>&, Word*);
template void mark_signals(const View<const double>&, Word*);

}  // namespace fost
