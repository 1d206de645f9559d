// What is missing of signals, given what is observed of them, under a Gaussian.
//
// With the covariance C, its inverse P and d = y - mean, m what is missing and o what is observed:
//   mean of d_m        -P_mm^-1 P_mo d_o                   or  C_mo C_oo^-1 d_o
//   covariance         P_mm^-1                             or  C_mm - C_mo C_oo^-1 C_om
//   d_o^T C_oo^-1 d_o  d_o^T P_oo d_o - |R^-T P_mo d_o|^2 or  |R^-T d_o|^2
//   log |C_oo|         log |C| + log |P_mm|                or  log |C_oo|
// by the Cholesky factor R of P_mm or of C_oo, whichever is the smaller matrix. Signals with the
// same gaps after one another share it.
#pragma once

#include "algebra.hpp"
#include "gaps_types.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// Pivots are at least this share of their diagonal entry: what is below is rounding.
constexpr double LEAST_PIVOT = 1e-14;

// A product of positive numbers, as its logarithm: one call for many of them.
class LogProduct {
 public:
  FOST_INLINE void times(double factor) {
    product_ *= factor;
    if (!(product_ > 1e-150 && product_ < 1e150)) {
      logarithm_ += __builtin_log(product_ / factor) + __builtin_log(factor);
      product_ = 1;
    }
  }
  double logarithm() const { return logarithm_ + __builtin_log(product_); }

 private:
  double product_ = 1, logarithm_ = 0;
};

// y += sum of x[places[k]] times row places[k] of A, n x n.
inline void add_rows(const double* a, int n, const std::int32_t* places, int count, const double* x,
                     double* y) {
  constexpr int L = LANES<double>;
  int k = 0;
  for (; k + 4 <= count; k += 4) {
    const double* rows[4];
    double factors[4];
    for (int q = 0; q < 4; ++q) {
      rows[q] = a + static_cast<Index>(places[k + q]) * n;
      factors[q] = x[places[k + q]];
    }
    int i = 0;
    for (; i + L <= n; i += L) {
      Vec<double> sum = load(y + i);
#pragma GCC unroll 4
      for (int q = 0; q < 4; ++q) sum += factors[q] * load(rows[q] + i);
      store(y + i, sum);
    }
    for (; i < n; ++i)
      for (int q = 0; q < 4; ++q) y[i] += factors[q] * rows[q][i];
  }
  for (; k < count; ++k) add_scaled(x[places[k]], a + static_cast<Index>(places[k]) * n, y, n);
}

inline int up_to_vectors(int n) { return (n + LANES<double> - 1) / LANES<double> * LANES<double>; }

// Upper triangular R with R^T R = A[places, places], in rows `pitch` apart; returns log |A|. Left of
// the diagonal there may be anything.
inline double factorise(const double* a, int n, const std::int32_t* places, int count, double* factor,
                        Index pitch, double* column) {
  constexpr int L = LANES<double>;
  LogProduct determinant;
  const int wide = up_to_vectors(count);
  for (int j = 0; j < count; ++j) {
    double* row = factor + j * pitch;
    const double* from = a + static_cast<Index>(places[j]) * n;
    const int first = j / L * L;  // whole vectors
    for (int k = first; k < j; ++k) row[k] = 0;
    for (int k = j; k < count; ++k) row[k] = from[places[k]];
    for (int k = count; k < wide; ++k) row[k] = 0;
    for (int k = 0; k < j; ++k) column[k] = factor[k * pitch + j];
    subtract_transposed(factor + first, pitch, j, wide - first, column, row + first);
    const double least = LEAST_PIVOT * from[places[j]];
    const double pivot = row[j] > least ? row[j] : least;
    const double root = __builtin_sqrt(pivot), scale = 1 / root;
    determinant.times(pivot);
    for (int k = first; k < wide; k += L) store(row + k, scale * load(row + k));
    row[j] = root;
  }
  return determinant.logarithm();
}

// x <- R^-T x; returns the squared norm of that.
inline double solve_forward(const double* factor, Index pitch, int count, double* x) {
  double energy = 0;
  for (int i = 0; i < count; ++i) {
    const double* row = factor + i * pitch;
    x[i] /= row[i];
    energy += x[i] * x[i];
    add_scaled(-x[i], row + i + 1, x + i + 1, count - i - 1);
  }
  return energy;
}

// x <- R^-1 x
inline void solve_backward(const double* factor, Index pitch, int count, double* x) {
  for (int i = count - 1; i >= 0; --i) {
    const double* row = factor + i * pitch;
    x[i] = (x[i] - dot(row + i + 1, x + i + 1, count - i - 1)) / row[i];
  }
}

// Rows of R^-T B, where `solved` has the rows of B; those of R^-T itself where B is the identity,
// whose row i ends at column i.
inline void solve_rows(const double* factor, Index pitch, int count, int columns, bool identity,
                       double* solved, double* column) {
  for (int i = 0; i < count; ++i) {
    double* row = solved + i * pitch;
    for (int k = 0; k < i; ++k) column[k] = factor[k * pitch + i];
    subtract_transposed(solved, pitch, i, identity ? up_to_vectors(i) : columns, column, row);
    const double scale = 1 / factor[i * pitch + i];
    for (int k = 0; k < (identity ? i + 1 : columns); ++k) row[k] *= scale;
  }
}

// The conditional covariance of what is missing by its triangles: calls use(i, row) with row i up
// to its diagonal entry.
template <class Use>
void covariance_rows(const Gaussian& g, const GapMemory& at, int n_missing, int n_observed,
                     bool by_precision, const Use& use) {
  const int wide = up_to_vectors(n_missing);
  const int count = by_precision ? n_missing : n_observed;
  for (int i = 0; i < count; ++i) {
    double* row = at.solved + i * at.pitch;
    if (by_precision) {
      for (int k = 0; k < wide; ++k) row[k] = 0;
      row[i] = 1;
    } else {
      const double* from = g.covariance + static_cast<Index>(at.observed[i]) * g.n;
      for (int k = 0; k < n_missing; ++k) row[k] = from[at.missing[k]];
    }
  }
  solve_rows(at.factor, at.pitch, count, n_missing, by_precision, at.solved, at.right);
  for (int i = 0; i < n_missing; ++i) {
    const int first = by_precision ? i : 0;
    // Column i of what was solved, with the sign of what is added.
    for (int k = first; k < count; ++k)
      at.right[k - first] = by_precision ? -at.solved[k * at.pitch + i] : at.solved[k * at.pitch + i];
    const double* from = g.covariance + static_cast<Index>(at.missing[i]) * g.n;
    for (int k = 0; k <= i; ++k) at.row[k] = by_precision ? 0 : from[at.missing[k]];
    subtract_transposed(at.solved + first * at.pitch, at.pitch, count - first, i + 1, at.right, at.row);
    use(i, at.row);
  }
}

// Fills rows first:last, which have a common mask where it is the one before; where `sum` is not
// null, adds their conditional covariances times their weights (or one) to its lower triangle.
inline void condition(const Gaussian& g, const GappedRows& signals, Index first, Index last,
                      double* sum, const GapMemory& at) {
  const int n = g.n;
  int n_missing = 0, n_observed = 0;
  double logarithm = 0, weight = 0;
  bool by_precision = true;
  // What signals with the same gaps have in common is added up once.
  const auto add_covariance = [&] {
    if (sum && weight > 0 && n_missing)
      covariance_rows(g, at, n_missing, n_observed, by_precision, [&](int i, const double* row) {
        double* to = sum + static_cast<Index>(at.missing[i]) * n;
        for (int k = 0; k <= i; ++k) to[at.missing[k]] += weight * row[k];
      });
    weight = 0;
  };
  for (Index r = first; r < last; ++r) {
    double* y = signals.rows + r * n;
    const bool* gaps = signals.missing + r * n;
    const bool same = r > first && !__builtin_memcmp(gaps, gaps - n, n);
    if (!same) {
      add_covariance();
      n_missing = n_observed = 0;
      for (int i = 0; i < n; ++i)
        if (gaps[i])
          at.missing[n_missing++] = i;
        else
          at.observed[n_observed++] = i;
      by_precision = n_missing <= n_observed;
      logarithm = by_precision
          ? g.log_determinant + factorise(g.precision, n, at.missing, n_missing, at.factor, at.pitch, at.row)
          : factorise(g.covariance, n, at.observed, n_observed, at.factor, at.pitch, at.row);
    }
    weight += signals.weights ? signals.weights[r] : 1;
    for (int i = 0; i < n; ++i) at.difference[i] = gaps[i] ? 0 : y[i] - g.mean[i];
    double energy = 0;
    for (int i = 0; i < n; ++i) at.row[i] = 0;
    if (by_precision) {
      add_rows(g.precision, n, at.observed, n_observed, at.difference, at.row);
      for (int k = 0; k < n_missing; ++k) at.right[k] = at.row[at.missing[k]];
      energy = dot(at.difference, at.row, n) - solve_forward(at.factor, at.pitch, n_missing, at.right);
      solve_backward(at.factor, at.pitch, n_missing, at.right);
      for (int k = 0; k < n_missing; ++k) y[at.missing[k]] = g.mean[at.missing[k]] - at.right[k];
    } else {
      for (int k = 0; k < n_observed; ++k) at.right[k] = at.difference[at.observed[k]];
      energy = solve_forward(at.factor, at.pitch, n_observed, at.right);
      solve_backward(at.factor, at.pitch, n_observed, at.right);
      for (int k = 0; k < n_observed; ++k) at.difference[at.observed[k]] = at.right[k];
      add_rows(g.covariance, n, at.observed, n_observed, at.difference, at.row);
      for (int k = 0; k < n_missing; ++k) y[at.missing[k]] = g.mean[at.missing[k]] + at.row[at.missing[k]];
    }
    if (signals.densities) {
      constexpr double LOG_TWO_PI = 1.8378770664093454836;
      signals.densities[r] = -0.5 * (energy + logarithm + n_observed * LOG_TWO_PI);
    }
    if (signals.variances) {
      double* variances = signals.variances + r * n;
      if (same) {
        for (int i = 0; i < n; ++i) variances[i] = variances[i - n];
      } else {
        for (int i = 0; i < n; ++i) variances[i] = 0;
        covariance_rows(g, at, n_missing, n_observed, by_precision,
                        [&](int i, const double* row) { variances[at.missing[i]] = row[i]; });
      }
    }
  }
  add_covariance();
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
