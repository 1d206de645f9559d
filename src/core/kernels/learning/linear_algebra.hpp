// Dense float64 linear algebra on small matrices, vectorised along rows.
#pragma once

#include "kernels/simd/shuffle.hpp"
#include "kernels/simd/vector.hpp"
#include "types/learning.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// Sums the lanes one after another and not in halves. All inner products end with this function,
// which fixes their rounding.
template <class S> FOST_INLINE S sum_in_order(const Vec<S>& lanes) {
  S sum = 0;
  for (int l = 0; l < LANES<S>; ++l) sum += lanes[l];
  return sum;
}

// The same for LANES vectors at once, one sum per lane of the result.
template <class S> FOST_INLINE Vec<S> sums_in_order(Vec<S>* vectors) {
  transpose<S>(vectors);
  Vec<S> sums = {};
  for (int l = 0; l < LANES<S>; ++l) sums += vectors[l];
  return sums;
}

inline double sum_of_lanes(Vec<double> v) { return sum_in_order<double>(v); }

inline double dot(const double* a, const double* b, int n) {
  constexpr int L = LANES<double>;
  Vec<double> sums[2] = {};
  int i = 0;
  for (; i + 2 * L <= n; i += 2 * L) {
    sums[0] += load(a + i) * load(b + i);
    sums[1] += load(a + i + L) * load(b + i + L);
  }
  double sum = sum_of_lanes(sums[0] + sums[1]);
  for (; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// The index of the largest of n numbers, the first one among equals.
inline int first_largest(const double* a, int n) {
  constexpr int L = LANES<double>;
  double largest = a[0];
  int i = 0;
  if (n >= L) {
    Vec<double> top = load(a);
    for (; i + L <= n; i += L) top = load(a + i) > top ? load(a + i) : top;
    for (int l = 0; l < L; ++l) largest = top[l] > largest ? top[l] : largest;
  }
  for (; i < n; ++i) largest = a[i] > largest ? a[i] : largest;
  int at = 0;
  while (at < n - 1 && a[at] != largest) ++at;
  return at;
}

// y += factor * x
inline void add_scaled(double factor, const double* x, double* y, int n) {
  constexpr int L = LANES<double>;
  int i = 0;
  for (; i + L <= n; i += L) store(y + i, load(y + i) + factor * load(x + i));
  for (; i < n; ++i) y[i] += factor * x[i];
}

// y = A x for `rows` rows of n entries, `stride` apart; LANES or four rows at a time.
inline void multiply(const double* a, Index stride, int rows, int n, const double* x, double* y) {
  constexpr int L = LANES<double>, AT_ONCE = L < 4 ? 4 : L;
  int r = 0;
  for (; r + AT_ONCE <= rows; r += AT_ONCE) {
    const double* row = a + r * stride;
    Vec<double> sums[AT_ONCE] = {};
    int i = 0;
    for (; i + L <= n; i += L) {
      const Vec<double> xi = load(x + i);
#pragma GCC unroll 8
      for (int q = 0; q < AT_ONCE; ++q) sums[q] += load(row + q * stride + i) * xi;
    }
    for (int q = 0; q < AT_ONCE; q += L) store(y + r + q, sums_in_order<double>(sums + q));
    for (int q = 0; q < AT_ONCE; ++q)
      for (int k = i; k < n; ++k) y[r + q] += row[q * stride + k] * x[k];
  }
  for (; r < rows; ++r) y[r] = dot(a + r * stride, x, n);
}

// y = A x and y_t += A^T x_t for `rows` rows of n entries of type T, read once.
template <class T>
void multiply_both(const T* a, Index stride, int rows, int n, const double* x, const double* xt,
                   double* y, double* yt) {
  constexpr int L = LANES<double>, AT_ONCE = L < 4 ? 4 : L;
  int r = 0;
  for (; r + AT_ONCE <= rows; r += AT_ONCE) {
    const T* row = a + r * stride;
    Vec<double> sums[AT_ONCE] = {};
    int i = 0;
    for (; i + L <= n; i += L) {
      const Vec<double> xi = load(x + i);
      Vec<double> yi = load(yt + i);
#pragma GCC unroll 8
      for (int q = 0; q < AT_ONCE; ++q) {
        const Vec<double> entries = load_double(row + q * stride + i);
        sums[q] += entries * xi;
        yi += entries * xt[r + q];
      }
      store(yt + i, yi);
    }
    for (int q = 0; q < AT_ONCE; q += L) store(y + r + q, sums_in_order<double>(sums + q));
    for (int q = 0; q < AT_ONCE; ++q)
      for (int k = i; k < n; ++k) {
        const double entry = row[q * stride + k];
        y[r + q] += entry * x[k];
        yt[k] += entry * xt[r + q];
      }
  }
  for (; r < rows; ++r) {
    y[r] = 0;
    for (int k = 0; k < n; ++k) {
      const double entry = a[r * stride + k];
      y[r] += entry * x[k];
      yt[k] += entry * xt[r];
    }
  }
}

// y -= A^T x
inline void subtract_transposed(const double* a, Index stride, int rows, int n, const double* x,
                                double* y) {
  int r = 0;
  for (; r + 4 <= rows; r += 4) {
    const double* row = a + r * stride;
    constexpr int L = LANES<double>;
    int i = 0;
    for (; i + L <= n; i += L)
      store(y + i, load(y + i) - (x[r] * load(row + i) + x[r + 1] * load(row + stride + i) +
                                  x[r + 2] * load(row + 2 * stride + i) +
                                  x[r + 3] * load(row + 3 * stride + i)));
    for (; i < n; ++i)
      for (int q = 0; q < 4; ++q) y[i] -= x[r + q] * row[q * stride + i];
  }
  for (; r < rows; ++r) add_scaled(-x[r], a + r * stride, y, n);
}

// x <- (I - 2 u u^T) x
inline void reflect(const double* u, double* x, int n) { add_scaled(-2 * dot(u, x, n), u, x, n); }

// A <- (I - 2 u u^T) A; `work` has room for n numbers.
inline void reflect_left(double* a, const double* u, double* work, int n) {
  for (int i = 0; i < n; ++i) work[i] = 0;
  for (int i = 0; i < n; ++i) add_scaled(u[i], a + i * static_cast<Index>(n), work, n);
  for (int i = 0; i < n; ++i) add_scaled(-2 * u[i], work, a + i * static_cast<Index>(n), n);
}

// A <- A (I - 2 u u^T)
inline void reflect_right(double* a, const double* u, int n) {
  for (int i = 0; i < n; ++i) {
    double* row = a + i * static_cast<Index>(n);
    add_scaled(-2 * dot(row, u, n), u, row, n);
  }
}

// Writes the transpose of the n x n matrix a; rows are `from` and `to` entries apart.
inline void transpose_matrix(const double* a, Index from, double* transposed, Index to, int n) {
  constexpr int BLOCK = 16;
  for (int r = 0; r < n; r += BLOCK)
    for (int c = 0; c < n; c += BLOCK)
      for (int i = r; i < n && i < r + BLOCK; ++i)
        for (int j = c; j < n && j < c + BLOCK; ++j) transposed[i * to + j] = a[j * from + i];
}

// z = a + a^T
inline void symmetrise(const double* a, double* z, int n) {
  constexpr int BLOCK = 16;
  for (int r = 0; r < n; r += BLOCK)
    for (int c = 0; c < n; c += BLOCK)
      for (int i = r; i < n && i < r + BLOCK; ++i)
        for (int j = c; j < n && j < c + BLOCK; ++j)
          z[i * static_cast<Index>(n) + j] =
              a[i * static_cast<Index>(n) + j] + a[j * static_cast<Index>(n) + i];
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
