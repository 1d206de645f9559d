// Inner products of the atoms of a dictionary (the Gram matrix), each summed in one fixed order, so
// that a row has the same bits whether it is computed alone or with all others.
#pragma once

#include "kernels/learning/linear_algebra.hpp"
#include "kernels/simd/shuffle.hpp"
#include "types/pursuit.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// Loads numbers as vectors of type S.
template <class S, class T> FOST_INLINE Vec<S> load_as(const T* p) {
  if constexpr (sizeof(S) == sizeof(T))
    return load(p);
  else
    return load_double(p);
}

// The last `count` numbers, fewer than a vector, padded with zeros. A scalar loop would be compiled
// to fused operations in one place and to separate products and sums in another.
template <class S, class T> FOST_INLINE Vec<S> load_last(const T* p, int count) {
  Vec<S> last = {};
  for (int l = 0; l < count; ++l) last[l] = static_cast<S>(p[l]);
  return last;
}

// <a, b> summed in type S, bit-identical to `multiply_rows`.
template <class S, class T> S dot(const T* a, const T* b, int n) {
  constexpr int L = LANES<S>;
  Vec<S> sums = {};
  int i = 0;
  for (; i + L <= n; i += L) sums += load_as<S>(a + i) * load_as<S>(b + i);
  if (i < n) sums += load_last<S>(a + i, n - i) * load_last<S>(b + i, n - i);
  return sum_in_order<S>(sums);
}
template <class T> double dot_in_double(const T* a, const T* b, int n) {
  return dot<double>(a, b, n);
}

// Squared norms of `count` rows of n numbers, four rows at a time. They may overflow or underflow.
template <class T> void squared_norms(const T* rows, Index n, Index count, double* out) {
  constexpr int L = LANES<T>;
  for (Index j = 0; j < count; j += 4, rows += 4 * n) {
    const int some = count - j < 4 ? static_cast<int>(count - j) : 4;
    Vec<T> sums[4] = {};
    Index i = 0;
    for (; some == 4 && i + L <= n; i += L)
#pragma GCC unroll 4
      for (int q = 0; q < 4; ++q) {
        const Vec<T> v = load(rows + q * n + i);
        sums[q] += v * v;
      }
    for (int q = 0; q < some; ++q) {
      T sum = sum_in_order<T>(sums[q]);
      for (Index r = i; r < n; ++r) sum += rows[q * n + r] * rows[q * n + r];
      out[j + q] = sum;
    }
  }
}

// products[j] = <x, row j> for the rows first:last of n numbers each, summed in type S, LANES rows
// at a time. If the rows exceed the cache, successive passes are faster when each starts where the
// last one ended, hence `backwards`.
template <class S, class T>
void multiply_rows(const T* rows, int n, int first, int last, const T* x, T* products,
                   bool backwards = false) {
  constexpr int L = LANES<S>, ROWS = L < 8 ? L : 8;  // more rows at once were slower
  constexpr int LINE = Prefetch::LINE / static_cast<int>(sizeof(T));
  const int blocks = (last - first) / L;
  for (int b = 0; b < blocks; ++b) {
    const int j = first + (backwards ? blocks - 1 - b : b) * L;
    const T* row = rows + static_cast<Index>(j) * n;
    const Index ahead = b + 1 == blocks ? 0
                        : backwards     ? -static_cast<Index>(L) * n
                                        : static_cast<Index>(L) * n;
    Vec<S> sums[L] = {};
#pragma GCC unroll 2
    for (int p = 0; p < L; p += ROWS) {
      const T* some = row + p * static_cast<Index>(n);
      int i = 0;
      for (; i + L <= n; i += L) {
        const Vec<S> xi = load_as<S>(x + i);
        const T* here = some + i;
        if (i % LINE == 0) {
#pragma GCC unroll 8
          for (int q = 0; q < ROWS; ++q)
            __builtin_prefetch(here + q * static_cast<Index>(n) + ahead);
        }
#pragma GCC unroll 8
        for (int q = 0; q < ROWS; ++q)
          sums[p + q] += load_as<S>(here + q * static_cast<Index>(n)) * xi;
      }
      if (i < n) {
        const Vec<S> xi = load_last<S>(x + i, n - i);
#pragma GCC unroll 8
        for (int q = 0; q < ROWS; ++q)
          sums[p + q] += load_last<S>(some + q * static_cast<Index>(n) + i, n - i) * xi;
      }
    }
    S totals[L];
    store(totals, sums_in_order<S>(sums));
    for (int q = 0; q < L; ++q) products[j + q] = static_cast<T>(totals[q]);
  }
  for (int j = first + blocks * L; j < last; ++j)
    products[j] = static_cast<T>(dot<S>(rows + static_cast<Index>(j) * n, x, n));
}

// The same for atoms. Sums of up to this many products lose little in their own type and take half
// the time; DEPENDENCE_TOLERANCE accounts for the loss.
constexpr int MAX_NATIVE_SUM = 1024;
template <class T>
void multiply_atoms(const T* rows, int n, int first, int last, const T* x, T* products,
                    bool backwards = false) {
  if (n <= MAX_NATIVE_SUM)
    multiply_rows<T>(rows, n, first, last, x, products, backwards);
  else
    multiply_rows<double>(rows, n, first, last, x, products, backwards);
}

// Entries k, k + 1, ... of the rows first:last of the Gram matrix, and zeros beyond `count`.
template <class T>
void upper_inner_products(const T* rows, int n, int count, int pitch, Index first, Index last,
                          T* gram) {
  for (Index k = first; k < last; ++k) {
    T* products = gram + k * pitch;
    multiply_atoms(rows, n, static_cast<int>(k), count, rows + k * n, products);
    for (int j = count; j < pitch; ++j) products[j] = T(0);
  }
}

// <atom k, atom k>
template <class T> T squared_atom(const Atoms<T>& atoms, Index k) {
  if (!atoms.known) return atoms.gram[k * atoms.pitch + k];
  const T* atom = atoms.rows + k * atoms.n;
  return atoms.n <= MAX_NATIVE_SUM ? dot<T>(atom, atom, atoms.n)
                                   : static_cast<T>(dot_in_double(atom, atom, atoms.n));
}

// <chosen atom, atom k>. The rows of chosen atoms are computed already, the row of atom k may not
// be.
template <class T> T inner_product(const Atoms<T>& atoms, int chosen, int k) {
  return atoms.known ? atoms.gram[static_cast<Index>(chosen) * atoms.pitch + k]
                     : atoms.gram[static_cast<Index>(k) * atoms.pitch + chosen];
}

// Computes row k of the Gram matrix unless it is there already, from the last atom on if
// `backwards`.
template <class T> void find_row(const Atoms<T>& atoms, int k, bool backwards) {
  if (!atoms.known || atoms.known[k]) return;
  T* row = atoms.gram + static_cast<Index>(k) * atoms.pitch;
  const T* atom = atoms.rows + static_cast<Index>(k) * atoms.n;
  multiply_atoms(atoms.rows, atoms.n, 0, atoms.count, atom, row, backwards);
  for (int j = atoms.count; j < atoms.pitch; ++j) row[j] = T(0);
  atoms.known[k] = true;
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
