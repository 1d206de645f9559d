// Several Gaussians of a mixture at once: inverse covariances, and squared Mahalanobis distances.
// NumPy twins: tests/reference.py, invert_covariance and find_energies.
#pragma once

#include "kernels/gaussian/batched_cholesky.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// The inverses of up to LANES covariances (n x n), one per lane, and the logarithms of their
// determinants; NaN if a pivot of the correlation matrix is no larger than rounding.
inline void invert_lanes(const double* const* covariances, int n, int active,
                         double* const* inverses, double* logarithms, const InverseMemory& at) {
  constexpr int L = LANES<double>;
  Entry *factor = reinterpret_cast<Entry*>(at.factor),
        *solved = reinterpret_cast<Entry*>(at.solved);
  Entry *scales = reinterpret_cast<Entry*>(at.scales), *least = reinterpret_cast<Entry*>(at.least);
  Entry* reciprocals = reinterpret_cast<Entry*>(at.reciprocals);
  const int size = round_up_to_blocks(n);
  const double* from[L];
  for (int l = 0; l < L; ++l) from[l] = covariances[l < active ? l : 0];
  LogProduct units;
  for (int i = 0; i < size; ++i) {
    Entry variance = Entry{} + 1.0;
    for (int l = 0; l < L && i < n; ++l) variance[l] = from[l][i * static_cast<Index>(n) + i];
    scales[i] = 1.0 / square_root(variance);
    least[i] = Entry{} + MIN_PIVOT;
    units.times(variance);
  }
  for (int i = 0; i < size; ++i) {
    Entry *row = factor + i * at.pitch, *unit = solved + i * at.pitch;
    const Index line = i * static_cast<Index>(n);
    for (int j = 0; j < size; ++j) unit[j] = Entry{};
    unit[i] = Entry{} + 1.0;
    for (int j = 0; j <= i; ++j) {
      Entry entry = Entry{} + (i == j ? 1.0 : 0.0);
      if (i < n)
#pragma GCC unroll 8
        for (int l = 0; l < L; ++l) entry[l] = from[l][line + j];
      row[j] = entry * scales[i] * scales[j];
    }
  }
  const LogProduct determinant = factorise(factor, at.pitch, size, least, reciprocals);
  Entry smallest = Entry{} + 1.0;
  for (int i = 0; i < n; ++i) smallest = minimum<double>(smallest, factor[i * at.pitch + i]);
  for (int l = 0; l < active; ++l)
    logarithms[l] = smallest[l] * smallest[l] > 2 * MIN_PIVOT
                        ? determinant.logarithm(l) + units.logarithm(l)
                        : __builtin_nan("");
  solve_rows(factor, at.pitch, size, reciprocals, true, solved, at.pitch, size);
  for (int i = 0; i < size; i += BLOCK)
    for (int j = 0; j <= i; j += BLOCK) {
      EntryBlock block = {};
      block.subtract(solved + i * at.pitch + i, 1, at.pitch, solved + i * at.pitch + j, 1, at.pitch,
                     size - i);
      for (int p = 0; p < BLOCK && i + p < n; ++p)
        for (int q = 0; q < BLOCK && j + q < n; ++q) {
          const Entry entry = -block.at[p][q] * scales[i + p] * scales[j + q];
          const Index below = (i + p) * static_cast<Index>(n) + j + q;
          const Index above = (j + q) * static_cast<Index>(n) + i + p;
          for (int l = 0; l < active && j + q <= i + p; ++l)
            inverses[l][below] = inverses[l][above] = entry[l];
        }
    }
}

// Adds the contribution of R rows of a precision P, from row i on, to d^T P d. Entries below the
// diagonal count twice.
template <int R, int V>
FOST_INLINE void add_quadratic_form(const float* precision, int n, int i, const Vec<float>* d,
                                    Vec<float> (&energies)[V]) {
  const float* rows = precision + i * static_cast<Index>(n);
  Vec<float> sums[R][V] = {};
  for (int j = 0; j < i; ++j)
#pragma GCC unroll 4
    for (int q = 0; q < R; ++q)
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) sums[q][v] += rows[q * static_cast<Index>(n) + j] * d[j * V + v];
#pragma GCC unroll 4
  for (int q = 0; q < R; ++q)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      const float* row = rows + q * static_cast<Index>(n) + i;
#pragma GCC unroll 4
      for (int p = 0; p < q; ++p) sums[q][v] += row[p] * d[(i + p) * V + v];
      const Vec<float> own = d[(i + q) * V + v];
      energies[v] += own * (2.0f * sums[q][v] + row[q] * own);
    }
}

// d^T P d of the signals first:last for each member, with d the difference from its mean.
inline void mahalanobis_distances(const MahalanobisTask& task, Index first, Index last,
                                  float* memory) {
  constexpr int L = LANES<float>, V = 2, WIDE = V * L;
  static_assert(2 * WIDE <= MAHALANOBIS_MEMORY);
  const int n = task.n;
  float* tile = memory;
  Vec<float>* d = reinterpret_cast<Vec<float>*>(memory + static_cast<Index>(n) * WIDE);
  for (Index r = first; r < last; r += WIDE) {
    const int active = static_cast<int>(last - r < WIDE ? last - r : WIDE);
    for (int l = 0; l < WIDE; ++l) {
      const float* row = task.rows + (r + (l < active ? l : 0)) * n;
      for (int j = 0; j < n; ++j) tile[j * WIDE + l] = row[j];
    }
    for (int k = 0; k < task.members; ++k) {
      const float* mean = task.means + k * static_cast<Index>(n);
      const float* precision = task.precisions + k * static_cast<Index>(n) * n;
      for (int j = 0; j < n; ++j)
        for (int v = 0; v < V; ++v) d[j * V + v] = load(tile + j * WIDE + v * L) - mean[j];
      Vec<float> energies[V] = {};
      int i = 0;
      for (; i + 4 <= n; i += 4) add_quadratic_form<4, V>(precision, n, i, d, energies);
      for (; i < n; ++i) add_quadratic_form<1, V>(precision, n, i, d, energies);
      for (int l = 0; l < active; ++l)
        task.energies[(r + l) * task.members + k] = energies[l / L][l % L];
    }
  }
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
