// Small Fourier transforms in registers (radix butterflies).
//
// The transform of P reals, V_k = sum over j of x_j exp(-2 pi i j k / P), is stored in P reals: Re
// V_k in position k and Im V_k in position P - k, for 0 < k < P / 2. Its transpose (not its
// inverse) maps these back to P reals. For odd P, the sums and differences of x_j and x_(P-j)
// separate: cosines multiply the sums only, sines the differences only.
#pragma once

#include "kernels/simd/vector.hpp"

namespace fost {
namespace FOST_NAMESPACE {

constexpr double SQRT_HALF = 0.70710678118654752440;

// a_k = first + sum over j of cosines times `even`, b_k = sum over j of negative sines times `odd`.
template <class T, int P>
FOST_INLINE void multiply_roots(const T* roots, Vec<T> first, const Vec<T>* even, const Vec<T>* odd,
                                Vec<T>* a, Vec<T>* b) {
  constexpr int H = P / 2;
#pragma GCC unroll 8
  for (int k = 1; k <= H; ++k) {
    Vec<T> sum = first + roots[k] * even[0];
    Vec<T> other = roots[P + k] * odd[0];
#pragma GCC unroll 8
    for (int j = 2; j <= H; ++j) {
      sum += roots[j * k % P] * even[j - 1];
      other += roots[P + j * k % P] * odd[j - 1];
    }
    a[k - 1] = sum;
    b[k - 1] = other;
  }
}

// The transform of P reals in place, or its transpose.
template <class T, int P, bool TRANSPOSED> FOST_INLINE void real_fourier(const T* roots,
                                                                         Vec<T>* x) {
  if constexpr (P == 2) {
    const Vec<T> sum = x[0] + x[1];
    x[1] = x[0] - x[1];
    x[0] = sum;
  } else if constexpr (P == 4 && !TRANSPOSED) {
    const Vec<T> even = x[0] + x[2], odd = x[1] + x[3];
    x[3] = x[3] - x[1];
    x[1] = x[0] - x[2];
    x[0] = even + odd;
    x[2] = even - odd;
  } else if constexpr (P == 4) {
    const Vec<T> sum = x[0] + x[2], difference = x[0] - x[2], one = x[1], three = x[3];
    x[0] = sum + one;
    x[2] = sum - one;
    x[1] = difference - three;
    x[3] = difference + three;
  } else if constexpr (P == 8 && !TRANSPOSED) {
    Vec<T> even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
    real_fourier<T, 4, false>(roots, even);
    real_fourier<T, 4, false>(roots, odd);
    const Vec<T> re = T(SQRT_HALF) * (odd[1] + odd[3]), im = T(SQRT_HALF) * (odd[3] - odd[1]);
    x[0] = even[0] + odd[0];
    x[4] = even[0] - odd[0];
    x[1] = even[1] + re;
    x[3] = even[1] - re;
    x[7] = even[3] + im;
    x[5] = im - even[3];
    x[2] = even[2];
    x[6] = -odd[2];
  } else if constexpr (P == 8) {
    const Vec<T> re = x[1] - x[3], im = x[7] + x[5];
    Vec<T> even[4] = {x[0] + x[4], x[1] + x[3], x[2], x[7] - x[5]};
    Vec<T> odd[4] = {x[0] - x[4], T(SQRT_HALF) * (re - im), -x[6], T(SQRT_HALF) * (re + im)};
    real_fourier<T, 4, true>(roots, even);
    real_fourier<T, 4, true>(roots, odd);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      x[2 * j] = even[j];
      x[2 * j + 1] = odd[j];
    }
  } else {
    constexpr int H = P / 2;
    Vec<T> even[H], odd[H], a[H], b[H];
    Vec<T> total = x[0];
#pragma GCC unroll 8
    for (int j = 1; j <= H; ++j) {
      even[j - 1] = TRANSPOSED ? x[j] : x[j] + x[P - j];
      odd[j - 1] = TRANSPOSED ? x[P - j] : x[j] - x[P - j];
      total += even[j - 1];
    }
    multiply_roots<T, P>(roots, x[0], even, odd, a, b);
    x[0] = total;
#pragma GCC unroll 8
    for (int k = 1; k <= H; ++k) {
      x[k] = TRANSPOSED ? a[k - 1] + b[k - 1] : a[k - 1];
      x[P - k] = TRANSPOSED ? a[k - 1] - b[k - 1] : b[k - 1];
    }
  }
}

// The transform of P complex numbers in place. With real and imaginary parts exchanged it is its
// own transpose.
template <class T, int P> FOST_INLINE void complex_fourier(const T* roots, Vec<T>* re, Vec<T>* im) {
  if constexpr (P == 2) {
    real_fourier<T, 2, false>(roots, re);
    real_fourier<T, 2, false>(roots, im);
  } else if constexpr (P == 4) {
    const Vec<T> er = re[0] + re[2], ei = im[0] + im[2], fr = re[0] - re[2], fi = im[0] - im[2];
    const Vec<T> odd_r = re[1] + re[3], odd_i = im[1] + im[3];
    const Vec<T> gr = re[1] - re[3], gi = im[1] - im[3];
    re[0] = er + odd_r, im[0] = ei + odd_i;
    re[2] = er - odd_r, im[2] = ei - odd_i;
    re[1] = fr + gi, im[1] = fi - gr;
    re[3] = fr - gi, im[3] = fi + gr;
  } else if constexpr (P == 8) {
    Vec<T> er[4] = {re[0], re[2], re[4], re[6]}, ei[4] = {im[0], im[2], im[4], im[6]};
    Vec<T> fr[4] = {re[1], re[3], re[5], re[7]}, fi[4] = {im[1], im[3], im[5], im[7]};
    complex_fourier<T, 4>(roots, er, ei);
    complex_fourier<T, 4>(roots, fr, fi);
    const Vec<T> one = T(SQRT_HALF) * (fr[1] + fi[1]), three = T(SQRT_HALF) * (fi[3] - fr[3]);
    fi[1] = T(SQRT_HALF) * (fi[1] - fr[1]);
    fi[3] = T(-SQRT_HALF) * (fr[3] + fi[3]);
    fr[1] = one;
    fr[3] = three;
    const Vec<T> two = fr[2];
    fr[2] = fi[2];
    fi[2] = -two;
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      re[k] = er[k] + fr[k], im[k] = ei[k] + fi[k];
      re[k + 4] = er[k] - fr[k], im[k + 4] = ei[k] - fi[k];
    }
  } else {
    // Cosines of one part combine with sines of the other part.
    constexpr int H = P / 2;
    Vec<T> even[H], odd[H], ar[H], ai[H], br[H], bi[H];
    Vec<T> total_r = re[0], total_i = im[0];
#pragma GCC unroll 8
    for (int j = 1; j <= H; ++j) {
      even[j - 1] = re[j] + re[P - j];
      odd[j - 1] = re[j] - re[P - j];
      total_r += even[j - 1];
    }
    multiply_roots<T, P>(roots, re[0], even, odd, ar, br);
#pragma GCC unroll 8
    for (int j = 1; j <= H; ++j) {
      even[j - 1] = im[j] + im[P - j];
      odd[j - 1] = im[j] - im[P - j];
      total_i += even[j - 1];
    }
    multiply_roots<T, P>(roots, im[0], even, odd, ai, bi);
    re[0] = total_r;
    im[0] = total_i;
#pragma GCC unroll 8
    for (int k = 1; k <= H; ++k) {
      re[k] = ar[k - 1] - bi[k - 1], im[k] = ai[k - 1] + br[k - 1];
      re[P - k] = ar[k - 1] + bi[k - 1], im[P - k] = ai[k - 1] - br[k - 1];
    }
  }
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
