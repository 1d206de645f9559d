// Short signals that lie one after another in memory: LANES of N entries are N whole vectors, and
// become a vector for each entry, with no load or store more than these have.
//
// With P the largest power of two in N, entries travel in units of P lanes, of which a signal has
// M = N / P and a vector UNITS = LANES / P. Of M vectors in a row, v_0 to v_(M-1), unit u of v_k is
// unit (k UNITS + u) mod M of some signal. As M is odd, or UNITS is 1, there is c with
// c UNITS = 1 mod M, so that
//
//     w_j = in unit u that of v_(j - c u)    has unit j UNITS of all signals, indices mod M,
//     w_(c i) turned around by i units       has unit i of them in the same order for all i,
//
// and P such groups of vectors are transposed in blocks of P x P. The first are shifts among the
// vectors, by c u mod M in unit u: bit by bit, one choice of lanes per vector and bit. Which lane a
// signal comes to does not matter, as long as it comes back from there.
#pragma once

#include "kernels/simd/shuffle.hpp"

namespace fost {
namespace FOST_NAMESPACE {

template <class T, int N> struct Weave {
  static constexpr int L = LANES<T>;
  static constexpr int P = (N & -N) < L ? N & -N : L;
  static constexpr int M = N / P, UNITS = L / P;
  static constexpr int inverse() {
    int c = 0;
    while (c * UNITS % M != 1 % M) ++c;
    return c;
  }
};

// Lanes that are shifted by STEP, among others.
template <class W, int STEP> struct Shifted {
  static constexpr bool holds(int lane) { return (W::inverse() * (lane / W::P) % W::M & STEP) != 0; }
  static constexpr bool any() {
    for (int lane = 0; lane < W::L; ++lane)
      if (holds(lane)) return true;
    return false;
  }
};
#define FOST_CHOSEN(j, choice, lanes) (choice::holds(j) ? (lanes) + (j) : (j))
#define FOST_TURNED(j, by, lanes) (((j) + (by)) & ((lanes)-1))

// Lanes of b where the choice holds, else those of a.
template <class Choice, int L, class V> FOST_INLINE V choose(V a, V b) {
  if constexpr (L == 2) return FOST_SHUFFLE(a, b, FOST_INDICES_2(FOST_CHOSEN, Choice, 2, 0));
  if constexpr (L == 4) return FOST_SHUFFLE(a, b, FOST_INDICES_4(FOST_CHOSEN, Choice, 4, 0));
  if constexpr (L == 8) return FOST_SHUFFLE(a, b, FOST_INDICES_8(FOST_CHOSEN, Choice, 8, 0));
  if constexpr (L == 16) return FOST_SHUFFLE(a, b, FOST_INDICES_16(FOST_CHOSEN, Choice, 16, 0));
}

// Lane j comes from lane j + BY, counted around.
template <int L, int BY, class V> FOST_INLINE V turned(V v) {
  if constexpr (BY % L == 0) return v;
  if constexpr (L == 2) return FOST_SHUFFLE(v, v, FOST_INDICES_2(FOST_TURNED, BY, 2, 0));
  if constexpr (L == 4) return FOST_SHUFFLE(v, v, FOST_INDICES_4(FOST_TURNED, BY, 4, 0));
  if constexpr (L == 8) return FOST_SHUFFLE(v, v, FOST_INDICES_8(FOST_TURNED, BY, 8, 0));
  if constexpr (L == 16) return FOST_SHUFFLE(v, v, FOST_INDICES_16(FOST_TURNED, BY, 16, 0));
}

// w_j has in unit u what was c u vectors before, or after it on the way back.
template <class W, bool BACK, int STEP, class V> FOST_INLINE void shift_units(V* w) {
  if constexpr (STEP < W::M) {
    using Choice = Shifted<W, STEP>;
    if constexpr (Choice::any()) {
      V before[W::M];
#pragma GCC unroll 16
      for (int j = 0; j < W::M; ++j) before[j] = w[j];
#pragma GCC unroll 16
      for (int j = 0; j < W::M; ++j)
        w[j] = choose<Choice, W::L>(before[j], before[(j + (BACK ? STEP : W::M - STEP)) % W::M]);
    }
    shift_units<W, BACK, 2 * STEP>(w);
  }
}

// Unit I and the next ones, turned around, there and back.
template <class W, int I, class V> FOST_INLINE void turn_units(const V* w, V* units) {
  if constexpr (I < W::M) {
    units[I * W::P] = turned<W::L, I * W::P>(w[W::inverse() * I % W::M]);
    turn_units<W, I + 1>(w, units);
  }
}
template <class W, int I, class V> FOST_INLINE void turn_units_back(const V* units, V* w) {
  if constexpr (I < W::M) {
    w[W::inverse() * I % W::M] = turned<W::L, W::L - I * W::P % W::L>(units[I * W::P]);
    turn_units_back<W, I + 1>(units, w);
  }
}

// Blocks of P x P in P vectors, there and back.
template <class W, int STEP, class V> FOST_INLINE void transpose_units(V* v) {
  if constexpr (STEP < W::P) {
#pragma GCC unroll 16
    for (int r = 0; r < W::P; ++r)
      if (!(r & STEP)) exchange<W::L, STEP>(v[r], v[r + STEP]);
    transpose_units<W, 2 * STEP>(v);
  }
}

// x[i] = entry i of LANES signals of N entries, in some order of lanes.
template <class T, int N> FOST_INLINE void load_woven(const T* signals, Vec<T>* x) {
  using W = Weave<T, N>;
#pragma GCC unroll 16
  for (int group = 0; group < W::P; ++group) {
    Vec<T> w[W::M];
#pragma GCC unroll 16
    for (int k = 0; k < W::M; ++k) w[k] = load(signals + (group * W::M + k) * W::L);
    shift_units<W, false, 1>(w);
    turn_units<W, 0>(w, x + group);
  }
#pragma GCC unroll 16
  for (int i = 0; i < W::M; ++i) transpose_units<W, 1>(x + i * W::P);
}

// The way back.
template <class T, int N> FOST_INLINE void store_woven(Vec<T>* x, T* signals) {
  using W = Weave<T, N>;
#pragma GCC unroll 16
  for (int i = 0; i < W::M; ++i) transpose_units<W, 1>(x + i * W::P);
#pragma GCC unroll 16
  for (int group = 0; group < W::P; ++group) {
    Vec<T> w[W::M];
    turn_units_back<W, 0>(x + group, w);
    shift_units<W, true, 1>(w);
#pragma GCC unroll 16
    for (int k = 0; k < W::M; ++k) store(signals + (group * W::M + k) * W::L, w[k]);
  }
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
