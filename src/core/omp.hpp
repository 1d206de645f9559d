// Orthogonal matching pursuit, signal by signal, in vectors along the atoms or the features.
//
// Step j takes the atom k of the largest correlation with the residual, adds its row to the
// Cholesky factor L of the chosen atoms' inner products, and solves for the coefficients:
//   L c = D_I y,  L^T x = c,  ||residual||^2 = ||y||^2 - ||c||^2.
// Without missing entries the correlations follow from the inner products G = D D^T alone
// (Batch-OMP): alpha = D y - G[:, I] x. With them, every signal has inner products of its own,
// and the residual itself is kept, by means of the orthogonalised atoms.
#pragma once

#include "algebra.hpp"
#include "pursuit_types.hpp"
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
// so small that products of correlations and coefficients overflow or vanish in T. Others are
// scaled by the caller.
template <class T> bool within_reach(double energy, const T* row, int n) {
  constexpr double MOST = sizeof(T) == 4 ? 0x1p100 : 0x1p800;
  if (energy == 0) {
    for (int i = 0; i < n; ++i)
      if (row[i] != 0) return false;
    return true;
  }
  return energy >= 1 / MOST && energy <= MOST;
}

template <class T> FOST_INLINE Vec<T> larger(Vec<T> a, Vec<T> b) { return a > b ? a : b; }

// The index of the largest |alpha_k| (times scales_k where given), the first of several, among
// `pitch` numbers, a multiple of the vectors.
template <class T> int strongest(const T* alpha, const T* scales, int pitch) {
  constexpr int L = LANES<T>;
  const auto strength = [&](int k) {
    return absolute(scales ? load(alpha + k) * load(scales + k) : load(alpha + k));
  };
  Vec<T> top = strength(0);
  for (int k = L; k < pitch; k += L) top = larger<T>(strength(k), top);
  const Vec<T> all = largest_lane<T>(top) - Vec<T>{};
  for (int k = 0; k < pitch; k += L) {
    const unsigned found = at_least(strength(k), all);
    if (found) return k + __builtin_ctz(found);
  }
  return 0;  // NaN everywhere
}

// The pursuit of one signal.
template <class T> struct Pursuit {
  int s;
  int count;
  std::int32_t* chosen;  // s
  double* factor;        // s x s, L row by row, with one over its diagonal
  double* c;             // s
  double left;           // squared residual

  bool has(int k) const {
    for (int i = 0; i < count; ++i)
      if (chosen[i] == k) return true;
    return false;
  }

  // Adds atom k, whose inner products with the chosen ones stand in the next row of the factor
  // already, solved for if `solved`; false where it depends on them.
  bool add(int k, double square, double correlation, bool solved) {
    double* row = factor + static_cast<Index>(count) * s;
    double rest = square;
    for (int i = 0; i < count; ++i) {
      if (!solved) {
        const double* above = factor + static_cast<Index>(i) * s;
        for (int j = 0; j < i; ++j) row[i] -= above[j] * row[j];
        row[i] *= above[i];
        correlation -= row[i] * c[i];
      }
      rest -= row[i] * row[i];
    }
    if (rest <= DEPENDENT<T> * square) return false;
    row[count] = 1 / __builtin_sqrt(rest);
    c[count] = correlation * row[count];
    left -= c[count] * c[count];
    chosen[count++] = k;
    return true;
  }

  // x = L^-T c
  void solve(double* x) const {
    for (int i = count - 1; i >= 0; --i) {
      double sum = c[i];
      for (int j = i + 1; j < count; ++j) sum -= factor[static_cast<Index>(j) * s + i] * x[j];
      x[i] = sum * factor[static_cast<Index>(i) * s + i];
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
  char yes = 'T', no = 'N';
  int k = atoms.count, n = atoms.n, pitch = atoms.pitch, ld = static_cast<int>(stride);
  T one = 1, zero = 0;
  gemm(&yes, &no, &k, &count, &n, &one, const_cast<T*>(matrix), &n, const_cast<T*>(rows), &ld,
       &zero, out, &pitch);
}

// alpha = alpha_0 - G[:, I] x
template <class T>
void subtract_products(const Atoms<T>& atoms, const T* alpha0, const Pursuit<T>& pursuit,
                       const double* x, T* alpha) {
  constexpr int L = LANES<T>;
  const T* rows[4];
  T factors[4];
  const T* from = alpha0;
  // Four rows at a time, so that alpha is loaded and stored once for all of them.
  for (int first = 0; first < pursuit.count; first += 4) {
    const int some = pursuit.count - first < 4 ? pursuit.count - first : 4;
    for (int i = 0; i < some; ++i) {
      rows[i] = atoms.gram + static_cast<Index>(pursuit.chosen[first + i]) * atoms.pitch;
      factors[i] = static_cast<T>(x[first + i]);
    }
    for (int k = 0; k < atoms.pitch; k += L) {
      Vec<T> sum = load(from + k);
      for (int i = 0; i < some; ++i) sum -= factors[i] * load(rows[i] + k);
      store(alpha + k, sum);
    }
    from = alpha;
  }
}

// One step for one signal: takes an atom and computes what is left of the correlations, unless
// this was the last step. False where nothing is left to take.
template <class T>
FOST_INLINE bool step_whole(const Atoms<T>& atoms, Pursuit<T>& pursuit, double energy, double tol,
                            const T* alpha0, T* alpha, double* x) {
  const T* from = pursuit.count ? alpha : alpha0;
  int k = strongest(from, atoms.scales, atoms.pitch);
  if (pursuit.has(k)) {  // all are close to zero; the chosen ones are to be exactly that
    for (int i = 0; i < pursuit.count; ++i) alpha[pursuit.chosen[i]] = 0;
    k = strongest(from, atoms.scales, atoms.pitch);
  }
  if (k >= atoms.count) return false;
  const T* gram = atoms.gram + static_cast<Index>(k) * atoms.pitch;
  const double strength = from[k], square = gram[k];
  if (strength * strength <= ROUNDING<T> * ROUNDING<T> * energy * square) return false;
  double* row = pursuit.factor + static_cast<Index>(pursuit.count) * pursuit.s;
  for (int i = 0; i < pursuit.count; ++i) row[i] = gram[pursuit.chosen[i]];
  if (!pursuit.add(k, square, alpha0[k], false)) return false;
  if (!pursuit.done(tol)) {
    pursuit.solve(x);
    subtract_products(atoms, alpha0, pursuit, x, alpha);
  }
  return true;
}

// The codes of the rows first:last of y. False where an entry is not finite or a row not within
// reach.
template <class T>
bool pursue(const Atoms<T>& atoms, const View<const T>& y, Index first, Index last,
            const Codes<T>& codes, const PursuitMemory<T>& memory) {
  const int n = atoms.n, s = codes.s;
  const bool direct = y.column_stride == 1 && y.row_stride >= n && y.row_stride < (1 << 30);
  for (Index begin = first; begin < last; begin += memory.tile) {
    const int width = static_cast<int>(last - begin < memory.tile ? last - begin : memory.tile);
    const T* rows = y.data + begin * y.row_stride;
    if (!direct) {
      for (Index r = 0; r < width; ++r)
        for (Index i = 0; i < n; ++i)
          memory.rows[r * n + i] = rows[r * y.row_stride + i * y.column_stride];
      rows = memory.rows;
    }
    const Index stride = direct ? y.row_stride : n;
    correlate(atoms, atoms.rows, rows, stride, width, memory.correlations, memory.gemm);
    // A step is a chain of results that wait for each other, so several signals take each
    // step one after the other, and the processor works on them side by side.
    for (int r = 0; r < width; r += PURSUITS) {
      Pursuit<T> pursuits[PURSUITS];
      double energies[PURSUITS];
      bool going[PURSUITS];
      const int some = width - r < PURSUITS ? width - r : PURSUITS;
      for (int p = 0; p < some; ++p) {
        energies[p] = squared_norm(rows + (r + p) * stride, n);
        if (!within_reach(energies[p], rows + (r + p) * stride, n)) return false;
        going[p] = true;
        pursuits[p] = {s, 0, codes.indices + (begin + r + p) * s,
                       memory.factor + static_cast<Index>(p) * s * s, memory.c + p * s, energies[p]};
      }
      for (bool any = true; any;) {
        any = false;
        for (int p = 0; p < some; ++p) {
          if (!going[p] || pursuits[p].done(memory.tol)) continue;
          going[p] = step_whole(atoms, pursuits[p], energies[p], memory.tol,
                                memory.correlations + static_cast<Index>(r + p) * atoms.pitch,
                                memory.alpha + static_cast<Index>(p) * atoms.pitch,
                                memory.x + p * s);
          any |= going[p];
        }
      }
      for (int p = 0; p < some; ++p) {
        pursuits[p].solve(memory.x + p * s);
        write_code(pursuits[p].count, memory.x + p * s, codes, begin + r + p);
      }
    }
  }
  return true;
}

template <class T> double dot_in_double(const T* a, const T* b, int n) {
  constexpr int L = LANES<double>;
  Vec<double> sums = {};
  int i = 0;
  for (; i + L <= n; i += L) sums += load_double(a + i) * load_double(b + i);
  double sum = sum_of_lanes(sums);
  for (; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

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
                   const T* scales, const T* observed, T* residual, T* directions) {
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
  double* row = pursuit.factor + static_cast<Index>(pursuit.count) * pursuit.s;
  for (int i = 0; i < pursuit.count; ++i) {
    const T* other = directions + static_cast<Index>(i) * n;
    row[i] = dot_in_double(direction, other, n);
    add_multiple(static_cast<T>(-row[i]), other, direction, n);
  }
  if (!pursuit.add(k, square, dot_in_double(direction, residual, n), true)) return false;
  const T scale = static_cast<T>(row[pursuit.count - 1]);
  for (int i = 0; i < n; ++i) direction[i] *= scale;
  add_multiple(static_cast<T>(-pursuit.c[pursuit.count - 1]), direction, residual, n);
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
                               memory.directions + r * s * n);
        codes.counts[begin + r] = pursuit.count;
        memory.left[r] = pursuit.left;
      }
      if (!going) break;
    }
    for (Index r = 0; r < width; ++r) {
      const Pursuit<T> pursuit = {s, codes.counts[begin + r], codes.indices + (begin + r) * s,
                                  memory.factor + r * s * s, memory.c + r * s, 0};
      pursuit.solve(memory.x);
      write_code(pursuit.count, memory.x, codes, begin + r);
    }
  }
  return true;
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
