// Operations across lanes: transposition, lane shifts, and the maximum over lanes.
#pragma once

#include "kernels/simd/vector.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// One step of the transposition of a square block: rows r and r + STEP exchange their off-diagonal
// sub-blocks of STEP columns. The shuffles need literal constants, hence one index list per vector
// length. GCC accepts Clang's __builtin_shufflevector from version 12 on.
#if defined(__clang__) || __GNUC__ >= 12
#define FOST_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define FOST_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, decltype(a < b){__VA_ARGS__})
#endif
#define FOST_LOW(j, step, lanes) (((j) & (step)) ? (lanes) + (j) - (step) : (j))
#define FOST_HIGH(j, step, lanes) (((j) & (step)) ? (lanes) + (j) : (j) + (step))
#define FOST_INDICES_2(F, step, lanes, j) F(j, step, lanes), F(j + 1, step, lanes)
#define FOST_INDICES_4(F, step, lanes, j) \
  FOST_INDICES_2(F, step, lanes, j), FOST_INDICES_2(F, step, lanes, j + 2)
#define FOST_INDICES_8(F, step, lanes, j) \
  FOST_INDICES_4(F, step, lanes, j), FOST_INDICES_4(F, step, lanes, j + 4)
#define FOST_INDICES_16(F, step, lanes, j) \
  FOST_INDICES_8(F, step, lanes, j), FOST_INDICES_8(F, step, lanes, j + 8)
#define FOST_EXCHANGE(lanes)                                                            \
  {                                                                                     \
    const V low = FOST_SHUFFLE(a, b, FOST_INDICES_##lanes(FOST_LOW, STEP, lanes, 0));   \
    const V high = FOST_SHUFFLE(a, b, FOST_INDICES_##lanes(FOST_HIGH, STEP, lanes, 0)); \
    a = low;                                                                            \
    b = high;                                                                           \
  }

template <int L, int STEP, class V> FOST_INLINE void exchange(V& a, V& b) {
  if constexpr (L == 2) FOST_EXCHANGE(2)
  if constexpr (L == 4) FOST_EXCHANGE(4)
  if constexpr (L == 8) FOST_EXCHANGE(8)
  if constexpr (L == 16) FOST_EXCHANGE(16)
}

template <int L, int STEP, class V> FOST_INLINE void transpose_steps(V* v) {
  if constexpr (STEP < L) {
#pragma GCC unroll 16
    for (int r = 0; r < L; ++r)
      if (!(r & STEP)) exchange<L, STEP>(v[r], v[r + STEP]);
    transpose_steps<L, 2 * STEP>(v);
  }
}

// Transposes LANES vectors of LANES entries in registers.
template <class T> FOST_INLINE void transpose(Vec<T>* v) { transpose_steps<LANES<T>, 1>(v); }

// Shifts lanes up by STEP; the first lanes come from the end of the vector `before`.
#define FOST_SHIFTED(j, step, lanes) ((j) + (lanes) - (step))
template <int L, int STEP, class V> FOST_INLINE V shifted_up(V before, V own) {
  if constexpr (STEP == 0)
    return own;
  else if constexpr (L == 2)
    return FOST_SHUFFLE(before, own, FOST_INDICES_2(FOST_SHIFTED, STEP, 2, 0));
  else if constexpr (L == 4)
    return FOST_SHUFFLE(before, own, FOST_INDICES_4(FOST_SHIFTED, STEP, 4, 0));
  else if constexpr (L == 8)
    return FOST_SHUFFLE(before, own, FOST_INDICES_8(FOST_SHIFTED, STEP, 8, 0));
  else
    return FOST_SHUFFLE(before, own, FOST_INDICES_16(FOST_SHIFTED, STEP, 16, 0));
}

// The maximum over lanes, by exchanging halves, then quarters, and so on.
#define FOST_SWAPPED(j, step, lanes) ((j) ^ (step))
template <int L, int STEP, class V> FOST_INLINE V swapped(V v) {
  if constexpr (L == 2) return FOST_SHUFFLE(v, v, FOST_INDICES_2(FOST_SWAPPED, STEP, 2, 0));
  if constexpr (L == 4) return FOST_SHUFFLE(v, v, FOST_INDICES_4(FOST_SWAPPED, STEP, 4, 0));
  if constexpr (L == 8) return FOST_SHUFFLE(v, v, FOST_INDICES_8(FOST_SWAPPED, STEP, 8, 0));
  if constexpr (L == 16) return FOST_SHUFFLE(v, v, FOST_INDICES_16(FOST_SWAPPED, STEP, 16, 0));
}
template <int L, int STEP, class V> FOST_INLINE auto largest_of_lanes(V v) {
  if constexpr (STEP == 0) {
    return v[0];
  } else {
    const V other = swapped<L, STEP>(v);
    return largest_of_lanes<L, STEP / 2>(V(v > other ? v : other));
  }
}
template <class T> FOST_INLINE T largest_lane(Vec<T> v) {
  return largest_of_lanes<LANES<T>, LANES<T> / 2>(v);
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
