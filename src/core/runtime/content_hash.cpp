// Content hashes of signals, in parallel over ranges of rows.
#include "runtime/content_hash.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "runtime/parallel.hpp"

namespace fost {
namespace {

using Word = std::uint64_t;

constexpr Word SHAPE_BITS = ~Word(0) << 32;
// Independent comparisons, to hide latency.
constexpr Index CHAINS = 8;
// Not a round number, so that signals with few digits do not lie midway between two steps.
constexpr double STEPS = 181.0233;
// Adding it to a number below 2^51 leaves that number, rounded, in the low bits.
constexpr double ROUNDING = 6755399441055744.0;
// Smaller signals have no shape hash, since the reciprocal would overflow.
constexpr double LEAST = 1e-300;

// The finaliser of SplitMix64.
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

// The largest magnitude, ignoring NaN.
template <class T> double largest(const T* y, Index n, Index stride) {
  double found[CHAINS];
  std::fill_n(found, CHAINS, LEAST);
  const auto compare = [&](Index i, Index chain) {
    const double size = std::fabs(static_cast<double>(y[i * stride]));
    found[chain] = size > found[chain] ? size : found[chain];
  };
  Index i = 0;
  for (; i + CHAINS <= n; i += CHAINS) {
    for (Index chain = 0; chain < CHAINS; ++chain) compare(i + chain, chain);
  }
  for (; i < n; ++i) compare(i, 0);
  return *std::max_element(found, found + CHAINS);
}

template <class T> Word content_hash(const T* y, Index n, Index stride, const Word* factors) {
  const double scale = STEPS / largest(y, n, stride);
  Word shape = 0, content = 0;
  for (Index i = 0; i < n; ++i) {
    const double entry = static_cast<double>(y[i * stride]);
    const Word word = bits(entry);
    shape += factors[i] * bits(entry * scale + ROUNDING);
    // Numbers with few digits end in zero bits, which a product would keep.
    content += factors[i] * (word ^ (word >> 32));
  }
  return (mixed(shape) & SHAPE_BITS) | (mixed(content) & ~SHAPE_BITS);
}

}  // namespace

template <class T> void hash_signals(const View<const T>& y, Word* hashes) {
  std::vector<Word> factors(static_cast<std::size_t>(y.columns));
  Word step = 0;
  for (Word& factor : factors) factor = mixed(step += 0x9E3779B97F4A7C15u) | 1;
  const double entries = static_cast<double>(y.rows) * static_cast<double>(y.columns);
  const int threads = threads_for(entries);
  const Index ranges = std::min<Index>(y.rows, threads == 1 ? 1 : 8 * Index(threads));
  parallel_for(ranges, threads, [&](Index k, int) {
    for (Index row = y.rows * k / ranges; row < y.rows * (k + 1) / ranges; ++row) {
      const T* signal = y.data + row * y.row_stride;
      hashes[row] = y.column_stride == 1
                        ? content_hash(signal, y.columns, 1, factors.data())
                        : content_hash(signal, y.columns, y.column_stride, factors.data());
    }
  });
}

template void hash_signals(const View<const float>&, Word*);
template void hash_signals(const View<const double>&, Word*);

}  // namespace fost
