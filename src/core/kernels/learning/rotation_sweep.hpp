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
// whose best partner changed. A pair (p, q) with p < q is scored in row p only.
// NumPy twin: tests/reference_learning.py, sweep_rotations.
#pragma once

#include "kernels/learning/linear_algebra.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// The matrix R and its transpose, so that rows and columns are both contiguous, the score of every
// pair, and the best partner of every feature among the later ones. Rows are `pitch` apart.
struct Scores {
  int n;
  Index pitch;
  double* r;              // n x n
  double* rt;             // n x n
  double* diagonal;       // n
  double* scores;         // n x n, above the diagonal
  double* best;           // n, below all scores for the last feature
  std::int32_t* partner;  // n

  double at(int i, int j) const { return r[i * pitch + j]; }
};

// Computes scores[p, q] for all q in [first, last).
inline void score_pairs(const Scores& s, int p, int first, int last, double* out) {
  const double* row = s.r + p * s.pitch;
  const double* column = s.rt + p * s.pitch;
  const double a = s.diagonal[p];
  for (int q = first; q < last; ++q) {
    const double sum = a + s.diagonal[q], difference = a - s.diagonal[q];
    const double minus = row[q] - column[q], plus = row[q] + column[q];
    const double rotation_norm = sum * sum + minus * minus,
                 reflection_norm = difference * difference + plus * plus;
    out[q] =
        __builtin_sqrt(rotation_norm > reflection_norm ? rotation_norm : reflection_norm) - sum;
  }
}

inline void find_partner(const Scores& s, int p) {
  if (p + 1 == s.n) {
    s.partner[p] = p;
    s.best[p] = -2;
    return;
  }
  const double* row = s.scores + p * s.pitch;
  s.partner[p] = p + 1 + first_largest(row + p + 1, s.n - p - 1);
  s.best[p] = row[s.partner[p]];
}

// Updates the scores after rows and columns of the given features have changed.
inline void rescore(const Scores& s, const int* changed, int count) {
  for (int k = 0; k < count; ++k) s.diagonal[changed[k]] = s.at(changed[k], changed[k]);
  int last = 0;
  for (int k = 0; k < count; ++k) {
    const int x = changed[k];
    double* row = s.scores + x * s.pitch;
    score_pairs(s, x, 0, s.n, row);  // the first x entries are scratch
    for (int p = 0; p < x; ++p) s.scores[p * s.pitch + x] = row[p];
    last = x > last ? x : last;
  }
  for (int p = 0; p <= last; ++p) {
    bool stale = false;
    for (int k = 0; k < count; ++k) stale |= p == changed[k] || s.partner[p] == changed[k];
    if (stale) {
      find_partner(s, p);
      continue;
    }
    for (int k = 0; k < count; ++k) {
      if (changed[k] < p) continue;
      const double score = s.scores[p * s.pitch + changed[k]];
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

inline bool is_identity(const double* block) {
  return block[0] == 1 && block[1] == 0 && block[2] == 0 && block[3] == 1;
}

// R <- G R by rows i and j of R, which are columns i and j of its transpose; with R and its
// transpose exchanged, R <- R G^T.
inline void rotate(double* rows, double* columns, const Scores& s, const std::int32_t* pair,
                   const double* block) {
  if (is_identity(block)) return;
  double* x = rows + pair[0] * s.pitch;
  double* y = rows + pair[1] * s.pitch;
  combine(x, y, s.n, block[0], block[1], block[2], block[3]);
  for (int k = 0; k < s.n; ++k) {
    columns[k * s.pitch + pair[0]] = x[k];
    columns[k * s.pitch + pair[1]] = y[k];
  }
}

// R_1 = M G_g ... G_2, and its transpose.
inline void begin_sweep(const Scores& s, const double* statistic, const std::int32_t* pairs,
                        const double* blocks, int g) {
  transpose_matrix(statistic, s.n, s.rt, s.pitch, s.n);
  for (int k = g - 1; k > 0; --k) {
    const double* block = blocks + 4 * static_cast<Index>(k);
    if (is_identity(block)) continue;
    const Index i = pairs[2 * k], j = pairs[2 * k + 1];
    combine(s.rt + i * s.pitch, s.rt + j * s.pitch, s.n, block[0], block[2], block[1], block[3]);
  }
  transpose_matrix(s.rt, s.pitch, s.r, s.pitch, s.n);
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
  const Scores s = {n,           memory.pitch,  memory.r, memory.rt, memory.diagonal, memory.scores,
                    memory.best, memory.partner};
  begin_sweep(s, statistic, pairs, blocks, g);
  for (int p = 0; p < n; ++p) s.diagonal[p] = s.at(p, p);
  for (int p = 0; p < n; ++p) score_pairs(s, p, p + 1, n, s.scores + p * s.pitch);
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
    rotate(s.r, s.rt, s, pair, block);
    if (k + 1 == g) return g;
    rotate(s.rt, s.r, s, pair + 2, block + 4);
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
