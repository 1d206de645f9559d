// One sweep of Algorithm 2 (H_m-DLA): each reflector in turn is replaced by the best one for the
// current codes, with the others fixed. With M = X Y^T and
//
//     R_j = (U_(j-1) ... U_1) M (U_m ... U_(j+1)),     Z = R_j + R_j^T,
//
// the optimal u_j is the eigenvector of the lowest eigenvalue of Z, or zero if that is not
// negative. There are two ways to products with Z:
//
//   1. Short signals or many reflectors: Z is formed. R_(j+1) = U_j R_j U_(j+1) follows in O(n^2)
//      (section III.C of the paper).
//   2. Long signals: reflectors are applied to vectors, and M v and M^T v take one read of M. On
//      request this reads M rounded to float32, half of the bytes.
//
// The eigenpair comes from Lanczos iterations started at the old u_j: a few dozen products with Z
// instead of a reduction to tridiagonal form. LAPACK solves the small tridiagonal problems. NumPy
// twin: tests/reference_learning.py, sweep.
#pragma once

#include "kernels/learning/linear_algebra.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// Relative residual, against the norm of Z, at which a Ritz pair is accepted. The eigenvalue is
// then accurate to the square of it, and the objective depends on the eigenvalue only.
constexpr double RITZ_TOLERANCE = 1e-9;
// The same for M in float32: about its rounding.
constexpr double SINGLE_TOLERANCE = 1e-7;
constexpr int FIRST_CHECK = 12;
constexpr int CHECK_EVERY = 6;
constexpr int MAX_RESTARTS = 20;

// Entry i of a fixed pseudo-random vector in [-1, 1), hashed from the index.
inline double scatter(int i) {
  std::uint64_t h = (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15ull;
  h ^= h >> 29;
  h *= 0xbf58476d1ce4e5b9ull;
  h ^= h >> 32;
  return static_cast<double>(h >> 11) * 0x1p-52 - 1.0;
}

// The lowest eigenpair of the tridiagonal matrix of k Lanczos steps; false if LAPACK fails.
inline bool lowest_of_tridiagonal(const LanczosMemory& memory, int k, double& value) {
  char with_vectors = 'V', by_index = 'I';
  int one = 1, found = 0, any = 1, info = 0, room = 18 * k + 18, integer_room = 10 * k + 10;
  double unused = 0;
  for (int i = 0; i < k; ++i) {
    memory.diagonal_copy[i] = memory.diagonal[i];
    memory.off_diagonal_copy[i] = memory.off_diagonal[i];
  }
  memory.stemr(&with_vectors, &by_index, &k, memory.diagonal_copy, memory.off_diagonal_copy,
               &unused, &unused, &one, &one, &found, memory.ritz_values, memory.ritz_vector, &k,
               &one, memory.support, &any, memory.real_work, &room, memory.integer_work,
               &integer_room, &info);
  value = memory.ritz_values[0];
  return info == 0 && found == 1;
}

// w = Z q for a stored matrix ...
struct StoredProduct {
  static constexpr double TOLERANCE = RITZ_TOLERANCE;
  const double* z;
  Index stride;
  int n;

  void operator()(const double* q, double* w) const { multiply(z, stride, n, n, q, w); }
};

// ... or for Z = R_j + R_j^T, which is not formed, without its first `begin` rows and columns. The
// sums of M^T v over ranges of rows are added in order.
template <class T> struct ReflectedProduct {
  static constexpr double TOLERANCE = sizeof(T) == 4 ? SINGLE_TOLERANCE : RITZ_TOLERANCE;
  const T* statistic;
  const double* vectors;
  int n, m, j, begin;
  double* lines;
  ParallelLoop parallel;

  void operator()(const double* q, double* w) const {
    double *right = lines, *left = lines + n, *along = left + n, *across = along + n;
    for (int i = 0; i < n; ++i) right[i] = left[i] = i < begin ? 0 : q[i - begin];
    for (int k = j + 1; k < m; ++k) reflect(vectors + k * Index(n), right, n);
    for (int k = j - 1; k >= 0; --k) reflect(vectors + k * Index(n), left, n);
    const int ranges = sweep_ranges(n);
    parallel.run(ranges, parallel.threads, multiply_range, this);
    for (int k = 1; k < ranges; ++k) add_scaled(1, across + k * Index(n), across, n);
    for (int k = 0; k < j; ++k) reflect(vectors + k * Index(n), along, n);
    for (int k = m - 1; k > j; --k) reflect(vectors + k * Index(n), across, n);
    for (int i = begin; i < n; ++i) w[i - begin] = along[i] + across[i];
  }

 private:
  static void multiply_range(const void* product, Index k) {
    const ZeroUpper zero_upper;  // on the threads of the pool
    const ReflectedProduct& own = *static_cast<const ReflectedProduct*>(product);
    const int n = own.n, first = static_cast<int>(k) * SWEEP_ROWS;
    const int rows = n - first < SWEEP_ROWS ? n - first : SWEEP_ROWS;
    double *right = own.lines, *left = right + n, *along = left + n, *across = along + n + k * n;
    for (int i = 0; i < n; ++i) across[i] = 0;
    multiply_both(own.statistic + first * Index(n), n, rows, n, right, left + first, along + first,
                  across);
  }
};

// Lanczos with full reorthogonalisation from `vector`, which is replaced by the Ritz vector.
// Returns the Ritz value; `scale` estimates the norm of Z, and `residual` is relative to it.
template <class Product>
double lanczos(const Product& product, int n, double* vector, const LanczosMemory& memory,
               double& scale, double& residual) {
  const int most = n < memory.steps ? n : memory.steps;
  double value = 0;
  for (int i = 0; i < n; ++i) memory.basis[i] = vector[i];
  for (int k = 0; k < most; ++k) {
    const double* q = memory.basis + k * static_cast<Index>(n);
    double* w = memory.next;
    product(q, w);
    memory.diagonal[k] = dot(q, w, n);
    add_scaled(-memory.diagonal[k], q, w, n);
    if (k > 0) add_scaled(-memory.off_diagonal[k - 1], q - n, w, n);
    multiply(memory.basis, n, k + 1, n, w, memory.overlaps);
    subtract_transposed(memory.basis, n, k + 1, n, memory.overlaps, w);
    const double length = __builtin_sqrt(dot(w, w, n));
    memory.off_diagonal[k] = length;
    const double size =
        (memory.diagonal[k] < 0 ? -memory.diagonal[k] : memory.diagonal[k]) + length;
    scale = size > scale ? size : scale;
    // The remainder is rounding error. For a repeated eigenvalue the vector nearest to the start
    // has been found, and further steps would mix in others.
    const bool exhausted = length <= 1e-11 * scale;
    const bool last = exhausted || k + 1 == most;
    const bool check = k + 1 >= FIRST_CHECK && (k + 1 - FIRST_CHECK) % CHECK_EVERY == 0;
    if ((last || check) && lowest_of_tridiagonal(memory, k + 1, value)) {
      const double tail = memory.ritz_vector[k];
      residual = scale > 0 ? length * (tail < 0 ? -tail : tail) / scale : 0;
      if (last || residual <= Product::TOLERANCE) {
        for (int i = 0; i < n; ++i) vector[i] = 0;
        subtract_transposed(memory.basis, n, k + 1, n, memory.ritz_vector, vector);
        return value;
      }
    }
    if (last) break;
    double* fresh = memory.basis + (k + 1) * static_cast<Index>(n);
    for (int i = 0; i < n; ++i) fresh[i] = w[i] / length;
  }
  residual = 0;
  return 0;  // LAPACK failed: keep the vector, as if no reflector improved the objective
}

inline void normalise(double* v, int n) {
  const double length = __builtin_sqrt(dot(v, v, n));
  if (length > 0)
    for (int i = 0; i < n; ++i) v[i] /= length;
}

// Replaces u (a unit vector, or zeros) by the eigenvector of the lowest eigenvalue of Z, with its
// largest entry positive, or by zeros if no eigenvalue is negative. Returns the eigenvalue, or
// zero.
template <class Product>
double lowest_eigenvector(const Product& product, int n, double* u, const LanczosMemory& memory) {
  // A small component in every direction, so that no eigenvector is orthogonal to the start.
  for (int i = 0; i < n; ++i) u[i] += 1e-3 * scatter(i);
  normalise(u, n);
  double value = 0, scale = 0, residual = 1;
  for (int restart = 0; restart < MAX_RESTARTS && residual > Product::TOLERANCE; ++restart) {
    value = lanczos(product, n, u, memory, scale, residual);
    normalise(u, n);
  }
  // Eigenvalues that differ from zero only by rounding do not count as negative.
  const bool helps = value < -1e-15 * n * scale;
  int largest = 0;
  for (int i = 1; i < n; ++i)
    if ((u[i] < 0 ? -u[i] : u[i]) > (u[largest] < 0 ? -u[largest] : u[largest])) largest = i;
  const double sign = u[largest] < 0 ? -1 : 1;
  for (int i = 0; i < n; ++i) u[i] = helps ? sign * u[i] : 0;
  return helps ? value : 0;
}

// Step 2 of Algorithm 1 (QH_m-DLA): the eigenvectors of the m lowest eigenvalues of M + M^T, the
// lowest last; zeros for eigenvalues that are not negative. Each starts from the previous vector.
// Deflation: the eigenvalue found is changed to a positive one of the same size before the next one
// is sought.
inline void lowest_eigenvectors(const double* statistic, int n, double* vectors, int m,
                                const SweepMemory& memory) {
  symmetrise(statistic, memory.z, n);
  double value = -1;
  for (int j = m - 1; j >= 0; --j) {
    double* u = vectors + j * static_cast<Index>(n);
    if (value < 0) value = lowest_eigenvector(StoredProduct{memory.z, n, n}, n, u, memory.lanczos);
    // The residual of Lanczos also bounds the deviation from orthogonality to the others.
    for (int k = m - 1; k > j && value < 0; --k) {
      const double* other = vectors + k * static_cast<Index>(n);
      add_scaled(-dot(u, other, n), other, u, n);
    }
    if (value < 0 && dot(u, u, n) < 0.25) value = 0;
    for (int i = 0; i < n && value >= 0; ++i) u[i] = 0;
    normalise(u, n);
    for (int i = 0; i < n; ++i)
      add_scaled(-2 * value * u[i], u, memory.z + i * static_cast<Index>(n), n);
  }
}

// R_j computed from M, for an arbitrary order of updates.
inline void statistic_of(const double* statistic, const double* vectors, int m, int n, int j,
                         const SweepMemory& memory) {
  for (Index i = 0; i < static_cast<Index>(n) * n; ++i) memory.r[i] = statistic[i];
  for (int k = 0; k < j; ++k)
    reflect_left(memory.r, vectors + k * static_cast<Index>(n), memory.lines, n);
  for (int k = m - 1; k > j; --k) reflect_right(memory.r, vectors + k * static_cast<Index>(n), n);
}

// Whether reflectors are applied to vectors (case 2), measured by benchmarks/bench_long.py.
inline bool is_long(int n, int m) { return n >= 256 && 16 * m <= n; }

// Updates the m vectors in the given order; the first begins[j] entries of vector j stay zero.
template <class T>
void sweep_long(const T* statistic, int n, double* vectors, int m, const std::int32_t* order,
                const std::int32_t* begins, const SweepMemory& memory) {
  for (int step = 0; step < m; ++step) {
    const int j = order[step], begin = begins[j];
    double* u = vectors + j * Index(n);
    for (int i = 0; i < begin; ++i) u[i] = 0;
    const ReflectedProduct<T> product = {statistic,    vectors,        n, m, j, begin,
                                         memory.lines, memory.parallel};
    lowest_eigenvector(product, n - begin, u + begin, memory.lanczos);
  }
}

// The same for signals of any length. If `single` is set, M may be rounded to float32.
inline void sweep_reflectors(const double* statistic, int n, double* vectors, int m,
                             const std::int32_t* order, const std::int32_t* begins, bool single,
                             const SweepMemory& memory) {
  if (is_long(n, m) && single) {
    float* rounded = reinterpret_cast<float*>(memory.z);
    for (Index i = 0; i < Index(n) * n; ++i) rounded[i] = static_cast<float>(statistic[i]);
    return sweep_long(rounded, n, vectors, m, order, begins, memory);
  }
  if (is_long(n, m)) return sweep_long(statistic, n, vectors, m, order, begins, memory);
  for (int step = 0; step < m; ++step) {
    const int j = order[step];
    double* u = vectors + j * static_cast<Index>(n);
    if (step > 0 && j == order[step - 1] + 1) {
      reflect_left(memory.r, u - n, memory.lines, n);
      reflect_right(memory.r, u, n);
    } else {
      statistic_of(statistic, vectors, m, n, j, memory);
    }
    symmetrise(memory.r, memory.z, n);
    const int begin = begins[j];
    for (int i = 0; i < begin; ++i) u[i] = 0;
    const StoredProduct product = {memory.z + begin * static_cast<Index>(n + 1), n, n - begin};
    lowest_eigenvector(product, n - begin, u + begin, memory.lanczos);
  }
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
