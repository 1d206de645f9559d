// Inner products of the atoms of a dictionary, each in one fixed order, so that a row is the same
// to the last bit whether it is computed alone or with all others.
#pragma once

#include "algebra.hpp"
#include "simd.hpp"

namespace fost {
namespace FOST_NAMESPACE {

template <class T> double dot_in_double(const T* a, const T* b, int n) {
  constexpr int L = LANES<double>;
  Vec<double> sums = {};
  int i = 0;
  for (; i + L <= n; i += L) sums += load_double(a + i) * load_double(b + i);
  double sum = sum_of_lanes(sums);
  for (; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

// products[j] = <x, row j> for the rows first:last of n numbers each, four at a time.
template <class T>
void multiply_rows(const T* rows, int n, int first, int last, const T* x, T* products) {
  constexpr int L = LANES<double>;
  int j = first;
  for (; j + 4 <= last; j += 4) {
    const T* row = rows + static_cast<Index>(j) * n;
    Vec<double> sums[4] = {};
    int i = 0;
    for (; i + L <= n; i += L) {
      const Vec<double> xi = load_double(x + i);
#pragma GCC unroll 4
      for (int q = 0; q < 4; ++q) sums[q] += load_double(row + q * static_cast<Index>(n) + i) * xi;
    }
    for (int q = 0; q < 4; ++q) {
      double sum = sum_of_lanes(sums[q]);
      for (int r = i; r < n; ++r) sum += static_cast<double>(row[q * static_cast<Index>(n) + r]) * x[r];
      products[j + q] = static_cast<T>(sum);
    }
  }
  for (; j < last; ++j)
    products[j] = static_cast<T>(dot_in_double(rows + static_cast<Index>(j) * n, x, n));
}

// Entries k, k + 1, ... of the rows first:last of the inner products, and zeros beyond `count`.
template <class T>
void upper_inner_products(const T* rows, int n, int count, int pitch, Index first, Index last, T* gram) {
  for (Index k = first; k < last; ++k) {
    T* products = gram + k * pitch;
    multiply_rows(rows, n, static_cast<int>(k), count, rows + k * n, products);
    for (int j = count; j < pitch; ++j) products[j] = T(0);
  }
}

// Row k of the inner products, computed now if it is not there yet.
template <class T> const T* gram_row(const Atoms<T>& atoms, int k) {
  T* row = atoms.gram + static_cast<Index>(k) * atoms.pitch;
  if (atoms.known && !atoms.known[k]) {
    multiply_rows(atoms.rows, atoms.n, 0, atoms.count, atoms.rows + static_cast<Index>(k) * atoms.n, row);
    for (int j = atoms.count; j < atoms.pitch; ++j) row[j] = T(0);
    atoms.known[k] = true;
  }
  return row;
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
