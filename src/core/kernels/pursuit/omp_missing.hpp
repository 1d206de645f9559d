// Orthogonal matching pursuit of incomplete signals. Every signal has its own inner products of
// observed parts of atoms, so the residual itself is updated, by means of the orthogonalised atoms:
//
//   1. Choose the atom of the largest (scaled) correlation with the residual.
//   2. Orthogonalise its observed part against the chosen ones (a row of the Cholesky factor L).
//   3. Subtract its component from the residual; at the end solve x = L^-T c.
//
// NumPy twins: tests/reference.py, omp and omp_steps.
#pragma once

#include "kernels/pursuit/omp_common.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// The pursuit of one incomplete signal.
template <class T> struct MaskedPursuit {
  int s;
  int count;
  std::int32_t* chosen;  // s
  double* factor;        // s x s, L column by column, with reciprocals on its diagonal
  double* c;             // s
  double left;           // squared residual
  double least = 1;  // least share of a chosen atom's squared norm outside the span of the others

  bool has(int k) const {
    for (int i = 0; i < count; ++i)
      if (chosen[i] == k) return true;
    return false;
  }

  double* column(int i) const { return factor + static_cast<Index>(i) * s; }

  // Adds atom k with its row of the factor and its correlation with the residual; false if it is
  // linearly dependent on the chosen atoms.
  bool add(int k, double square, const double* row, double correlation) {
    double rest = square;
    for (int i = 0; i < count; ++i) rest -= row[i] * row[i];
    // Errors of the projection grow as the shares of chosen atoms outside the span shrink.
    if (rest * least <= DEPENDENCE_TOLERANCE<T> * square) return false;
    if (rest < least * square) least = rest / square;
    for (int i = 0; i < count; ++i) column(i)[count] = row[i];
    const double inverse = 1 / __builtin_sqrt(rest);
    column(count)[count] = inverse;
    c[count] = correlation * inverse;
    left -= c[count] * c[count];
    chosen[count++] = k;
    return true;
  }

  // x = L^-T c
  void solve(double* x) const {
    for (int i = count - 1; i >= 0; --i) {
      const double* below = column(i);
      double sum = c[i];
      for (int j = i + 1; j < count; ++j) sum -= below[j] * x[j];
      x[i] = sum * below[i];
    }
  }

  bool done(double tol) const { return count == s || left <= tol; }
};

// y += factor * x
template <class T> void add_multiple(T factor, const T* x, T* y, int n) {
  constexpr int L = LANES<T>;
  int i = 0;
  for (; i + L <= n; i += L) store(y + i, load(y + i) + factor * load(x + i));
  for (; i < n; ++i) y[i] += factor * x[i];
}

// One step for one signal: takes an atom and updates the residual. Returns false if no atom is left
// to take.
template <class T>
bool step_observed(const Atoms<T>& atoms, MaskedPursuit<T>& pursuit, double energy, T* alpha,
                   const T* scales, const T* observed, T* residual, T* directions, double* row) {
  const int n = atoms.n;
  for (int i = 0; i < pursuit.count; ++i) alpha[pursuit.chosen[i]] = 0;
  const int k = largest_correlation(alpha, scales, atoms.pitch);
  if (k >= atoms.count || alpha[k] == 0) return false;
  const T* atom = atoms.rows + static_cast<Index>(k) * n;
  T* direction = directions + static_cast<Index>(pursuit.count) * n;
  for (int i = 0; i < n; ++i) direction[i] = atom[i] * observed[i];
  const double square = squared_norm(direction, n);
  const double strength = alpha[k];
  if (strength * strength <= ROUNDING_TOLERANCE<T> * ROUNDING_TOLERANCE<T> * energy * square)
    return false;
  for (int i = 0; i < pursuit.count; ++i) {
    const T* other = directions + static_cast<Index>(i) * n;
    row[i] = dot_in_double(direction, other, n);
    add_multiple(static_cast<T>(-row[i]), other, direction, n);
  }
  if (!pursuit.add(k, square, row, dot_in_double(direction, residual, n))) return false;
  const int last = pursuit.count - 1;
  const T scale = static_cast<T>(pursuit.column(last)[last]);
  for (int i = 0; i < n; ++i) direction[i] *= scale;
  add_multiple(static_cast<T>(-pursuit.c[last]), direction, residual, n);
  return true;
}

// The codes of the rows first:last of y, from entries that are not `missing`. Returns false if an
// entry is not finite or a norm is out of range.
template <class T>
bool pursue_observed(const Atoms<T>& atoms, const View<const T>& y, const View<const bool>& missing,
                     Index first, Index last, const Codes<T>& codes,
                     const PursuitMemory<T>& memory) {
  const int n = atoms.n, s = codes.s;
  for (Index begin = first; begin < last; begin += memory.tile) {
    const int width = static_cast<int>(last - begin < memory.tile ? last - begin : memory.tile);
    for (Index r = 0; r < width; ++r) {
      for (Index i = 0; i < n; ++i) {
        const Index row = begin + r;
        const bool is_missing = missing.data[row * missing.row_stride + i * missing.column_stride];
        memory.observed[r * n + i] = is_missing ? 0 : 1;
        memory.rows[r * n + i] = is_missing ? 0 : y.data[row * y.row_stride + i * y.column_stride];
      }
      memory.left[r] = squared_norm(memory.rows + r * n, n);
      if (!in_numeric_range(memory.left[r], memory.rows + r * n, n)) return false;
      codes.counts[begin + r] = 0;
    }
    if (memory.scales) {
      correlate(atoms, atoms.squares, memory.observed, n, width, memory.scales, memory.gemm);
      for (Index i = 0; i < static_cast<Index>(width) * atoms.pitch; ++i)
        memory.scales[i] = memory.scales[i] > 0 ? 1 / __builtin_sqrt(memory.scales[i]) : T(0);
    }
    for (int step = 0; step < s; ++step) {
      bool going = false;
      correlate(atoms, atoms.rows, memory.rows, n, width, memory.correlations, memory.gemm);
      for (Index r = 0; r < width; ++r) {
        if (codes.counts[begin + r] < step) continue;  // it stopped earlier
        MaskedPursuit<T> pursuit = {s,
                                    step,
                                    codes.indices + (begin + r) * s,
                                    memory.factor + r * s * s,
                                    memory.c + r * s,
                                    memory.left[r]};
        if (pursuit.done(memory.tol)) continue;
        double energy = pursuit.left;
        for (int i = 0; i < step; ++i) energy += pursuit.c[i] * pursuit.c[i];
        const T* scales = memory.scales ? memory.scales + r * atoms.pitch : atoms.scales;
        going |= step_observed(atoms, pursuit, energy, memory.correlations + r * atoms.pitch,
                               scales, memory.observed + r * n, memory.rows + r * n,
                               memory.directions + r * s * n, memory.x);
        codes.counts[begin + r] = pursuit.count;
        memory.left[r] = pursuit.left;
      }
      if (!going) break;
    }
    for (Index r = 0; r < width; ++r) {
      const MaskedPursuit<T> pursuit = {s,
                                        codes.counts[begin + r],
                                        codes.indices + (begin + r) * s,
                                        memory.factor + r * s * s,
                                        memory.c + r * s,
                                        0};
      pursuit.solve(memory.x);
      write_code(pursuit.count, memory.x, 1, codes, begin + r);
    }
  }
  return true;
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
