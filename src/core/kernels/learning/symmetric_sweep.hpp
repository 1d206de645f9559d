// Approximate eigenvectors of a symmetric matrix S as a chain of rotations U = J_1 J_2 ... J_g,
// J = [[c, s], [-s, c]] on features (i, j). The squared error is
//
//     ||S - U diag(w) U^T||_F^2 = ||S||_F^2 + ||w||^2 - 2 tr(A D),
//
// where, before rotation k,
//
//     A = (J_1 ... J_(k-1))^T S (J_1 ... J_(k-1)),   D = (J_k ... J_g) diag(w) (J_k ... J_g)^T.
//
// 1. At the end of the chain D = diag(w). With w = diag(A), a further rotation reduces the squared
//    error most if it makes an entry of A zero (Jacobi), by 2 A_ij^2.
// 2. With w fixed, the trace is 2 f(t) plus a constant in the angle t of one rotation,
//        f(t) = p cos t + q sin t + r cos 2t + v sin 2t.
//    A sweep maximises f for one rotation after another.
// 3. A new rotation before rotation k has the slope f'(0) = K_ij with the commutator
//    K = A D - D A. K needs no matrix product: at the end of the chain it is A_ij (w_j - w_i), and
//    moving past rotation k is the conjugation of A, D and K by J_k.
//
// Each step changes two rows and two columns, O(n). Rows are `pitch` entries apart. NumPy twins in
// tests/reference_learning.py: greedy_jacobi, sweep_angles, propose_rotations.
#pragma once

#include "kernels/learning/linear_algebra.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// M <- J^T M J for a symmetric (SIGN = 1) or antisymmetric (SIGN = -1) matrix.
template <int SIGN> inline void conjugate(const PaddedMatrix& m, int i, int j, double c, double s) {
  constexpr int L = LANES<double>;
  double* x = m.row(i);
  double* y = m.row(j);
  const double ii = x[i], ij = x[j], jj = y[j];
  int k = 0;
  for (; k + L <= m.n; k += L) {
    const Vec<double> a = load(x + k), b = load(y + k);
    store(x + k, c * a - s * b);
    store(y + k, s * a + c * b);
  }
  for (; k < m.n; ++k) {
    const double a = x[k], b = y[k];
    x[k] = c * a - s * b;
    y[k] = s * a + c * b;
  }
  if (SIGN > 0) {
    const double cross = 2 * c * s * ij;
    x[i] = c * c * ii - cross + s * s * jj;
    y[j] = s * s * ii + cross + c * c * jj;
    x[j] = y[i] = c * s * (ii - jj) + (c * c - s * s) * ij;
  } else {
    x[i] = y[j] = 0;
    x[j] = ij;
    y[i] = -ij;
  }
  double* row = m.data;
  for (int l = 0; l < m.n; ++l, row += m.pitch) {
    row[i] = SIGN * x[l];
    row[j] = SIGN * y[l];
  }
}

// Scores of the pairs (p, q) for all q at the end of the chain: A_pq^2, or with fixed weights the
// gain of the trace, |u| sqrt(h^2 + A_pq^2) - u h for u = w_p - w_q and h = (A_pp - A_qq) / 2.
inline void score_end(const PaddedMatrix& a, const double* w, const double* diagonal, int p,
                      double* scores) {
  const double* row = a.row(p);
  if (!w) {
    for (int q = 0; q < a.n; ++q) scores[q] = row[q] * row[q];
  } else {
    const double wp = w[p], ap = diagonal[p];
    for (int q = 0; q < a.n; ++q) {
      const double u = wp - w[q], h = (ap - diagonal[q]) / 2;
      scores[q] = __builtin_fabs(u) * __builtin_sqrt(h * h + row[q] * row[q]) - u * h;
    }
  }
  scores[p] = -1;
}

// Appends up to g rotations to the end of the chain, each with the largest score, and applies them
// to A. Stops at a score of at most `least` or when the scores sum to `enough`. Returns the number
// of rotations.
inline int greedy_rotations(const PaddedMatrix& a, const double* w, const GreedyMemory& memory,
                            const RotationChain& chain, double least, double enough) {
  const int n = a.n;
  double *scores = memory.scores, *others = memory.other_scores, *diagonal = memory.diagonal;
  double* best = memory.best;
  std::int32_t* partner = memory.partner;
  const auto find_partner = [&](int p, double* line) {
    score_end(a, w, diagonal, p, line);
    partner[p] = first_largest(line, n);
    best[p] = line[partner[p]];
  };
  for (int p = 0; p < n; ++p) diagonal[p] = a.row(p)[p];
  for (int p = 0; p < n; ++p) find_partner(p, scores);
  double sum = 0;
  for (int k = 0; k < chain.g; ++k) {
    const int i = first_largest(best, n), j = partner[i];
    if (best[i] <= least || sum >= enough) return k;
    sum += chain.gains[k] = best[i];
    // (cos 2t, sin 2t) is parallel to (h, -A_ij).
    const double h = (diagonal[i] - diagonal[j]) / 2, b = a.row(i)[j];
    const double sign = (w ? w[i] - w[j] : h) < 0 ? -1 : 1,
                 r = sign * __builtin_sqrt(h * h + b * b);
    const double cosine = h / r, sine = -b / r;
    double c = __builtin_sqrt((1 + __builtin_fabs(cosine)) / 2), s = sine / (2 * c);
    if (cosine < 0) {
      const double larger = c;
      c = __builtin_fabs(s);
      s = sine < 0 ? -larger : larger;
    }
    chain.pairs[2 * k] = i;
    chain.pairs[2 * k + 1] = j;
    chain.angles[2 * k] = c;
    chain.angles[2 * k + 1] = s;
    conjugate<1>(a, i, j, c, s);
    diagonal[i] = a.row(i)[i];
    diagonal[j] = a.row(j)[j];
    find_partner(i, scores);
    find_partner(j, others);
    for (int p = 0; p < n; ++p) {
      if (p == i || p == j) continue;
      if (partner[p] == i || partner[p] == j) {
        find_partner(p, memory.third_scores);
        continue;
      }
      if (scores[p] > best[p]) {
        best[p] = scores[p];
        partner[p] = i;
      }
      if (others[p] > best[p]) {
        best[p] = others[p];
        partner[p] = j;
      }
    }
  }
  return chain.g;
}

// f(t) - f(0) = p (cos t - 1) + q sin t + r (cos 2t - 1) + v sin 2t for the unit vector (c, s).
struct AngleGain {
  double p, q, r, v;
  double operator()(double c, double s) const {
    return p * (c - 1) + q * s + 2 * s * (v * c - r * s);
  }
};

// The gain of a rotation on (i, j) between A and D.
inline AngleGain angle_gain(const PaddedMatrix& a, const PaddedMatrix& d, int i, int j) {
  constexpr int L = LANES<double>;
  const double *ai = a.row(i), *aj = a.row(j), *di = d.row(i), *dj = d.row(j);
  Vec<double> same = {}, crossed = {};
  double p = 0, q = 0;
  int k = 0;
  for (; k + L <= a.n; k += L) {
    const Vec<double> x = load(ai + k), y = load(aj + k), u = load(di + k), v = load(dj + k);
    same += x * u + y * v;
    crossed += x * v - y * u;
  }
  for (; k < a.n; ++k) {
    p += ai[k] * di[k] + aj[k] * dj[k];
    q += ai[k] * dj[k] - aj[k] * di[k];
  }
  p += sum_of_lanes(same) - (ai[i] * di[i] + 2 * ai[j] * di[j] + aj[j] * dj[j]);
  q += sum_of_lanes(crossed) - ((ai[i] - aj[j]) * di[j] - ai[j] * (di[i] - dj[j]));
  const double h = (ai[i] - aj[j]) / 2, u = (di[i] - dj[j]) / 2;
  return {p, q, h * u + ai[j] * di[j], h * di[j] - ai[j] * u};
}

// Newton steps from (c, s) to a maximum of f, halved until they increase f; returns its value.
inline double climb(const AngleGain& f, double& c, double& s) {
  const double bound =
      __builtin_fabs(f.p) + __builtin_fabs(f.q) + 4 * (__builtin_fabs(f.r) + __builtin_fabs(f.v));
  double gain = f(c, s);
  for (int step = 0; step < 20; ++step) {
    const double c2 = c * c - s * s, s2 = 2 * c * s;
    const double slope = f.q * c - f.p * s + 2 * (f.v * c2 - f.r * s2);
    const double curvature = f.p * c + f.q * s + 4 * (f.r * c2 + f.v * s2);
    if (__builtin_fabs(slope) <= 1e-15 * bound) break;
    double t = slope / (curvature > 0.1 * bound ? curvature : 0.1 * bound);
    bool better = false;
    for (int half = 0; half < 8 && !better; ++half, t /= 2) {
      const double length = __builtin_sqrt(1 + t * t);
      const double x = (c - t * s) / length, y = (s + t * c) / length, other = f(x, y);
      if (other > gain) {
        better = true;
        gain = other;
        c = x;
        s = y;
      }
    }
    if (!better) break;
  }
  return gain;
}

// Maximises f: climbs from the current (c, s) and from the largest of eight angles around the
// circle. f has at most two maxima. Returns the gain over no rotation.
inline double best_angle(const AngleGain& f, double& c, double& s) {
  constexpr double R = 0.70710678118654752440;
  constexpr double CIRCLE[8][2] = {{1, 0},  {R, R},   {0, 1},  {-R, R},
                                   {-1, 0}, {-R, -R}, {0, -1}, {R, -R}};
  double values[8];
  for (int k = 0; k < 8; ++k) values[k] = f(CIRCLE[k][0], CIRCLE[k][1]);
  double gain = climb(f, c, s);
  for (int k = 0; k < 8; ++k) {
    if (values[k] < values[(k + 1) % 8] || values[k] <= values[(k + 7) % 8]) continue;
    double x = CIRCLE[k][0], y = CIRCLE[k][1];
    const double other = climb(f, x, y);
    if (other > gain) {
      gain = other;
      c = x;
      s = y;
    }
  }
  const double length = __builtin_sqrt(c * c + s * s);
  c /= length;
  s /= length;
  return gain;
}

// Optimises the angles of a chain one after another, from the first to the last or back. A and D
// belong to the begin of the chain before a forward sweep and to its end afterwards, and vice
// versa. gains[k] is the gain of rotation k over none, a quarter of the squared error.
inline void sweep_angles(const PaddedMatrix& a, const PaddedMatrix& d, const RotationChain& chain,
                         bool backward) {
  for (int step = 0; step < chain.g; ++step) {
    const int k = backward ? chain.g - 1 - step : step;
    const int i = chain.pairs[2 * k], j = chain.pairs[2 * k + 1];
    double &c = chain.angles[2 * k], &s = chain.angles[2 * k + 1];
    if (backward)
      conjugate<1>(a, i, j, c, -s);
    else
      conjugate<1>(d, i, j, c, s);
    chain.gains[k] = best_angle(angle_gain(a, d, i, j), c, s);
    if (backward)
      conjugate<1>(d, i, j, c, -s);
    else
      conjugate<1>(a, i, j, c, s);
  }
}

// The best partner q of feature p for a new rotation between A and D, by the score
// sqrt(b^2 + K_pq^2) - b with b = -f''(0), which bounds the gain for small r and v.
inline int best_insertion(const PaddedMatrix& a, const PaddedMatrix& d, const PaddedMatrix& k,
                          const InsertionMemory& memory, int p, double* score) {
  const double *ap = a.row(p), *dp = d.row(p), *kp = k.row(p);
  const double app = ap[p], dpp = dp[p], ep = memory.products[p];
  for (int q = 0; q < a.n; ++q) {
    const double aq = memory.a_diagonal[q], dq = memory.d_diagonal[q];
    const double inside = app * dpp + 2 * ap[q] * dp[q] + aq * dq;
    const double r = (app - aq) * (dpp - dq) / 4 + ap[q] * dp[q];
    const double bend = ep + memory.products[q] - inside + 4 * r;
    memory.scores[q] = __builtin_sqrt(bend * bend + kp[q] * kp[q]) - bend;
  }
  memory.scores[p] = -1;
  const int q = first_largest(memory.scores, a.n);
  *score = memory.scores[q];
  return q;
}

// For every place of a chain, from its end to its begin, the best new rotations that involve one of
// the two features of the rotation behind that place: partners[2 k], partners[2 k + 1] and their
// scores. A and D belong to the end before the call and to the begin afterwards; K is overwritten.
inline void propose_rotations(const PaddedMatrix& a, const PaddedMatrix& d, const PaddedMatrix& k,
                              const InsertionMemory& memory, const RotationChain& chain,
                              std::int32_t* partners, double* scores) {
  for (int p = 0; p < a.n; ++p) {
    memory.a_diagonal[p] = a.row(p)[p];
    memory.d_diagonal[p] = d.row(p)[p];
    memory.products[p] = dot(a.row(p), d.row(p), a.n);
  }
  for (int p = 0; p < a.n; ++p)
    for (int q = 0; q < a.n; ++q)
      k.row(p)[q] = a.row(p)[q] * (memory.d_diagonal[q] - memory.d_diagonal[p]);
  for (int step = chain.g - 1; step >= 0; --step) {
    const std::int32_t* pair = chain.pairs + 2 * step;
    const double c = chain.angles[2 * step], s = chain.angles[2 * step + 1];
    conjugate<1>(a, pair[0], pair[1], c, -s);
    conjugate<1>(d, pair[0], pair[1], c, -s);
    conjugate<-1>(k, pair[0], pair[1], c, -s);
    for (int e = 0; e < 2; ++e) {
      const int p = pair[e];
      memory.a_diagonal[p] = a.row(p)[p];
      memory.d_diagonal[p] = d.row(p)[p];
      memory.products[p] = dot(a.row(p), d.row(p), a.n);
    }
    for (int e = 0; e < 2; ++e)
      partners[2 * step + e] = best_insertion(a, d, k, memory, pair[e], scores + 2 * step + e);
  }
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
