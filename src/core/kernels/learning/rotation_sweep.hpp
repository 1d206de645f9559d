// One sweep over a chain of rotations: each rotation in turn, including its pair of features, is
// replaced by the best one for the current codes, with the others fixed. With M = X Y^T and
//
//     R_k = (G_(k-1) ... G_1) M (G_g ... G_(k+1)),
//
// a block B on features (i, j) adds tr(R_ij B) - tr(R_ij) to the trace that is maximised, where
// R_ij = [[a, b], [c, d]] is the 2 x 2 block of R_k. The optimal B (a two-dimensional Procrustes
// problem) makes the first term the nuclear norm of R_ij,
//
//     max(sqrt((a + d)^2 + (b - c)^2), sqrt((a - d)^2 + (b + c)^2)),
//
// by a rotation or by a reflection. R_(k+1) = G_k R_k G_(k+1)^T changes two rows and two columns,
// hence only the scores of pairs with these features: O(n) per rotation, plus a search of the rows
// whose best partner changed. NumPy twin: tests/reference_learning.py, sweep_rotations.
#pragma once

#include "kernels/learning/linear_algebra.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// The matrix R and its transpose, so that rows and columns are both contiguous, the score of every
// pair, and the best partner of every feature.
struct Scores {
  int n;
  double* r;              // n x n
  double* rt;             // n x n
  double* diagonal;       // n
  double* scores;         // n x n, symmetric
  double* best;           // n
  std::int32_t* partner;  // n

  double at(int i, int j) const { return r[i * static_cast<Index>(n) + j]; }
};

// Computes scores[p, :].
inline void score_row(const Scores& s, int p) {
  const double* row = s.r + p * static_cast<Index>(s.n);
  const double* column = s.rt + p * static_cast<Index>(s.n);
  double* out = s.scores + p * static_cast<Index>(s.n);
  const double a = s.diagonal[p];
  for (int q = 0; q < s.n; ++q) {
    const double sum = a + s.diagonal[q], difference = a - s.diagonal[q];
    const double minus = row[q] - column[q], plus = row[q] + column[q];
    const double rotation_norm = sum * sum + minus * minus,
                 reflection_norm = difference * difference + plus * plus;
    out[q] =
        __builtin_sqrt(rotation_norm > reflection_norm ? rotation_norm : reflection_norm) - sum;
  }
  out[p] = -1;
}

inline void find_partner(const Scores& s, int p) {
  const double* row = s.scores + p * static_cast<Index>(s.n);
  s.partner[p] = first_largest(row, s.n);
  s.best[p] = row[s.partner[p]];
}

// Updates the scores after rows and columns of the given features have changed.
inline void rescore(const Scores& s, const int* changed, int count) {
  for (int k = 0; k < count; ++k) s.diagonal[changed[k]] = s.at(changed[k], changed[k]);
  for (int k = 0; k < count; ++k) {
    const int x = changed[k];
    score_row(s, x);
    for (int p = 0; p < s.n; ++p)
      s.scores[p * static_cast<Index>(s.n) + x] = s.scores[x * static_cast<Index>(s.n) + p];
  }
  for (int p = 0; p < s.n; ++p) {
    bool stale = false;
    for (int k = 0; k < count; ++k) stale |= p == changed[k] || s.partner[p] == changed[k];
    if (stale) {
      find_partner(s, p);
      continue;
    }
    for (int k = 0; k < count; ++k) {
      const double score = s.scores[p * static_cast<Index>(s.n) + changed[k]];
      if (score > s.best[p] || (score == s.best[p] && changed[k] < s.partner[p])) {
        s.best[p] = score;
        s.partner[p] = changed[k];
      }
    }
  }
}

// Replaces two rows by linear combinations: (x, y) <- B (x, y).
inline void combine(double* x, double* y, int n, double ii, double ij, double ji, double jj) {
  constexpr int L = LANES<double>;
  int k = 0;
  for (; k + L <= n; k += L) {
    const Vec<double> a = load(x + k), b = load(y + k);
    store(x + k, ii * a + ij * b);
    store(y + k, ji * a + jj * b);
  }
  for (; k < n; ++k) {
    const double a = x[k], b = y[k];
    x[k] = ii * a + ij * b;
    y[k] = ji * a + jj * b;
  }
}

// Combines rows i and j of one matrix, which are columns i and j of its transpose.
inline void combine_rows(double* rows, double* columns, int n, const std::int32_t* pair, double ii,
                         double ij, double ji, double jj) {
  double* x = rows + pair[0] * static_cast<Index>(n);
  double* y = rows + pair[1] * static_cast<Index>(n);
  combine(x, y, n, ii, ij, ji, jj);
  for (int k = 0; k < n; ++k) {
    columns[k * static_cast<Index>(n) + pair[0]] = x[k];
    columns[k * static_cast<Index>(n) + pair[1]] = y[k];
  }
}

inline bool is_identity(const double* block) {
  return block[0] == 1 && block[1] == 0 && block[2] == 0 && block[3] == 1;
}

// R <- G R, R <- R G, R <- R G^T
inline void rotate_left(const Scores& s, const std::int32_t* pair, const double* block) {
  combine_rows(s.r, s.rt, s.n, pair, block[0], block[1], block[2], block[3]);
}
inline void rotate_right(const Scores& s, const std::int32_t* pair, const double* block) {
  if (is_identity(block)) return;
  combine_rows(s.rt, s.r, s.n, pair, block[0], block[2], block[1], block[3]);
}
inline void rotate_right_transposed(const Scores& s, const std::int32_t* pair,
                                    const double* block) {
  if (is_identity(block)) return;
  combine_rows(s.rt, s.r, s.n, pair, block[0], block[1], block[2], block[3]);
}

// The orthogonal 2 x 2 block B that maximises tr([[a, b], [c, d]] B).
inline void best_block(double a, double b, double c, double d, double* block) {
  const double rotation_norm = __builtin_sqrt((a + d) * (a + d) + (c - b) * (c - b));
  const double reflection_norm = __builtin_sqrt((a - d) * (a - d) + (b + c) * (b + c));
  const bool rotation = rotation_norm >= reflection_norm;
  const double length = rotation ? rotation_norm : reflection_norm;
  if (length == 0) {
    block[0] = block[3] = 1;
    block[1] = block[2] = 0;
    return;
  }
  const double cosine = (rotation ? a + d : a - d) / length;
  const double sine = (rotation ? c - b : b + c) / length;
  block[0] = cosine;
  block[1] = sine;
  block[2] = rotation ? -sine : sine;
  block[3] = rotation ? cosine : -cosine;
}

// Updates the chain G_1 ... G_g in place. gains[k] is the gain of rotation k over the identity. The
// sweep ends at a gain of at most `least`; later rotations stay unchanged. Returns the number of
// updated rotations.
inline int sweep_rotations(const double* statistic, const RotationMemory& memory, int n,
                           std::int32_t* pairs, double* blocks, double* gains, int g,
                           double least) {
  const Scores s = {n,           memory.r,      memory.rt, memory.diagonal, memory.scores,
                    memory.best, memory.partner};
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      s.r[i * static_cast<Index>(n) + j] = statistic[i * static_cast<Index>(n) + j];
      s.rt[j * static_cast<Index>(n) + i] = statistic[i * static_cast<Index>(n) + j];
    }
  for (int k = g - 1; k > 0; --k)
    rotate_right(s, pairs + 2 * k, blocks + 4 * static_cast<Index>(k));
  for (int p = 0; p < n; ++p) s.diagonal[p] = s.at(p, p);
  for (int p = 0; p < n; ++p) score_row(s, p);
  for (int p = 0; p < n; ++p) find_partner(s, p);
  for (int k = 0; k < g; ++k) {
    std::int32_t* pair = pairs + 2 * k;
    double* block = blocks + 4 * static_cast<Index>(k);
    const int i = first_largest(s.best, n);
    gains[k] = s.best[i];
    if (gains[k] <= least) return k;
    const int j = s.partner[i];
    pair[0] = i;
    pair[1] = j;
    best_block(s.at(i, i), s.at(i, j), s.at(j, i), s.at(j, j), block);
    rotate_left(s, pair, block);
    if (k + 1 == g) return g;
    rotate_right_transposed(s, pair + 2, block + 4);
    int changed[4], count = 0;
    for (int e = 0; e < 4; ++e) {  // of this pair and the next
      bool known = false;
      for (int c = 0; c < count; ++c) known |= changed[c] == pair[e];
      if (!known) changed[count++] = pair[e];
    }
    rescore(s, changed, count);
  }
  return g;
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
