// Orthogonal matching pursuit, signal by signal, in vectors along the atoms.
//
// Step t takes the atom k of the largest correlation with the residual. Of the orthogonalised
// chosen atoms, the inner products d_i with all atoms are kept. Those with atom k are its row l of
// the Cholesky factor L of the chosen atoms' inner products; with them and G = D D^T
//   d_t = (G_k - sum over i < t of l_i d_i) / L_tt,   L_tt^2 = G_kk - sum of l_i^2,
// and c_t, the coordinate of the signal, and all correlations alpha with the residual are
//   c_t = (<y, atom k> - sum of l_i c_i) / L_tt,   alpha = alpha - c_t d_t.
// In the end L^T x = c has the coefficients, and ||residual||^2 = ||y||^2 - ||c||^2.
#pragma once

#include "gram.hpp"
#include "pursuit_types.hpp"
#include "select.hpp"
#include "shuffle.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// An atom is dependent on others where less than this share of its square is left outside
// their span: inner products carry an error of that order.
template <class T> constexpr double DEPENDENT = 64 * static_cast<double>(sizeof(T) == 4 ? 1.2e-7 : 2.3e-16);
// A correlation is rounding where it is smaller than this, times the norms of both.
template <class T> constexpr double ROUNDING = 4 * static_cast<double>(sizeof(T) == 4 ? 1.2e-7 : 2.3e-16);

template <class T> double squared_norm(const T* a, int n) {
  constexpr int L = LANES<double>;
  Vec<double> sums = {};
  int i = 0;
  for (; i + L <= n; i += L) {
    const Vec<double> v = load_double(a + i);
    sums += v * v;
  }
  double sum = sum_of_lanes(sums);
  for (; i < n; ++i) sum += static_cast<double>(a[i]) * a[i];
  return sum;
}

// Whether the squared norm of a row tells what it should: its square root is neither so large nor
// so small that products of correlations and coefficients overflow or vanish in T, nor squares of
// correlations in float64, with atoms at the end of their reach. Others are scaled by the caller.
template <class T> bool within_reach(double energy, const T* row, int n) {
  constexpr double MOST = sizeof(T) == 4 ? 0x1p100 : 0x1p440;
  if (energy == 0) {
    for (int i = 0; i < n; ++i)
      if (row[i] != 0) return false;
    return true;
  }
  return energy >= 1 / MOST && energy <= MOST;
}

template <class T> FOST_INLINE Vec<T> larger(Vec<T> a, Vec<T> b) { return a > b ? a : b; }

// |alpha_k|, times scales_k where given.
template <class T> FOST_INLINE Vec<T> strength(const T* alpha, const T* scales, int k) {
  return absolute(scales ? load(alpha + k) * load(scales + k) : load(alpha + k));
}

// The index of the largest strength, the first of several, among `pitch` numbers, a multiple of
// the vectors; `top` has the largest of each lane.
template <class T> int find_strongest(const T* alpha, const T* scales, int pitch, Vec<T> top) {
  const Vec<T> all = largest_lane<T>(top) - Vec<T>{};
  for (int k = 0; k < pitch; k += LANES<T>) {
    const unsigned found = at_least(strength(alpha, scales, k), all);
    if (found) return k + __builtin_ctz(found);
  }
  return 0;  // NaN everywhere
}

template <class T> Vec<T> top_strengths(const T* alpha, const T* scales, int pitch) {
  Vec<T> top = strength(alpha, scales, 0);
  for (int k = LANES<T>; k < pitch; k += LANES<T>) top = larger<T>(strength(alpha, scales, k), top);
  return top;
}

template <class T> int strongest(const T* alpha, const T* scales, int pitch) {
  return find_strongest(alpha, scales, pitch, top_strengths(alpha, scales, pitch));
}

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

// Writes the coefficients x of the chosen atoms with ascending indices, in place.
template <class T> void write_code(int count, const double* x, const Codes<T>& codes, Index row) {
  T* values = codes.values + row * codes.s;
  std::int32_t* indices = codes.indices + row * codes.s;
  int written = 0;
  for (int i = 0; i < count; ++i) {
    const T value = static_cast<T>(x[i]);
    const std::int32_t index = indices[i];
    if (value == 0) continue;
    int at = written++;
    for (; at > 0 && indices[at - 1] > index; --at) {
      indices[at] = indices[at - 1];
      values[at] = values[at - 1];
    }
    indices[at] = index;
    values[at] = value;
  }
  codes.counts[row] = written;
}

// correlations (count x width, column-major with `pitch`) = D rows^T.
template <class T>
void correlate(const Atoms<T>& atoms, const T* matrix, const T* rows, Index stride, int count,
               T* out, Gemm<T> gemm) {
  if (!gemm) {  // BLAS is not worth while for few signals
    for (Index r = 0; r < count; ++r)
      multiply_rows<T>(matrix, atoms.n, 0, atoms.count, rows + r * stride, out + r * atoms.pitch);
    return;
  }
  char yes = 'T', no = 'N';
  int k = atoms.count, n = atoms.n, pitch = atoms.pitch, ld = static_cast<int>(stride);
  T one = 1, zero = 0;
  gemm(&yes, &no, &k, &count, &n, &one, const_cast<T*>(matrix), &n, const_cast<T*>(rows), &ld,
       &zero, out, &pitch);
}

// The correlations of all atoms with the atom that was taken last, orthogonalised, and what is
// left of those with the residual; returns the largest strengths. Directions are kept in blocks of
// PITCH atoms, all of a signal's side by side.
template <class T>
Vec<T> subtract_direction(const Atoms<T>& atoms, const Pursuit<T>& pursuit, const T* factors,
                          const T* from, T* alpha, T* directions) {
  constexpr int L = LANES<T>, V = PITCH / L;
  const int last = pursuit.count - 1;
  const T* gram = gram_row(atoms, pursuit.chosen[last]);
  const T inverse = static_cast<T>(pursuit.column(last)[last]), c = static_cast<T>(pursuit.c[last]);
  Vec<T> top = {};
  for (int k = 0; k < atoms.pitch; k += PITCH, directions += static_cast<Index>(pursuit.s) * PITCH) {
    Vec<T> sums[V];
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) sums[v] = load(gram + k + v * L);
    for (int i = 0; i < last; ++i) {
      const T factor = factors[i];
      if (factor == 0) continue;  // the atoms of a union often have nothing in common
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) sums[v] -= factor * load(directions + i * PITCH + v * L);
    }
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) {
      const Vec<T> direction = inverse * sums[v];
      store(directions + last * PITCH + v * L, direction);
      store(alpha + k + v * L, load(from + k + v * L) - c * direction);
      top = larger<T>(strength(alpha, atoms.scales, k + v * L), top);
    }
  }
  return top;
}

// What a pursuit works with besides.
template <class T> struct PursuitState {
  Pursuit<T> pursuit;
  double energy;
  const T* alpha0;
  T* alpha;
  T* directions;
  double* x;
  T* factors;
  Vec<T> top;
  bool going;

  // Takes an atom and computes what is left of the correlations, unless this was the last step.
  // False where nothing is left to take.
  FOST_INLINE bool step(const Atoms<T>& atoms, double tol) {
    const T* from = pursuit.count ? alpha : alpha0;
    int k = find_strongest(from, atoms.scales, atoms.pitch, top);
    if (pursuit.has(k)) {  // all are close to zero; the chosen ones are to be exactly that
      for (int i = 0; i < pursuit.count; ++i) alpha[pursuit.chosen[i]] = 0;
      k = strongest(from, atoms.scales, atoms.pitch);
    }
    if (k >= atoms.count) return false;
    const double strength = from[k], square = squared_atom(atoms, k);
    if (strength * strength <= ROUNDING<T> * ROUNDING<T> * energy * square) return false;
    // The row of the factor is what the atom has in common with the directions.
    const T* common = directions + static_cast<Index>(k / PITCH) * pursuit.s * PITCH + k % PITCH;
    double correlation = alpha0[k];
    for (int i = 0; i < pursuit.count; ++i) {
      factors[i] = common[i * PITCH];
      x[i] = factors[i];
      correlation -= x[i] * pursuit.c[i];
    }
    if (!pursuit.add(k, square, x, correlation)) return false;
    if (pursuit.done(tol)) return true;
    top = subtract_direction(atoms, pursuit, factors, from, alpha, directions);
    return true;
  }
};

// Signals in contiguous rows.
template <class T> struct SignalRows {
  const T* data;
  Index stride;
};

// `count` signals where they lie, or, where that is not in such rows, copied.
template <class T> SignalRows<T> rows_of(const View<const T>& y, Index begin, int count, T* copy) {
  const Index n = y.columns;
  const T* rows = y.data + begin * y.row_stride;
  if (y.column_stride == 1 && y.row_stride >= n && y.row_stride < (1 << 30)) return {rows, y.row_stride};
  for (Index r = 0; r < count; ++r)
    for (Index i = 0; i < n; ++i) copy[r * n + i] = rows[r * y.row_stride + i * y.column_stride];
  return {copy, n};
}

// The codes of `count` signals whose correlations are in memory. False where an entry is not finite
// or a row not within reach.
template <class T>
bool pursue_tile(const Atoms<T>& atoms, const SignalRows<T>& rows, int count, Codes<T> codes,
                 const PursuitMemory<T>& memory) {
  const int s = codes.s;
  // A step is a chain of results that wait for each other, so several signals take each
  // step one after the other, and the processor works on them side by side.
  for (int r = 0; r < count; r += memory.together, advance(codes, memory.together)) {
    PursuitState<T> states[PURSUITS];
    const int some = count - r < memory.together ? count - r : memory.together;
    for (int p = 0; p < some; ++p) {
      const T* row = rows.data + (r + p) * rows.stride;
      const double energy = squared_norm(row, atoms.n);
      if (!within_reach(energy, row, atoms.n)) return false;
      const T* alpha0 = memory.correlations + static_cast<Index>(r + p) * atoms.pitch;
      states[p] = {{s, 0, codes.indices + static_cast<Index>(p) * s,
                    memory.factor + static_cast<Index>(p) * s * s, memory.c + p * s, energy},
                   energy,
                   alpha0,
                   memory.alpha + static_cast<Index>(p) * atoms.pitch,
                   memory.directions + static_cast<Index>(p) * s * atoms.pitch,
                   memory.x + p * s,
                   memory.factors + p * s,
                   top_strengths(alpha0, atoms.scales, atoms.pitch),
                   true};
    }
    for (bool any = true; any;) {
      any = false;
      for (int p = 0; p < some; ++p) {
        if (!states[p].going || states[p].pursuit.done(memory.tol)) continue;
        states[p].going = states[p].step(atoms, memory.tol);
        any |= states[p].going;
      }
    }
    for (int p = 0; p < some; ++p) {
      states[p].pursuit.solve(states[p].x);
      write_code(states[p].pursuit.count, states[p].x, codes, p);
    }
  }
  return true;
}

// The codes of the rows first:last of y. False where an entry is not finite or a row not within
// reach.
template <class T>
bool pursue(const Atoms<T>& atoms, const View<const T>& y, Index first, Index last,
            const Codes<T>& codes, const PursuitMemory<T>& memory) {
  Codes<T> here = codes;
  advance(here, first);
  for (Index begin = first; begin < last; begin += memory.tile, advance(here, memory.tile)) {
    const int count = static_cast<int>(last - begin < memory.tile ? last - begin : memory.tile);
    const SignalRows<T> rows = rows_of(y, begin, count, memory.rows);
    correlate(atoms, atoms.rows, rows.data, rows.stride, count, memory.correlations, memory.gemm);
    if (!pursue_tile(atoms, rows, count, here, memory)) return false;
  }
  return true;
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
