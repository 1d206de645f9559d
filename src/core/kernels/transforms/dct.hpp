// The orthonormal DCT-II along the axes of a signal, and its inverse, on a tile.
//
// Sums of opposite entries determine the even outputs, differences the odd outputs. With N even, h
// = N / 2 and r = sqrt(1/2),
//
//     even outputs = DCT-II_h(r (x_i + x_(N-1-i))),   odd outputs = DCT-IV_h(r (x_i - x_(N-1-i))).
//
// The algorithm depends on the length N (chosen by plans/dct.cpp):
//   1. N <= 20 and N = 22: unrolled in registers by this recursion; the DCT-IV and odd sizes are
//      products with small matrices.
//   2. Other short lengths and moderate primes: products with the matrices of even and odd outputs.
//   3. All others: the Fourier transform V of the even entries followed by the reversed odd entries
//      (see fourier.hpp). With t = pi k / (2 N),
//
//         X_k     = sqrt(2 / N) (cos t Re V_k + sin t Im V_k),
//         X_(N-k) = sqrt(2 / N) (sin t Re V_k - cos t Im V_k).
//
// No intermediate value exceeds sqrt(2) times the norm of the signal, so rounding errors do not
// grow. NumPy twins: tests/reference.py, dct_forward and dct_inverse.
#pragma once

#include "kernels/transforms/dense.hpp"
#include "kernels/transforms/fourier.hpp"
#include "kernels/transforms/fourier_prime.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// y = C x with C a row-major SIZE x SIZE matrix, or its transpose.
template <class T, int SIZE, bool TRANSPOSED>
FOST_INLINE void multiply(const T* matrix, const Vec<T>* x, Vec<T>* y) {
  // Eight independent outputs at a time, to hide latency.
#pragma GCC unroll 2
  for (int first = 0; first < SIZE; first += 8) {
#pragma GCC unroll 16
    for (int j = 0; j < SIZE; ++j)
#pragma GCC unroll 8
      for (int k = first; k < SIZE && k < first + 8; ++k) {
        const T entry = matrix[TRANSPOSED ? j * SIZE + k : k * SIZE + j];
        y[k] = j ? Vec<T>(y[k] + entry * x[j]) : Vec<T>(entry * x[j]);
      }
  }
}

// The DCT-II of N vectors. The tables hold the DCT-IV matrices of sizes N/2, N/4, ... and the
// matrices of the odd remainder, scaled so that the butterflies need no multiplication.
template <class T, int N> FOST_INLINE void codelet_forward(const T* tables, Vec<T>* x) {
  constexpr int H = N / 2, E = N - H;
  if constexpr (N == 1) {
    x[0] = tables[0] * x[0];
  } else {
    Vec<T> even[E], odd[H], low[E], high[H];
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) {
      even[i] = x[i] + x[N - 1 - i];
      odd[i] = x[i] - x[N - 1 - i];
    }
    if constexpr (N % 2) {
      even[H] = x[H];
      multiply<T, E, false>(tables, even, low);
      multiply<T, H, false>(tables + E * E, odd, high);
    } else {
      multiply<T, H, false>(tables, odd, high);
      codelet_forward<T, H>(tables + H * H, even);
    }
#pragma GCC unroll 16
    for (int i = 0; i < E; ++i) x[2 * i] = N % 2 ? low[i] : even[i];
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) x[2 * i + 1] = high[i];
  }
}

template <class T, int N> FOST_INLINE void codelet_inverse(const T* tables, Vec<T>* x) {
  constexpr int H = N / 2, E = N - H;
  if constexpr (N == 1) {
    x[0] = tables[0] * x[0];
  } else {
    Vec<T> even[E], odd[H], low[E], high[H];
#pragma GCC unroll 16
    for (int i = 0; i < E; ++i) (N % 2 ? low : even)[i] = x[2 * i];
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) high[i] = x[2 * i + 1];
    if constexpr (N % 2) {
      multiply<T, E, true>(tables, low, even);
      multiply<T, H, true>(tables + E * E, high, odd);
      x[H] = even[H];
    } else {
      multiply<T, H, false>(tables, high, odd);
      codelet_inverse<T, H>(tables + H * H, even);
    }
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) {
      x[i] = even[i] + odd[i];
      x[N - 1 - i] = even[i] - odd[i];
    }
  }
}

// The DCT of `lines` lines of N features. Entries of a line are `step` apart (STEP if it is known
// at compile time), lines are `next` apart.
template <class T, int N, bool INVERSE, int STEP = 0>
void codelet(const T* tables, T* first, Index any_step, Index lines, Index next, Prefetch& ahead) {
  const Index step = STEP ? STEP : any_step;
  Prefetch local = ahead;
  for (T* line = first; lines > 0; --lines, line += next) {
    Vec<T> x[N];
#pragma GCC unroll 22
    for (int i = 0; i < N; ++i) {
      x[i] = load(line + i * step);
      if constexpr (N <= 8) keep_in_register(x[i]);
    }
    if constexpr (INVERSE)
      codelet_inverse<T, N>(tables, x);
    else
      codelet_forward<T, N>(tables, x);
#pragma GCC unroll 22
    for (int i = 0; i < N; ++i) store(line + i * step, x[i]);
    local.step();
  }
  ahead = local;
}

template <class T, bool INVERSE>
void run_codelet(int size, const T* tables, T* first, Index step, Index lines, Index next,
                 Prefetch& ahead) {
  // For patches of 8 x 8 the addresses are constants.
  if (size == 8 && step == WIDTH<T>)
    return codelet<T, 8, INVERSE, WIDTH<T>>(tables, first, step, lines, next, ahead);
  if (size == 8 && step == 8 * WIDTH<T>)
    return codelet<T, 8, INVERSE, 8 * WIDTH<T>>(tables, first, step, lines, next, ahead);
  switch (size) {
    case 1: return;
#define FOST_CODELET(N) \
  case N: return codelet<T, N, INVERSE>(tables, first, step, lines, next, ahead);
      // clang-format off
    FOST_CODELET(2) FOST_CODELET(3) FOST_CODELET(4) FOST_CODELET(5) FOST_CODELET(6)
    FOST_CODELET(7) FOST_CODELET(8) FOST_CODELET(9) FOST_CODELET(10) FOST_CODELET(11)
    FOST_CODELET(12) FOST_CODELET(13) FOST_CODELET(14) FOST_CODELET(15) FOST_CODELET(16)
    FOST_CODELET(17) FOST_CODELET(18) FOST_CODELET(19) FOST_CODELET(20) FOST_CODELET(22)
      // clang-format on
#undef FOST_CODELET
  }
  unreachable();
}

// One line by the matrices of even and odd outputs.
template <class T> void halves_forward(const CosineAxis<T>& axis, T* line, Index step, T* scratch) {
  constexpr int L = LANES<T>;
  const int n = axis.length, half = n / 2, rest = n - half;
  T *even = scratch, *odd = scratch + rest * L;
  for (int i = 0; i < half; ++i) {
    const Vec<T> a = load(line + i * step), b = load(line + (n - 1 - i) * step);
    store(even + i * L, a + b);
    store(odd + i * L, a - b);
  }
  if (n % 2) store(even + half * L, load(line + half * step));
  multiply_panels<T>(axis.halves[0], rest, rest, even, Vec<T>{}, line, 2 * step);
  multiply_panels<T>(axis.halves[1], half, half, odd, Vec<T>{}, line + step, 2 * step);
}

template <class T> void halves_inverse(const CosineAxis<T>& axis, T* line, Index step, T* scratch) {
  constexpr int L = LANES<T>;
  const int n = axis.length, half = n / 2, rest = n - half;
  T *even = scratch, *odd = even + rest * L, *low = odd + half * L, *high = low + rest * L;
  for (int i = 0; i < rest; ++i) store(even + i * L, load(line + 2 * i * step));
  for (int i = 0; i < half; ++i) store(odd + i * L, load(line + (2 * i + 1) * step));
  multiply_panels<T>(axis.transposed[0], rest, rest, even, Vec<T>{}, low, L);
  multiply_panels<T>(axis.transposed[1], half, half, odd, Vec<T>{}, high, L);
  for (int i = 0; i < half; ++i) {
    const Vec<T> a = load(low + i * L), b = load(high + i * L);
    store(line + i * step, a + b);
    store(line + (n - 1 - i) * step, a - b);
  }
  if (n % 2) store(line + half * step, load(low + half * L));
}

// The rotations between a Fourier and a cosine transform, which are their own inverses, from rows
// `from_step` apart to rows `to_step` apart.
template <class T>
void rotate_spectrum(const CosineAxis<T>& axis, T scale, const T* from, Index from_step, T* to,
                     Index to_step) {
  const int n = axis.length;
  const T edge = scale * T(SQRT_HALF);
  store(to, edge * load(from));
  const T* angle = axis.rotations;
  for (int k = 1; 2 * k < n; ++k, angle += 2) {
    const T cosine = scale * angle[0], sine = scale * angle[1];
    const Vec<T> a = load(from + k * from_step), b = load(from + (n - k) * from_step);
    store(to + k * to_step, cosine * a + sine * b);
    store(to + (n - k) * to_step, sine * a - cosine * b);
  }
  if (n % 2 == 0) store(to + n / 2 * to_step, edge * load(from + n / 2 * from_step));
}

template <class T, bool INVERSE>
void transform_line(const CosineAxis<T>& axis, T* line, Index step, T* scratch, Prefetch& ahead) {
  if (!axis.fourier) {
    if constexpr (INVERSE)
      return halves_inverse(axis, line, step, scratch);
    else
      return halves_forward(axis, line, step, scratch);
  }
  const Rows<T> rows = {line, step, axis.fourier->gathered};
  T* rest = scratch + axis.length * LANES<T>;
  if constexpr (INVERSE) {
    rotate_spectrum<T>(axis, axis.scale, line, step, scratch, LANES<T>);
    fourier_transposed<T>(*axis.fourier, rows, scratch, rest, ahead);
  } else {
    fourier<T>(*axis.fourier, rows, axis.scale, scratch, rest, ahead);
    rotate_spectrum<T>(axis, T(1), scratch, LANES<T>, line, step);
  }
}

// Scratch entries for lines of this length: the spectrum and, for a prime length, one line and one
// spectrum of the convolution, at most 2.6 times as long.
template <class T> constexpr Index cosine_scratch(Index length) {
  return (6 * length + 256) * LANES<T>;
}

// Transforms all lines along one axis; a line begins at every feature outer + inner, inner <
// stride.
template <class T, bool INVERSE>
void apply_cosine_axis(const CosineAxis<T>& axis, int n, T* tile, int width, T* scratch,
                       Prefetch& ahead) {
  constexpr int L = LANES<T>;
  const Index step = axis.stride * width, outer_step = axis.length * step;
  const Index n_outer = n / (axis.length * axis.stride);
  // The longer of the two loops over lines is the inner one.
  const bool flip = n_outer > axis.stride;
  const Index outside = flip ? axis.stride : n_outer, inside = flip ? n_outer : axis.stride;
  const Index outside_step = flip ? width : outer_step, inside_step = flip ? outer_step : width;
  for (Index k = 0; k < outside; ++k)
    for (int v = 0; v < WIDTH<T>; v += L) {
      T* line = tile + k * outside_step + v;
      if (axis.codelet) {
        run_codelet<T, INVERSE>(axis.length, axis.codelet, line, step, inside, inside_step, ahead);
        continue;
      }
      for (Index q = 0; q < inside; ++q, line += inside_step)
        transform_line<T, INVERSE>(axis, line, step, scratch, ahead);
    }
}

template <class T, bool INVERSE>
void apply_cosine(const Stage<T>& stage, int n, T* tile, int width, T* scratch, Prefetch& ahead) {
  for (int a = 0; a < stage.count; ++a)
    apply_cosine_axis<T, INVERSE>(stage.axes[a], n, tile, width, scratch, ahead);
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
