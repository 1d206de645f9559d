// Orthogonal matching pursuit where entries are missing: every signal has inner products of its
// own, and the residual itself is kept, by means of the orthogonalised atoms.
#pragma once

#include "kernels/pursuit/omp_common.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// The pursuit of one signal.
template <class T> struct Pursuit {
  int s;
  int count;
  std::int32_t* chosen;  // s
  double* factor;        // s x s, L column by column, with one over its diagonal
  double* c;             // s
  double left;           // squared residual
  double least = 1;      // of what was left of the chosen atoms' squares outside the others' span

  bool has(int k) const {
    for (int i = 0; i < count; ++i)
      if (chosen[i] == k) return true;
    return false;
  }

  double* column(int i) const { return factor + static_cast<Index>(i) * s; }

  // Adds atom k with its row of the factor and the correlation that is left; false where it
  // depends on the chosen ones.
  bool add(int k, double square, const double* row, double correlation) {
    double rest = square;
    for (int i = 0; i < count; ++i) rest -= row[i] * row[i];
    // The less is left of chosen atoms, the larger are the errors of what depends on them.
    if (rest * least <= DEPENDENT<T> * square) return false;
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

// One step for one signal with missing entries: takes an atom and makes its residual smaller.
// False where nothing is left to take.
template <class T>
bool step_observed(const Atoms<T>& atoms, Pursuit<T>& pursuit, double energy, T* alpha,
                   const T* scales, const T* observed, T* residual, T* directions, double* row) {
  const int n = atoms.n;
  for (int i = 0; i < pursuit.count; ++i) alpha[pursuit.chosen[i]] = 0;
  const int k = strongest(alpha, scales, atoms.pitch);
  if (k >= atoms.count || alpha[k] == 0) return false;
  const T* atom = atoms.rows + static_cast<Index>(k) * n;
  T* direction = directions + static_cast<Index>(pursuit.count) * n;
  for (int i = 0; i < n; ++i) direction[i] = atom[i] * observed[i];
  const double square = squared_norm(direction, n);
  const double strength = alpha[k];
  if (strength * strength <= ROUNDING<T> * ROUNDING<T> * energy * square) return false;
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

// The same for signals of which only the entries that are not `missing` count.
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
        const bool gap = missing.data[row * missing.row_stride + i * missing.column_stride];
        memory.observed[r * n + i] = gap ? 0 : 1;
        memory.rows[r * n + i] = gap ? 0 : y.data[row * y.row_stride + i * y.column_stride];
      }
      memory.left[r] = squared_norm(memory.rows + r * n, n);
      if (!within_reach(memory.left[r], memory.rows + r * n, n)) return false;
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
        if (codes.counts[begin + r] < step) continue;  // it stopped before
        Pursuit<T> pursuit = {s, step, codes.indices + (begin + r) * s, memory.factor + r * s * s,
                              memory.c + r * s, memory.left[r]};
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
      const Pursuit<T> pursuit = {s, codes.counts[begin + r], codes.indices + (begin + r) * s,
                                  memory.factor + r * s * s, memory.c + r * s, 0};
      pursuit.solve(memory.x);
      write_code(pursuit.count, memory.x, 1, codes, begin + r);
    }
  }
  return true;
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
