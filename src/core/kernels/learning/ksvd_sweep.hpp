// One sweep of approximate K-SVD over the atoms of a general dictionary.
//
// With E = Y - X D the residual and I the signals that use atom k, one step of the power method
// approximates the rank-one matrix closest to E_I + x d^T:
//
//     d' = (E_I + x d^T)^T x, normalised;  x' = (E_I + x d^T) d'.
//
// For sparse K-SVD, d' keeps its p largest entries before it is normalised: the best atom with p
// entries for the coefficients x. Each signal that uses the atom is read once for d' and once for
// x'. E, X and D are updated in place, so that the next atom uses the new residual. NumPy twin:
// tests/reference.py, sweep_atoms.
#pragma once

#include "kernels/pursuit/batch_omp.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// sum += factor * x
template <class T> void add_in_double(double factor, const T* x, double* sum, int n) {
  constexpr int L = LANES<double>;
  int i = 0;
  for (; i + L <= n; i += L) store(sum + i, load(sum + i) + factor * load_double(x + i));
  for (; i < n; ++i) sum[i] += factor * x[i];
}

template <class T> FOST_INLINE void prefetch_row(const T* row, int n) {
  for (int i = 0; i < n; i += 64 / static_cast<int>(sizeof(T))) __builtin_prefetch(row + i, 1);
}

// Sets all but the `entries` largest magnitudes to zero; ties go to the lower index. `left` (n) is
// working memory.
template <class T> void keep_largest(double* direction, int n, int entries, T* left) {
  if (entries >= n) return;
  for (int i = 0; i < n; ++i) left[i] = T(1);
  for (int k = 0; k < entries; ++k) {
    int best = -1;
    double most = -1;
    for (int i = 0; i < n; ++i) {
      const double magnitude = left[i] != 0 ? __builtin_fabs(direction[i]) : -1;
      best = magnitude > most ? i : best;
      most = magnitude > most ? magnitude : most;
    }
    if (best < 0) return;  // the direction is not finite
    left[best] = T(0);
  }
  for (int i = 0; i < n; ++i)
    if (left[i] != 0) direction[i] = 0;
}

// Updates the atoms of `order`; `direction` (n) and `atom` (n) are working memory.
template <class T>
void sweep_atoms(const AtomUses<T>& uses, int n, int entries, const std::int32_t* order, int count,
                 T* atoms, T* residual, double* direction, T* atom) {
  constexpr int L = LANES<T>;
  constexpr std::int64_t AHEAD = 8;
  for (int a = 0; a < count; ++a) {
    T* old = atoms + static_cast<Index>(order[a]) * n;
    const std::int64_t begin = uses.begins[order[a]], end = uses.begins[order[a] + 1];
    const auto row_of = [&](std::int64_t e) {
      return residual + static_cast<Index>(uses.rows[e]) * n;
    };
    for (int i = 0; i < n; ++i) direction[i] = 0;
    double energy = 0;
    for (std::int64_t e = begin; e < end; ++e) {
      if (e + AHEAD < end) prefetch_row(row_of(e + AHEAD), n);
      const double x = uses.values[uses.places[e]];
      add_in_double(x, row_of(e), direction, n);
      energy += x * x;
    }
    add_in_double(energy, old, direction, n);
    keep_largest(direction, n, entries, atom);
    const double norm = __builtin_sqrt(dot(direction, direction, n));
    if (!(norm > 0)) continue;  // the atom is unused, or has no effect
    for (int i = 0; i < n; ++i) atom[i] = static_cast<T>(direction[i] / norm);
    const double overlap = dot_in_double(old, atom, n);
    for (std::int64_t e = begin; e < end; ++e) {
      if (e + AHEAD < end) prefetch_row(row_of(e + AHEAD), n);
      T* row = row_of(e);
      T& value = uses.values[uses.places[e]];
      const T before = value;
      const T after = static_cast<T>(dot_in_double(row, atom, n) + before * overlap);
      int i = 0;
      for (; i + L <= n; i += L)
        store(row + i, load(row + i) + (before * load(old + i) - after * load(atom + i)));
      for (; i < n; ++i) row[i] += before * old[i] - after * atom[i];
      value = after;
    }
    for (int i = 0; i < n; ++i) old[i] = atom[i];
  }
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
