// Missing entries of signals given the observed ones, under a Gaussian.
//
// With the covariance C, the precision P = C^-1, d = y - mean, and indices m of missing and o of
// observed entries:
//
//     conditional mean of d_m   -P_mm^-1 P_mo d_o                   or  C_mo C_oo^-1 d_o
//     conditional covariance    P_mm^-1                             or  C_mm - C_mo C_oo^-1 C_om
//     d_o^T C_oo^-1 d_o         d_o^T P_oo d_o - |R^-1 P_mo d_o|^2  or  |R^-1 d_o|^2
//     log |C_oo|                log |C| + log |P_mm|                or  log |C_oo|
//
// by the Cholesky factor R of P_mm or of C_oo, whichever is cheaper, for several signals at once.
// Consecutive signals with the same mask share the factor. NumPy twin: tests/reference.py,
// condition.
#pragma once

#include "kernels/gaussian/batched_cholesky.hpp"
#include "kernels/simd/shuffle.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// The positions of the set bits of a byte, from the lowest on; zeros beyond.
struct SetBitTable {
  std::uint8_t at[256][8] = {};
  constexpr SetBitTable() {
    for (int byte = 0; byte < 256; ++byte)
      for (int bit = 0, count = 0; bit < 8; ++bit)
        if (byte >> bit & 1) at[byte][count++] = static_cast<std::uint8_t>(bit);
  }
};
constexpr SetBitTable SET_BITS;

// The next eight flags as bits of a number, the first flag lowest.
FOST_INLINE int eight_flags(const bool* flags) {
  std::uint64_t bytes;
  __builtin_memcpy(&bytes, flags, 8);
  // No two partial products share a bit.
  return static_cast<int>((bytes * 0x0102040810204080u) >> 56);
}

// As many signals as a vector has lanes, with their factorised matrices.
class ConditionedGroup {
 public:
  ConditionedGroup(const Gaussian& gaussian, const IncompleteRows& signals,
                   const ConditioningMemory& memory)
      : g_(gaussian), signals_(signals), at_(memory) {}

  // Takes the next `active` signals of the order; `counts` says whether their conditional
  // covariances are added. Lanes beyond repeat the first signal.
  void take(const Index* order, int active, bool counts, double* sum) {
    const int n = g_.n;
    bool same = taken_ > 0;
    for (int l = 0; l < L; ++l) {
      const Index row = order[l < active ? l : 0];
      same =
          same && !__builtin_memcmp(signals_.missing + row * n, signals_.missing + row_[l] * n, n);
      next_[l] = row;
    }
    if (!same) add_covariance(sum);
    for (int l = 0; l < L; ++l) row_[l] = next_[l];
    taken_ = active;
    if (!same) {
      split(sum && counts);
      factorise_lanes();
      if (signals_.variances) find_variances();
    }
    for (int l = 0; l < active && counts; ++l)
      weight_[l] += signals_.weights ? signals_.weights[row_[l]] : 1;
  }

  // Adds the conditional covariance of signals with equal masks, times the sum of their weights, to
  // the lower triangle of `sum`.
  void add_covariance(double* sum) {
    bool counts = false;
    for (int l = 0; l < L; ++l) counts = counts || weight_[l] > 0;
    if (sum && counts)
      explained_covariance([&](int first, const double* rows) {
        for (int l = 0; l < L; ++l)
          if (weight_[l] > 0)
            for (int i = first; i < first + BLOCK && i < n_missing_[l]; ++i)
              add_row(l, i, rows + (i - first) * at_.wide * L + l, sum);
      });
    for (int l = 0; l < L; ++l) weight_[l] = 0;
  }

  // Fills in the conditional means and stores the other requested results.
  void fill() {
    const int n = g_.n;
    Entry* difference = entries(at_.difference);
    find_differences(difference);
    const Entry energy = by_precision_ ? solve_missing(difference) : solve_observed(difference);
    for (int l = 0; l < taken_; ++l) {
      double* y = signals_.rows + row_[l] * n;
      const std::int32_t* missing = places(at_.missing, l);
      for (int k = 0; k < n_missing_[l]; ++k)
        y[missing[k]] = g_.mean[missing[k]] +
                        (by_precision_ ? -at_.right[k * L + l] : at_.product[missing[k] * L + l]);
      if (signals_.densities) {
        constexpr double LOG_TWO_PI = 1.8378770664093454836;
        signals_.densities[row_[l]] =
            -0.5 * (energy[l] + logarithm_[l] + (n - n_missing_[l]) * LOG_TWO_PI);
      }
      if (signals_.variances) {
        double* variances = signals_.variances + row_[l] * n;
        for (int i = 0; i < n; ++i) variances[i] = 0;
        for (int k = 0; k < n_missing_[l]; ++k) variances[missing[k]] = at_.variances[k * L + l];
      }
    }
  }

 private:
  static constexpr int L = LANES<double>;

  static Entry* entries(double* numbers) { return reinterpret_cast<Entry*>(numbers); }
  std::int32_t* places(std::int32_t* all, int lane) const {
    return all + static_cast<Index>(lane) * g_.n;
  }
  // Indices of the rows of the factorised matrix, and their number.
  std::int32_t* kept(int lane) const {
    return places(by_precision_ ? at_.missing : at_.observed, lane);
  }
  int n_kept(int lane) const { return by_precision_ ? n_missing_[lane] : g_.n - n_missing_[lane]; }

  // Observed entries minus the mean, feature by feature; zero where missing.
  void find_differences(Entry* difference) const {
    const int n = g_.n;
    Mask<double> bits;  // one bit per feature of a vector
    for (int j = 0; j < L; ++j) bits[j] = std::int64_t(1) << j;
    int i = 0;
    for (; i + 8 <= n; i += 8) {
      std::int64_t missing[L];
      for (int l = 0; l < L; ++l) missing[l] = eight_flags(signals_.missing + row_[l] * n + i);
#pragma GCC unroll 4
      for (int part = 0; part < 8; part += L) {
        const Entry mean = load(g_.mean + i + part);
        Entry block[L];
#pragma GCC unroll 8
        for (int l = 0; l < L; ++l) {
          const Entry own = load(signals_.rows + row_[l] * n + i + part) - mean;
          block[l] = (bits & (missing[l] >> part)) == 0 ? own : Entry{};
        }
        transpose<double>(block);
#pragma GCC unroll 8
        for (int j = 0; j < L; ++j) difference[i + part + j] = block[j];
      }
    }
    for (; i < n; ++i)
      for (int l = 0; l < L; ++l) {
        const Index place = row_[l] * n + i;
        difference[i][l] = signals_.missing[place] ? 0 : signals_.rows[place] - g_.mean[i];
      }
  }

  // Finds the indices of missing and observed entries, and chooses the matrix: the smaller one or,
  // if covariances are added, P_mm unless it is much larger.
  void split(bool covariances) {
    int most_missing = 0, fewest_missing = g_.n;
    for (int l = 0; l < L; ++l) {
      const bool* mask = signals_.missing + row_[l] * g_.n;
      std::int32_t *missing = places(at_.missing, l), *observed = places(at_.observed, l);
      int m = 0, o = 0, i = 0;
      for (; i + 8 <= g_.n; i += 8) {
        const int bits = eight_flags(mask + i);
        const std::uint8_t *found = SET_BITS.at[bits], *others = SET_BITS.at[255 - bits];
#pragma GCC unroll 8
        // Entries beyond the end are overwritten next.
        for (int k = 0; k < 8; ++k) missing[m + k] = i + found[k];
#pragma GCC unroll 8
        for (int k = 0; k < 8; ++k) observed[o + k] = i + others[k];
        const int count = __builtin_popcount(bits);
        m += count;
        o += 8 - count;
      }
      for (; i < g_.n; ++i) {
        missing[m] = observed[o] = i;
        m += mask[i];
        o += !mask[i];
      }
      n_missing_[l] = m;
      most_missing = m > most_missing ? m : most_missing;
      fewest_missing = m < fewest_missing ? m : fewest_missing;
    }
    by_precision_ = most_missing <= g_.n - fewest_missing ||
                    (covariances && most_missing <= max_missing_by_precision(g_.n));
    count_ = round_up_to_blocks(by_precision_ ? most_missing : g_.n - fewest_missing);
    columns_ = round_up_to_blocks(most_missing);
  }

  // Gathers and factorises the matrices of all lanes.
  void factorise_lanes() {
    const double* from = by_precision_ ? g_.precision : g_.covariance;
    const Index pitch = at_.pitch;
    int common = count_;  // rows that all lanes have
    for (int l = 0; l < L; ++l) {
      const std::int32_t* own = kept(l);
      for (int i = 0; i < n_kept(l); ++i) at_.kept[i * L + l] = own[i];
      common = n_kept(l) < common ? n_kept(l) : common;
    }
    gather_lanes(from, g_.n, at_.kept, common, entries(at_.factor), pitch);
    for (int i = 0; i < common; ++i)
      entries(at_.least)[i] = MIN_PIVOT * entries(at_.factor)[i * pitch + i];
    for (int i = common; i < count_; ++i) {
      Entry* row = entries(at_.factor) + i * pitch;
      for (int j = 0; j < i; ++j) row[j] = Entry{};
      row[i] = Entry{} + 1.0;
      for (int l = 0; l < L; ++l) {
        if (i >= n_kept(l)) continue;
        const std::int32_t* own = kept(l);
        const double* line = from + static_cast<Index>(own[i]) * g_.n;
        double* entry = reinterpret_cast<double*>(row) + l;
        for (int j = 0; j <= i; ++j) entry[j * L] = line[own[j]];
      }
      entries(at_.least)[i] = MIN_PIVOT * row[i];
    }
    const LogProduct determinant =
        factorise(entries(at_.factor), pitch, count_, entries(at_.least), entries(at_.reciprocals));
    for (int l = 0; l < L; ++l)
      logarithm_[l] = determinant.logarithm(l) + (by_precision_ ? g_.log_determinant : 0);
  }

  // right = P_mm^-1 P_mo d_o
  Entry solve_missing(const Entry* difference) {
    const Index pitch = at_.pitch;
    Entry *product = entries(at_.product), *right = entries(at_.right);
    multiply_lanes(g_.precision, g_.n, difference, product);
    Entry energy = {};
    for (int i = 0; i < g_.n; ++i) energy += difference[i] * product[i];
    for (int l = 0; l < L; ++l) {
      const std::int32_t* missing = places(at_.missing, l);
      for (int k = 0; k < count_; ++k)
        at_.right[k * L + l] = k < n_missing_[l] ? at_.product[missing[k] * L + l] : 0;
    }
    energy -= solve_forward(entries(at_.factor), pitch, count_, entries(at_.reciprocals), right);
    solve_backward(entries(at_.factor), pitch, count_, entries(at_.reciprocals), right);
    return energy;
  }

  // product = C C_oo^-1 d_o
  Entry solve_observed(Entry* difference) {
    const Index pitch = at_.pitch;
    Entry* right = entries(at_.right);
    for (int l = 0; l < L; ++l) {
      const std::int32_t* observed = places(at_.observed, l);
      for (int k = 0; k < count_; ++k)
        at_.right[k * L + l] = k < n_kept(l) ? at_.difference[observed[k] * L + l] : 0;
    }
    const Entry energy =
        solve_forward(entries(at_.factor), pitch, count_, entries(at_.reciprocals), right);
    solve_backward(entries(at_.factor), pitch, count_, entries(at_.reciprocals), right);
    for (int l = 0; l < L; ++l) {
      const std::int32_t* observed = places(at_.observed, l);
      for (int k = 0; k < n_kept(l); ++k)
        at_.difference[observed[k] * L + l] = at_.right[k * L + l];
    }
    multiply_lanes(g_.covariance, g_.n, difference, entries(at_.product));
    return energy;
  }

  // The covariance explained by the observed entries: minus R^-T R^-1, or -C_mo C_oo^-1 C_om. Calls
  // use(first, rows) with BLOCK rows from `first` on, up to their diagonal entries.
  template <class Use> void explained_covariance(const Use& use) {
    Entry *solved = entries(at_.solved), *rows = entries(at_.rows);
    solve_right_sides(solved);
    for (int i = 0; i < columns_; i += BLOCK) {
      const int first = by_precision_ ? i : 0;
      for (int j = 0; j <= i; j += BLOCK) {
        EntryBlock block = {};
        block.subtract(solved + first * at_.wide + i, 1, at_.wide, solved + first * at_.wide + j, 1,
                       at_.wide, count_ - first);
        block.store_to(rows + j, at_.wide);
      }
      use(i, at_.rows);
    }
  }

  // Adds row i of a lane's covariance, up to its diagonal entry, to the sum.
  void add_row(int lane, int i, const double* row, double* sum) const {
    const std::int32_t* missing = places(at_.missing, lane);
    const Index begin = static_cast<Index>(missing[i]) * g_.n;
    const double* prior = g_.covariance + begin;
    double* to = sum + begin;
    const double weight = weight_[lane];
    if (by_precision_)
      for (int k = 0; k <= i; ++k) to[missing[k]] -= weight * row[k * L];
    else
      for (int k = 0; k <= i; ++k) to[missing[k]] += weight * (prior[missing[k]] + row[k * L]);
  }

  // solved = R^-1, or R^-1 C_om
  void solve_right_sides(Entry* solved) {
    for (int i = 0; i < count_; ++i) {
      Entry* row = solved + i * at_.wide;
      for (int k = 0; k < columns_; ++k) row[k] = Entry{};
      if (by_precision_) row[i] = Entry{} + 1.0;
    }
    for (int l = 0; l < L && !by_precision_; ++l)
      for (int i = 0; i < n_kept(l); ++i) {
        double* row = at_.solved + i * at_.wide * L + l;
        const double* from = g_.covariance + static_cast<Index>(kept(l)[i]) * g_.n;
        const std::int32_t* missing = places(at_.missing, l);
        for (int k = 0; k < n_missing_[l]; ++k) row[k * L] = from[missing[k]];
      }
    solve_rows(entries(at_.factor), at_.pitch, count_, entries(at_.reciprocals), by_precision_,
               solved, at_.wide, columns_);
  }

  // The diagonal of the conditional covariances.
  void find_variances() {
    explained_covariance([&](int first, const double* rows) {
      for (int l = 0; l < L; ++l)
        for (int i = first; i < first + BLOCK && i < n_missing_[l]; ++i) {
          const Index place = places(at_.missing, l)[i];
          const double known = rows[((i - first) * at_.wide + i) * L + l];
          at_.variances[i * L + l] =
              by_precision_ ? -known : g_.covariance[place * g_.n + place] + known;
        }
    });
  }

  const Gaussian& g_;
  const IncompleteRows& signals_;
  const ConditioningMemory& at_;
  int taken_ = 0;           // number of signals in lanes
  Index row_[L], next_[L];  // current and next signals of the lanes
  int n_missing_[L];
  double weight_[L] = {}, logarithm_[L];
  bool by_precision_ = true;
  int count_ = 0;    // rows of the factorised matrices, rounded up
  int columns_ = 0;  // missing entries, rounded up
};

// Fills the missing entries of the signals first:last of the order. If `sum` is not null, adds
// their conditional covariances times their weights (or one) to its lower triangle.
inline void condition(const Gaussian& g, const IncompleteRows& signals, Index first, Index last,
                      double* sum, const ConditioningMemory& at) {
  constexpr int L = LANES<double>;
  ConditionedGroup group(g, signals, at);
  for (Index r = first; r < last; r += L) {
    group.take(signals.order + r, static_cast<int>(last - r < L ? last - r : L),
               contributes(r, signals.every), sum);
    if (signals.rows) group.fill();
  }
  group.add_covariance(sum);
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
