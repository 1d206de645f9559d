// The orthonormal DCT-II along the axes of a signal, and its inverse, on a tile.
//
// With N even, h = N / 2 and r = sqrt(1/2), the DCT-II of x splits into
//
//     even outputs = DCT-II_h(r (x_i + x_(N-1-i))),   odd outputs = DCT-IV_h(r (x_i - x_(N-1-i)))
//
// and the DCT-IV, which is symmetric and its own inverse, with M even, h = M / 2 and
// t_j = pi (2j + 1) / (4M), into
//
//     A = DCT-II_h(x_j cos t_j + x_(M-1-j) sin t_j)
//     B = DCT-II_h((-1)^j (x_j sin t_j - x_(M-1-j) cos t_j))
//     X_0 = A_0,  X_(M-1) = B_0,  X_(2k) = r (A_k - B_(h-k)),  X_(2k-1) = r (A_k + B_(h-k)).
//
// Every step is orthonormal, so rounding errors do not grow. Lengths 2 to 32 that are
// powers of two are unrolled in registers, where a direct DCT-IV by multiply-adds costs no
// more than the fast one; odd lengths are products with the whole matrix.
#pragma once

#include "simd.hpp"

namespace fost {
namespace FOST_NAMESPACE {

constexpr double SQRT_HALF = 0.70710678118654752440;

// y = C x with C a row-major SIZE x SIZE matrix.
template <class T, int SIZE> FOST_INLINE void multiply(const T* matrix, const Vec<T>* x, Vec<T>* y) {
#pragma GCC unroll 16
  for (int k = 0; k < SIZE; ++k) {
    Vec<T> sum = matrix[k * SIZE] * x[0];
#pragma GCC unroll 16
    for (int j = 1; j < SIZE; ++j) sum += matrix[k * SIZE + j] * x[j];
    y[k] = sum;
  }
}

// The DCT-II of N vectors. The tables hold the DCT-IV matrices of sizes N/2, N/4, ..., 1
// and the factor of the mean, scaled so that the butterflies need no multiplication.
template <class T, int N> FOST_INLINE void codelet_forward(const T* tables, Vec<T>* x) {
  if constexpr (N == 1) {
    x[0] = tables[0] * x[0];
  } else {
    constexpr int H = N / 2;
    Vec<T> even[H], odd[H], high[H];
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) {
      even[i] = x[i] + x[N - 1 - i];
      odd[i] = x[i] - x[N - 1 - i];
    }
    multiply<T, H>(tables, odd, high);
    codelet_forward<T, H>(tables + H * H, even);
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) {
      x[2 * i] = even[i];
      x[2 * i + 1] = high[i];
    }
  }
}

template <class T, int N> FOST_INLINE void codelet_inverse(const T* tables, Vec<T>* x) {
  if constexpr (N == 1) {
    x[0] = tables[0] * x[0];
  } else {
    constexpr int H = N / 2;
    Vec<T> even[H], odd[H], high[H];
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) {
      even[i] = x[2 * i];
      high[i] = x[2 * i + 1];
    }
    multiply<T, H>(tables, high, odd);
    codelet_inverse<T, H>(tables + H * H, even);
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) {
      x[i] = even[i] + odd[i];
      x[N - 1 - i] = even[i] - odd[i];
    }
  }
}

// `lines` lines of N features: entries of a line lie `step` apart, lines `next` apart.
template <class T, int N, bool INVERSE>
void codelet(const T* tables, T* first, Index step, Index lines, Index next, Prefetch& ahead) {
  Prefetch local = ahead;
  for (T* line = first; lines > 0; --lines, line += next) {
    Vec<T> x[N];
#pragma GCC unroll 32
    for (int i = 0; i < N; ++i) {
      x[i] = load(line + i * step);
      if constexpr (N <= 8) hold(x[i]);
    }
    if constexpr (INVERSE)
      codelet_inverse<T, N>(tables, x);
    else
      codelet_forward<T, N>(tables, x);
#pragma GCC unroll 32
    for (int i = 0; i < N; ++i) store(line + i * step, x[i]);
    local.step();
  }
  ahead = local;
}

template <class T, bool INVERSE>
void run_codelet(int size, const T* tables, T* first, Index step, Index lines, Index next,
                 Prefetch& ahead) {
  switch (size) {
    case 1: return;
    case 2: return codelet<T, 2, INVERSE>(tables, first, step, lines, next, ahead);
    case 4: return codelet<T, 4, INVERSE>(tables, first, step, lines, next, ahead);
    case 8: return codelet<T, 8, INVERSE>(tables, first, step, lines, next, ahead);
    case 16: return codelet<T, 16, INVERSE>(tables, first, step, lines, next, ahead);
    default: return codelet<T, 32, INVERSE>(tables, first, step, lines, next, ahead);
  }
}

// x <- C x (or C^T x) with C the whole matrix, in steps of four outputs.
template <class T, bool TRANSPOSED>
void multiply_whole(const T* matrix, int size, T* x, T* scratch) {
  constexpr int L = LANES<T>;
  const Index row = TRANSPOSED ? 1 : size, column = TRANSPOSED ? size : 1;
  for (int i = 0; i < size; ++i) store(scratch + i * L, load(x + i * L));
  int k = 0;
  for (; k + 4 <= size; k += 4) {
    Vec<T> sum[4] = {};
    for (int j = 0; j < size; ++j) {
      const Vec<T> xj = load(scratch + j * L);
      for (int q = 0; q < 4; ++q) sum[q] += matrix[(k + q) * row + j * column] * xj;
    }
    for (int q = 0; q < 4; ++q) store(x + (k + q) * L, sum[q]);
  }
  for (; k < size; ++k) {
    Vec<T> sum = {};
    for (int j = 0; j < size; ++j) sum += matrix[k * row + j * column] * load(scratch + j * L);
    store(x + k * L, sum);
  }
}

template <class T, bool INVERSE> void dct2(const CosineLevel<T>* level, T* x, T* scratch, Prefetch& ahead);

// The DCT-IV of level->size contiguous vectors, its own inverse.
template <class T> void dct4(const CosineLevel<T>* level, T* x, T* scratch, Prefetch& ahead) {
  constexpr int L = LANES<T>;
  const int size = level->size, half = size / 2;
  if (level->dct4) return multiply_whole<T, false>(level->dct4, size, x, scratch);
  T* a = scratch;
  T* b = scratch + half * L;
  for (int j = 0; j < half; ++j) {
    const T cosine = level->rotations[2 * j], sine = level->rotations[2 * j + 1];
    const Vec<T> front = load(x + j * L), back = load(x + (size - 1 - j) * L);
    const Vec<T> difference = sine * front - cosine * back;
    store(a + j * L, cosine * front + sine * back);
    store(b + j * L, j % 2 ? -difference : difference);
  }
  dct2<T, false>(level + 1, a, scratch + size * L, ahead);
  dct2<T, false>(level + 1, b, scratch + size * L, ahead);
  store(x, load(a));
  store(x + (size - 1) * L, load(b));
  for (int k = 1; k < half; ++k) {
    const Vec<T> ak = load(a + k * L), bk = load(b + (half - k) * L);
    store(x + 2 * k * L, T(SQRT_HALF) * (ak - bk));
    store(x + (2 * k - 1) * L, T(SQRT_HALF) * (ak + bk));
  }
}

// The DCT-II (or its inverse) of level->size contiguous vectors.
template <class T, bool INVERSE> void dct2(const CosineLevel<T>* level, T* x, T* scratch, Prefetch& ahead) {
  constexpr int L = LANES<T>;
  const int size = level->size, half = size / 2;
  if (level->codelet) return run_codelet<T, INVERSE>(size, level->codelet, x, L, 1, 0, ahead);
  if (level->dct2) return multiply_whole<T, INVERSE>(level->dct2, size, x, scratch);
  T* even = scratch;
  T* odd = scratch + half * L;
  T* rest = scratch + size * L;
  for (int i = 0; i < half; ++i) {
    const Vec<T> a = load(x + (INVERSE ? 2 * i : i) * L);
    const Vec<T> b = load(x + (INVERSE ? 2 * i + 1 : size - 1 - i) * L);
    store(even + i * L, INVERSE ? a : T(SQRT_HALF) * (a + b));
    store(odd + i * L, INVERSE ? b : T(SQRT_HALF) * (a - b));
  }
  dct2<T, INVERSE>(level + 1, even, rest, ahead);
  dct4<T>(level + 1, odd, rest, ahead);
  for (int i = 0; i < half; ++i) {
    const Vec<T> a = load(even + i * L), b = load(odd + i * L);
    store(x + (INVERSE ? i : 2 * i) * L, INVERSE ? T(SQRT_HALF) * (a + b) : a);
    store(x + (INVERSE ? size - 1 - i : 2 * i + 1) * L, INVERSE ? T(SQRT_HALF) * (a - b) : b);
  }
}

// Entries of scratch that dct2 of this many vectors needs, its own line included.
template <class T> constexpr Index cosine_scratch(Index length) { return 4 * length * LANES<T>; }

// Lines whose first features are outer + inner, for inner < stride, in vectors of lanes v.
template <class T, bool INVERSE>
void apply_cosine_axis(const CosineAxis<T>& axis, int n, T* tile, int width, T* scratch, Prefetch& ahead) {
  constexpr int L = LANES<T>;
  const Index step = axis.stride * width, outer_step = axis.length * step;
  const Index n_outer = n / (axis.length * axis.stride);
  // The longer of the two loops over lines goes inside.
  const bool flip = n_outer > axis.stride;
  const Index outside = flip ? axis.stride : n_outer, inside = flip ? n_outer : axis.stride;
  const Index outside_step = flip ? width : outer_step, inside_step = flip ? outer_step : width;
  for (Index k = 0; k < outside; ++k)
    for (int v = 0; v < WIDTH<T>; v += L) {
      T* line = tile + k * outside_step + v;
      if (axis.levels->codelet) {
        run_codelet<T, INVERSE>(axis.length, axis.levels->codelet, line, step, inside, inside_step,
                                ahead);
        continue;
      }
      for (Index q = 0; q < inside; ++q, line += inside_step) {
        for (int i = 0; i < axis.length; ++i) store(scratch + i * L, load(line + i * step));
        dct2<T, INVERSE>(axis.levels, scratch, scratch + axis.length * L, ahead);
        for (int i = 0; i < axis.length; ++i) store(line + i * step, load(scratch + i * L));
      }
    }
}

template <class T, bool INVERSE>
void apply_cosine(const Stage<T>& stage, int n, T* tile, int width, T* scratch, Prefetch& ahead) {
  for (int a = 0; a < stage.count; ++a)
    apply_cosine_axis<T, INVERSE>(stage.axes[a], n, tile, width, scratch, ahead);
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
