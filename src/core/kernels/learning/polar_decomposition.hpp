// The orthogonal Procrustes problem of Q-DLA without an SVD. The transpose of the optimal Q is the
// polar factor P of M = H P, with H symmetric positive semidefinite and P orthonormal. The Newton
// iteration
//
//     X <- (mu X + X^-T / mu) / 2,     X_0 = M,
//
// moves every singular value of X to one and keeps the singular vectors (Higham, Functions of
// Matrices, section 8.3). With scaling factors mu from bounds of the singular values (Byers and Xu,
// 2008) it takes seven or eight inverses, a third of the time of an SVD, and P is orthonormal to
// rounding.
//
// A row of M is zero if no signal uses the atom. There, any orthonormal rows orthogonal to the
// others are optimal, and the ones nearest to the current atoms are wanted: the polar factor of the
// components of the current rows orthogonal to the span of the others. With the current rows in X,
// the corresponding rows of X^-T are orthogonal to the others and have the same polar factor, so
// the iteration starts from them. NumPy twin: tests/reference_learning.py, procrustes.
#pragma once

#include "kernels/learning/linear_algebra.hpp"
#include "kernels/simd/shuffle.hpp"

namespace fost {
namespace FOST_NAMESPACE {
namespace polar {

constexpr double EPSILON = 0x1p-52;
// Matrices of a larger condition number (in the Frobenius norm) are left to an SVD. Rounding errors
// of P are at most about the condition number times the unit roundoff, and the loss of the
// objective is the square of that.
constexpr double MAX_CONDITION = 1e8;
// The error after a step is half the square of its change.
constexpr double LAST_CHANGE = 1e-8;
constexpr int MAX_STEPS = 20;

// Bounds of the singular values of a matrix.
struct Bounds {
  double least, most;
};

// Rows of n entries, padded with zeros to whole vectors.
inline double sum_of_squares(const double* a, Index pitch, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += dot(a + i * pitch, a + i * pitch, n);
  return sum;
}

// Adds to the rows of A the product of the columns of a panel and as many rows, VECTORS vectors of
// each from `column` on.
template <int VECTORS>
FOST_INLINE void add_products(const PolarMemory& memory, double* a, int n, int column) {
  constexpr int L = LANES<double>;
  Vec<double> lines[L][VECTORS];
#pragma GCC unroll 8
  for (int q = 0; q < L; ++q)
#pragma GCC unroll 2
    for (int v = 0; v < VECTORS; ++v)
      lines[q][v] = load(memory.lines + q * memory.pitch + column + v * L);
  for (int i = 0; i < n; ++i) {
    double* row = a + i * memory.pitch + column;
    Vec<double> sums[VECTORS];
#pragma GCC unroll 2
    for (int v = 0; v < VECTORS; ++v) sums[v] = load(row + v * L);
#pragma GCC unroll 8
    for (int q = 0; q < L; ++q)
#pragma GCC unroll 2
      for (int v = 0; v < VECTORS; ++v) sums[v] += memory.panel[q * memory.rows + i] * lines[q][v];
#pragma GCC unroll 2
    for (int v = 0; v < VECTORS; ++v) store(row + v * L, sums[v]);
  }
}

// The index of the entry of largest magnitude among `first` to n - 1, or -1 if that is not a
// positive number.
inline int pivot_of(const double* column, int first, int n) {
  constexpr int L = LANES<double>;
  const auto size = [&](int i) { return column[i] < 0 ? -column[i] : column[i]; };
  Vec<double> top = {};
  int i = first;
  for (; i + L <= n; i += L) top = maximum<double>(absolute(load(column + i)), top);
  double largest = largest_lane<double>(top);
  for (; i < n; ++i) largest = size(i) > largest ? size(i) : largest;
  if (!(largest > 0)) return -1;
  int at = first;
  while (at < n - 1 && size(at) != largest) ++at;
  return at;
}

inline void exchange_rows(double* a, double* b, int n) {
  constexpr int L = LANES<double>;
  for (int i = 0; i < n; i += L) {
    const Vec<double> first = load(a + i);
    store(a + i, load(b + i));
    store(b + i, first);
  }
}

// Elimination steps `first` to first + LANES - 1 on their own columns, which are stored as rows
// here. Pivoting exchanges the same rows in A. Returns false if A is singular.
inline bool eliminate_panel(const PolarMemory& memory, double* a, int first, int n) {
  constexpr int L = LANES<double>;
  const Index rows = memory.rows;
  const int last = first + L < n ? first + L : n;
  for (int k = first; k < last; ++k) {
    double* column = memory.panel + (k - first) * rows;
    const int at = pivot_of(column, k, n);
    if (at < 0) return false;
    if (at != k) {
      exchange_rows(a + k * memory.pitch, a + at * memory.pitch, n);
      for (int r = 0; r < L; ++r) {
        double* other = memory.panel + r * rows;
        const double entry = other[k];
        other[k] = other[at], other[at] = entry;
      }
      const std::int32_t place = memory.order[k];
      memory.order[k] = memory.order[at], memory.order[at] = place;
    }
    const double inverse = 1 / column[k];
    for (int r = 0; r < last - first; ++r) {
      double* other = memory.panel + r * rows;
      if (other == column) continue;
      const double factor = other[k] * inverse;
      add_scaled(-factor, column, other, n);
      other[k] = factor;
    }
    for (int i = 0; i < n; i += L) store(column + i, load(column + i) * -inverse);
    column[k] = inverse;
  }
  return true;
}

// Transposes LANES columns of A from `first` on into the rows of the panel, or back.
template <bool BACK> void copy_panel(const PolarMemory& memory, double* a, int first) {
  constexpr int L = LANES<double>;
  for (Index i = 0; i < memory.rows; i += L) {
    double *columns = memory.panel + i, *block = a + i * memory.pitch + first;
    const Index from = BACK ? memory.rows : memory.pitch, to = BACK ? memory.pitch : memory.rows;
    Vec<double> vectors[L];
#pragma GCC unroll 8
    for (int l = 0; l < L; ++l) vectors[l] = load((BACK ? columns : block) + l * from);
    transpose<double>(vectors);
#pragma GCC unroll 8
    for (int l = 0; l < L; ++l) store((BACK ? block : columns) + l * to, vectors[l]);
  }
}

// Replaces A by its inverse with permuted columns: column k is column order[k] of the inverse.
// Gauss-Jordan elimination with partial pivoting, LANES steps at a time. Returns false if A is
// singular.
inline bool invert(const PolarMemory& memory, double* a, int n) {
  constexpr int L = LANES<double>;
  for (int i = 0; i < n; ++i) memory.order[i] = i;
  for (int first = 0; first < n; first += L) {
    copy_panel<false>(memory, a, first);
    if (!eliminate_panel(memory, a, first, n)) return false;
    for (Index i = 0; i < L * memory.pitch; i += L) {
      store(memory.lines + i, load(a + first * memory.pitch + i));
      store(a + first * memory.pitch + i, Vec<double>{});
    }
    int column = 0;
    for (; column + 2 * L <= n; column += 2 * L) add_products<2>(memory, a, n, column);
    for (; column < n; column += L) add_products<1>(memory, a, n, column);
    copy_panel<true>(memory, a, first);
  }
  return true;
}

// X <- (mu X + X^-T / mu) / 2 from the result of `invert`; returns the squared Frobenius norm of
// the change.
inline double newton_step(const PolarMemory& memory, int n, double mu) {
  constexpr int L = LANES<double>;
  const Index pitch = memory.pitch;
  Vec<double> changes = {};
  for (int k = 0; k < n; k += L)
    for (int c = 0; c < n; c += L) {
      Vec<double> block[L];
#pragma GCC unroll 8
      for (int l = 0; l < L; ++l) block[l] = load(memory.inverse + (c + l) * pitch + k);
      transpose<double>(block);
      const int here = n - k < L ? n - k : L;
      for (int l = 0; l < here; ++l) {
        double* row = memory.x + memory.order[k + l] * pitch + c;
        const Vec<double> before = load(row);
        const Vec<double> after = before * (mu / 2) + block[l] * (0.5 / mu);
        store(row, after);
        changes += (after - before) * (after - before);
      }
    }
  return sum_of_lanes(changes);
}

// X^-1 in the form of `invert`. Returns false if X is singular.
inline bool invert_copy(const PolarMemory& memory, int n) {
  constexpr int L = LANES<double>;
  for (Index i = 0; i < memory.rows * memory.pitch; i += L)
    store(memory.inverse + i, load(memory.x + i));
  return invert(memory, memory.inverse, n);
}

// The same, with bounds of the singular values of X. Returns false also if X is nearly singular.
inline bool invert_regular(const PolarMemory& memory, int n, Bounds& bounds) {
  if (!invert_copy(memory, n)) return false;
  bounds.most = __builtin_sqrt(sum_of_squares(memory.x, memory.pitch, n));
  bounds.least = 1 / __builtin_sqrt(sum_of_squares(memory.inverse, memory.pitch, n));
  return bounds.most <= MAX_CONDITION * bounds.least;
}

// Starts with X = M and marks rows as unused that are zero up to rounding. Returns the geometric
// mean of the longest and the shortest other row.
inline double begin(const double* statistic, int n, const PolarMemory& memory) {
  double longest = 0;
  for (Index i = 0; i < memory.rows * memory.pitch; ++i) memory.x[i] = 0;
  for (int r = 0; r < n; ++r) {
    double* row = memory.x + r * memory.pitch;
    for (int i = 0; i < n; ++i) row[i] = statistic[r * static_cast<Index>(n) + i];
    memory.lengths[r] = __builtin_sqrt(dot(row, row, n));
    longest = memory.lengths[r] > longest ? memory.lengths[r] : longest;
  }
  double shortest = longest;
  for (int r = 0; r < n; ++r) {
    const double length = memory.lengths[r];
    memory.unused[r] = length <= n * EPSILON * longest;
    if (!memory.unused[r] && length < shortest) shortest = length;
  }
  return longest > 0 ? __builtin_sqrt(shortest * longest) : 1;
}

// Replaces unused rows of X by the current ones, scaled to this length. Returns whether they are
// orthogonal to the others up to rounding, as is the case for signals of zero mean.
inline bool take_current(const double* current, int n, double length, const PolarMemory& memory) {
  bool orthogonal = true;
  for (int r = 0; r < n; ++r) {
    if (!memory.unused[r]) continue;
    double* row = memory.x + r * memory.pitch;
    for (int i = 0; i < n; ++i) row[i] = length * current[i * static_cast<Index>(n) + r];
    for (int k = 0; k < n; ++k) {
      const double product = memory.unused[k] ? 0 : dot(row, memory.x + k * memory.pitch, n);
      const double most = n * EPSILON * length * memory.lengths[k];
      orthogonal &= product <= most && product >= -most;
    }
  }
  return orthogonal;
}

// Replaces unused rows of X by those of X^-T, the longest of them scaled to this length. Returns
// false if X is nearly singular.
inline bool complete(const PolarMemory& memory, int n, double length) {
  Bounds bounds;
  if (!invert_regular(memory, n, bounds)) return false;
  double longest = 0;
  for (int k = 0; k < n; ++k) {
    const int r = memory.order[k];
    if (!memory.unused[r]) continue;
    double* row = memory.x + r * memory.pitch;
    for (int i = 0; i < n; ++i) row[i] = memory.inverse[i * memory.pitch + k];
    const double square = dot(row, row, n);
    longest = square > longest ? square : longest;
  }
  const double scale = length / __builtin_sqrt(longest);
  for (int r = 0; r < n; ++r)
    for (int i = 0; i < n && memory.unused[r]; ++i) memory.x[r * memory.pitch + i] *= scale;
  return true;
}

// Replaces X by its polar factor. Returns false if it is nearly singular.
inline bool iterate(const PolarMemory& memory, int n) {
  Bounds bounds;
  if (!invert_regular(memory, n, bounds)) return false;
  double mu = 1 / __builtin_sqrt(bounds.least * bounds.most);
  double change = newton_step(memory, n, mu);
  mu = __builtin_sqrt(2 / (mu * (bounds.least + bounds.most)));
  for (int step = 1; change > LAST_CHANGE * LAST_CHANGE; ++step) {
    if (step == MAX_STEPS || !invert_copy(memory, n)) return false;
    change = newton_step(memory, n, mu);
    mu = __builtin_sqrt(2 / (mu + 1 / mu));
  }
  return change <= LAST_CHANGE * LAST_CHANGE;  // false for NaN too
}

}  // namespace polar

// The optimal Q, n x n with atoms in columns, for a statistic M; among several, the one nearest to
// `current`. Returns false if M is so close to singular that an SVD is needed.
inline bool solve_procrustes(const double* statistic, const double* current, int n, double* found,
                             const PolarMemory& memory) {
  const double length = polar::begin(statistic, n, memory);
  if (!polar::take_current(current, n, length, memory) && !polar::complete(memory, n, length))
    return false;
  if (!polar::iterate(memory, n)) return false;
  for (int r = 0; r < n; ++r)
    for (int i = 0; i < n; ++i)
      found[i * static_cast<Index>(n) + r] = memory.x[r * memory.pitch + i];
  return true;
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
