// Variable-length selection: keeps as many of the largest coefficients of each signal as CodeLimits
// require (types/coding.hpp). Ties go to the lower index, zeros are never kept, and entries are
// sorted by index.
//
//   1. Convert the magnitudes of LANES<double> signals to float64, in which squares of float32
//      neither overflow nor underflow.
//   2. Bisect for a threshold per lane, between a sufficient one (entries below it may be dropped)
//      and an insufficient one, until a single magnitude lies between them: the last one to keep.
//   3. Write the entries that reach the threshold.
//
// The cost does not depend on the number of kept entries. NumPy twins: tests/reference.py,
// entries_within and select_within.
#pragma once

#include "kernels/simd/vector.hpp"
#include "types/coding.hpp"

namespace fost {
namespace FOST_NAMESPACE {

constexpr int WIDE = LANES<double>;

// Signals side by side, feature by feature.
template <class T> struct Columns {
  const T* x;  // feature i of lane l is x[i * width + l]
  Index width;
  int n;
};

// Magnitudes of WIDE signals in float64, with their sum of squares and maximum.
struct SignalMagnitudes {
  const double* of;  // feature i of lane l is of[i * WIDE + l]
  int n;
  Vec<double> energy, largest;
};

// Returns false if a coefficient is not finite.
template <class T> bool load_magnitudes(const Columns<T>& in, double* scratch,
                                        SignalMagnitudes& out) {
  Vec<double> zeros = {};
  out.of = scratch;
  out.n = in.n;
  out.energy = out.largest = zeros;
  for (int i = 0; i < in.n; ++i) {
    const Vec<double> a = absolute(load_double(in.x + i * in.width));
    zeros += a * 0.0;
    out.energy += a * a;
    out.largest = maximum<double>(a, out.largest);
    store(scratch + i * WIDE, a);
  }
  return all_zero<double>(zeros);
}

// The number of magnitudes that reach a threshold, and the energy of the others.
struct Split {
  Mask<double> count;
  Vec<double> dropped;
};

FOST_INLINE Split split_at(const SignalMagnitudes& a, Vec<double> level) {
  Mask<double> counts[2] = {};
  Vec<double> dropped[2] = {};
  const Vec<double> none = {};
  const auto add = [&](int i, int q) {
    const Vec<double> x = load(a.of + i * WIDE);
    const Mask<double> reached = x >= level;
    counts[q] -= reached;
    dropped[q] += reached ? none : x * x;
  };
  int i = 0;
  for (; i + 2 <= a.n; i += 2) add(i, 0), add(i + 1, 1);
  if (i < a.n) add(i, 0);
  return {counts[0] + counts[1], dropped[0] + dropped[1]};
}

// Nonnegative floating-point numbers are ordered like their bit patterns.
FOST_INLINE Mask<double> bits_of(Vec<double> a) { return reinterpret_cast<Mask<double>>(a); }
FOST_INLINE Vec<double> from_bits(Mask<double> a) { return reinterpret_cast<Vec<double>>(a); }

// Thresholds per lane, the entries that reach them, and the number that reach the next larger
// magnitude.
struct Thresholds {
  Mask<double> low;
  Split at_low;
  Mask<double> count_above;
};

// The largest sufficient thresholds. Lanes are settled at once if nothing needs to be kept, or if
// everything above a given threshold is kept. A permitted error of zero is a threshold of zero.
inline Thresholds find_thresholds(const SignalMagnitudes& a, const CodeLimits& limits) {
  const bool by_threshold = limits.threshold >= 0 || limits.tol == 0;
  const Vec<double> none = {}, tol = none + (by_threshold ? -1.0 : limits.tol);
  const Mask<double> one = Mask<double>{} + 1, most = Mask<double>{} + limits.s;
  const auto enough = [&](const Split& at) {
    return Mask<double>(at.dropped <= tol) | Mask<double>(at.count >= most);
  };
  Mask<double> low = limits.threshold > 0 ? bits_of(none + limits.threshold) + 1 : one;
  Mask<double> high = bits_of(a.largest) + 1;
  Split at_low = split_at(a, from_bits(low)), at_high = {Mask<double>{}, a.energy};
  const Mask<double> settled = ~enough(at_low) | enough(at_high);
  if (!by_threshold) {  // settled lanes need not keep anything
    low = settled ? high : low;
    at_low.count = settled ? at_high.count : at_low.count;
    at_low.dropped = settled ? at_high.dropped : at_low.dropped;
  }
  // Bounds of the last kept magnitude: everything above sqrt(tol) is kept, and n magnitudes below
  // sqrt(tol / n) are dropped together. Both are tried first.
  const Vec<double> guesses[2] = {none + __builtin_sqrt(limits.tol > 0 ? limits.tol / a.n : 0),
                                  none + __builtin_sqrt(limits.tol > 0 ? limits.tol : 0)};
  for (int step = 0;; ++step) {
    const Mask<double> open = ~settled & Mask<double>(high - low > one) &
                              Mask<double>(at_low.count - at_high.count > one);
    if (!any<double>(open)) break;
    Mask<double> middle = low + ((high - low) >> 1);
    if (step < 2 && !by_threshold) {
      const Mask<double> guess = bits_of(guesses[step]);
      middle = (Mask<double>(guess > low) & Mask<double>(guess < high)) ? guess : middle;
    }
    const Split at = split_at(a, from_bits(middle));
    const Mask<double> down = open & enough(at), up = open & ~enough(at);
    low = down ? middle : low;
    at_low.count = down ? at.count : at_low.count;
    at_low.dropped = down ? at.dropped : at_low.dropped;
    high = up ? middle : high;
    at_high.count = up ? at.count : at_high.count;
  }
  return {low, at_low, settled ? at_low.count : at_high.count};
}

// The selection in lane l.
inline Selected selection_in_lane(const SignalMagnitudes& a, const CodeLimits& limits,
                                  const Thresholds& thresholds, int l) {
  const double level = from_bits(thresholds.low)[l];
  std::int32_t count = static_cast<std::int32_t>(thresholds.at_low.count[l]);
  const std::int32_t above = static_cast<std::int32_t>(thresholds.count_above[l]);
  double dropped = thresholds.at_low.dropped[l];
  // If several magnitudes equal the threshold, the last of them may not be needed.
  const double tol = limits.tol > 0 ? limits.tol : -1;
  while (count > above + 1 && (count > limits.s || dropped + level * level <= tol)) {
    dropped += level * level;
    --count;
  }
  if (limits.threshold >= 0) {
    const double price = limits.threshold * limits.threshold * count;
    return {level, a.energy[l] - dropped - price, 0, count, 0};
  }
  return {level, dropped <= limits.tol ? double(a.n - count) : -1.0, -dropped, count, 0};
}

// The code of one lane whose threshold is reached by more entries than are kept, or by zeros (see
// collect_special in select.hpp).
template <class T>
void write_special(const Columns<T>& in, const Selected& selected, std::int32_t offset,
                   const Codes<T>& out) {
  int equal = selected.count, count = 0;
  const auto magnitude = [&](int i) {
    const double x = in.x[i * in.width];
    return x < 0 ? -x : x;
  };
  for (int i = 0; i < in.n; ++i) equal -= magnitude(i) > selected.level;
  for (int i = 0; i < in.n && count < selected.count; ++i) {
    const double a = magnitude(i);
    if (a == 0 || a < selected.level || (a == selected.level && equal-- <= 0)) continue;
    out.indices[count] = offset + i;
    out.values[count++] = in.x[i * in.width];
  }
  *out.counts = count;
}

// The codes of up to WIDE signals, as rows of `out`; indices of lane l begin at member * n.
template <class T>
void write_codes(const Columns<T>& in, const Selected* selected, int rows, const Codes<T>& out) {
  Vec<double> level = {};
  for (int l = 0; l < rows; ++l) {
    level[l] = selected[l].level;
    out.counts[l] = 0;
  }
  for (int first = 0; first < in.n; first += 64) {
    const int here = in.n - first < 64 ? in.n - first : 64;
    LaneSet<double> sets[64] = {};
    for (int i = 0; i < here; ++i)
      sets[i] = static_cast<LaneSet<double>>(
          at_least(absolute(load_double(in.x + (first + i) * in.width)), level));
    for (int l = 0; l < rows; ++l) {
      std::uint64_t bits = gather_bits(sets, l);
      int count = out.counts[l];
      const std::int32_t offset = selected[l].member * in.n + first;
      std::int32_t* indices = out.indices + l * static_cast<Index>(out.s);
      T* values = out.values + l * static_cast<Index>(out.s);
      for (; bits && count < selected[l].count; bits &= bits - 1, ++count) {
        const int i = __builtin_ctzll(bits);
        indices[count] = offset + i;
        values[count] = in.x[(first + i) * in.width + l];
      }
      out.counts[l] = bits ? out.s + 1 : count;  // more than are kept
    }
  }
  const Mask<double> bits = bits_of(level);
  for (int l = 0; l < rows; ++l)
    if (out.counts[l] > out.s || bits[l] == 1) {
      const Index row = l * static_cast<Index>(out.s);
      write_special<T>({in.x + l, in.width, in.n}, selected[l], selected[l].member * in.n,
                       {out.values + row, out.indices + row, out.counts + l, out.s});
    }
}

// Scratch entries: magnitudes, preceded by the coefficients in a member.
template <class T> constexpr Index variable_length_scratch(Index n) { return 3 * n * LANES<T>; }

}  // namespace FOST_NAMESPACE
}  // namespace fost
