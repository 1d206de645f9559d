// Interleaving of short contiguous signals: LANES signals of N entries fill N whole vectors in
// memory and become one vector per entry (structure of arrays), without additional loads or stores.
//
// Let P be the largest power of two that divides N. Entries move in units of P lanes; a signal has
// M = N / P units and a vector has UNITS = LANES / P. In a group of M consecutive vectors v_0 ...
// v_(M-1), unit u of v_k is unit (k UNITS + u) mod M of some signal. M is odd or UNITS is 1, so
// there is an integer c with c UNITS = 1 mod M. With indices mod M,
//
//     1. w_j: unit u comes from v_(j - c u).  w_j then holds unit j UNITS of all signals.
//     2. w_(c i) rotated by i units holds unit i, in an order of signals that is the same for all
//     i.
//     3. P such groups are transposed in blocks of P x P.
//
// Step 1 shifts vectors by c u mod M in unit u, one bit of the shift at a time: one select per
// vector and bit. The assignment of signals to lanes is arbitrary but the inverse undoes it.
#pragma once

#include "kernels/simd/shuffle.hpp"

namespace fost {
namespace FOST_NAMESPACE {

template <class T, int N> struct Interleaving {
  static constexpr int L = LANES<T>;
  static constexpr int P = (N & -N) < L ? N & -N : L;
  static constexpr int M = N / P, UNITS = L / P;
  static constexpr int inverse() {
    int c = 0;
    while (c * UNITS % M != 1 % M) ++c;
    return c;
  }
};

// Lanes whose shift has the bit STEP set.
template <class W, int STEP> struct Shifted {
  static constexpr bool holds(int lane) {
    return (W::inverse() * (lane / W::P) % W::M & STEP) != 0;
  }
  static constexpr bool any() {
    for (int lane = 0; lane < W::L; ++lane)
      if (holds(lane)) return true;
    return false;
  }
};
#define FOST_CHOSEN(j, choice, lanes) (choice::holds(j) ? (lanes) + (j) : (j))
#define FOST_ROTATED(j, by, lanes) (((j) + (by)) & ((lanes) - 1))

// Lanes of b where the choice holds, lanes of a elsewhere.
template <class Choice, int L, class V> FOST_INLINE V choose(V a, V b) {
  if constexpr (L == 2) return FOST_SHUFFLE(a, b, FOST_INDICES_2(FOST_CHOSEN, Choice, 2, 0));
  if constexpr (L == 4) return FOST_SHUFFLE(a, b, FOST_INDICES_4(FOST_CHOSEN, Choice, 4, 0));
  if constexpr (L == 8) return FOST_SHUFFLE(a, b, FOST_INDICES_8(FOST_CHOSEN, Choice, 8, 0));
  if constexpr (L == 16) return FOST_SHUFFLE(a, b, FOST_INDICES_16(FOST_CHOSEN, Choice, 16, 0));
}

// Cyclic rotation: lane j receives lane j + BY.
template <int L, int BY, class V> FOST_INLINE V rotated_lanes(V v) {
  if constexpr (BY % L == 0) return v;
  if constexpr (L == 2) return FOST_SHUFFLE(v, v, FOST_INDICES_2(FOST_ROTATED, BY, 2, 0));
  if constexpr (L == 4) return FOST_SHUFFLE(v, v, FOST_INDICES_4(FOST_ROTATED, BY, 4, 0));
  if constexpr (L == 8) return FOST_SHUFFLE(v, v, FOST_INDICES_8(FOST_ROTATED, BY, 8, 0));
  if constexpr (L == 16) return FOST_SHUFFLE(v, v, FOST_INDICES_16(FOST_ROTATED, BY, 16, 0));
}

// Step 1: unit u of w_j comes from the vector c u positions before it, or after it for the inverse.
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

// Step 2 for unit I and all later units, and its inverse.
template <class W, int I, class V> FOST_INLINE void rotate_units(const V* w, V* units) {
  if constexpr (I < W::M) {
    units[I * W::P] = rotated_lanes<W::L, I * W::P>(w[W::inverse() * I % W::M]);
    rotate_units<W, I + 1>(w, units);
  }
}
template <class W, int I, class V> FOST_INLINE void rotate_units_back(const V* units, V* w) {
  if constexpr (I < W::M) {
    w[W::inverse() * I % W::M] = rotated_lanes<W::L, W::L - I * W::P % W::L>(units[I * W::P]);
    rotate_units_back<W, I + 1>(units, w);
  }
}

// Step 3: transposes blocks of P x P in P vectors. It is its own inverse.
template <class W, int STEP, class V> FOST_INLINE void transpose_units(V* v) {
  if constexpr (STEP < W::P) {
#pragma GCC unroll 16
    for (int r = 0; r < W::P; ++r)
      if (!(r & STEP)) exchange<W::L, STEP>(v[r], v[r + STEP]);
    transpose_units<W, 2 * STEP>(v);
  }
}

// x[i] = entry i of LANES contiguous signals of N entries, in some order of lanes.
template <class T, int N> FOST_INLINE void load_interleaved(const T* signals, Vec<T>* x) {
  using W = Interleaving<T, N>;
#pragma GCC unroll 16
  for (int group = 0; group < W::P; ++group) {
    Vec<T> w[W::M];
#pragma GCC unroll 16
    for (int k = 0; k < W::M; ++k) w[k] = load(signals + (group * W::M + k) * W::L);
    shift_units<W, false, 1>(w);
    rotate_units<W, 0>(w, x + group);
  }
#pragma GCC unroll 16
  for (int i = 0; i < W::M; ++i) transpose_units<W, 1>(x + i * W::P);
}

// The inverse of load_interleaved.
template <class T, int N> FOST_INLINE void store_interleaved(Vec<T>* x, T* signals) {
  using W = Interleaving<T, N>;
#pragma GCC unroll 16
  for (int i = 0; i < W::M; ++i) transpose_units<W, 1>(x + i * W::P);
#pragma GCC unroll 16
  for (int group = 0; group < W::P; ++group) {
    Vec<T> w[W::M];
    rotate_units_back<W, 0>(x + group, w);
    shift_units<W, true, 1>(w);
#pragma GCC unroll 16
    for (int k = 0; k < W::M; ++k) store(signals + (group * W::M + k) * W::L, w[k]);
  }
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
