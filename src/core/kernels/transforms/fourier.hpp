// The Fourier transform of any number of reals, one signal per lane, and its transpose.
//
// N reals are P interleaved parts of M = N / P numbers (decimation in time). With V^j the transform
// of part j,
//
//     V_(k + M q) = sum over j of exp(-2 pi i j k / N) exp(-2 pi i j q / P) V^j_k,
//
// that is P complex numbers for each k; those beyond N / 2 are stored as their conjugates. In the
// layout of butterflies.hpp, part after part, the numbers of one k are in positions k and M - k of
// all parts both before and after a pass, so that every pass works in place. k = 0 and k = M / 2
// are real.
#pragma once

#include "kernels/transforms/butterflies.hpp"
#include "kernels/transforms/dense.hpp"
#include "types/transforms.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// Blocks of up to this many bytes are transformed pass by pass. Longer blocks are transformed part
// by part, so that parts stay in the first-level cache.
constexpr Index FOURIER_BLOCK = 16 * 1024;

template <class T, bool TRANSPOSED>
void prime_fourier(const FourierPrime<T>& prime, T* x, T* scratch, Prefetch& ahead);

template <int P> struct Radix {
  static constexpr int value = P;
};

// Calls body with the radix as a constant; 0 for a radix without an unrolled kernel.
template <class Body> FOST_INLINE void with_radix(int radix, const Body& body) {
  switch (radix) {
    case 2: return body(Radix<2>{});
    case 3: return body(Radix<3>{});
    case 4: return body(Radix<4>{});
    case 5: return body(Radix<5>{});
    case 7: return body(Radix<7>{});
    case 8: return body(Radix<8>{});
    case 9: return body(Radix<9>{});
    case 11: return body(Radix<11>{});
    case 13: return body(Radix<13>{});
    default: return body(Radix<0>{});
  }
}

// Source or destination of a block of numbers: rows `step` apart, in a permuted order.
template <class T> struct Rows {
  T* data;
  Index step;
  const std::int32_t* order;
};

// The first pass: transforms of P reals each, from rows to contiguous vectors, or its transpose.
template <class T, int P, bool TRANSPOSED>
void first_pass(const FourierPass<T>& pass, int count, const Rows<T>& rows, T scale, T* x,
                T* scratch, Prefetch& ahead) {
  constexpr int L = LANES<T>;
  const int p = P ? P : pass.radix;
  const std::int32_t* row = rows.order;
  Prefetch local = ahead;
  for (int i = 0; i < count; ++i, row += p, x += p * L) {
    if constexpr (P == 0) {
      if constexpr (!TRANSPOSED)
        for (int j = 0; j < p; ++j) store(x + j * L, scale * load(rows.data + row[j] * rows.step));
      prime_fourier<T, TRANSPOSED>(*pass.prime, x, scratch, local);
      if constexpr (TRANSPOSED)
        for (int j = 0; j < p; ++j) store(rows.data + row[j] * rows.step, load(x + j * L));
    } else {
      Vec<T> v[P];
#pragma GCC unroll 16
      for (int j = 0; j < P; ++j)
        v[j] = TRANSPOSED ? load(x + j * L) : Vec<T>(scale * load(rows.data + row[j] * rows.step));
      real_fourier<T, P, TRANSPOSED>(pass.roots, v);
#pragma GCC unroll 16
      for (int j = 0; j < P; ++j)
        store(TRANSPOSED ? rows.data + row[j] * rows.step : x + j * L, v[j]);
      // Not inside the loops above: a branch amid the arithmetic changes which products and sums
      // the compiler fuses, and thereby the last bits.
      for (int j = 0; j < P; ++j) local.step();
    }
  }
  ahead = local;
}

// k = M / 2, where each part contributes one real: a product with a small matrix.
template <class T, bool TRANSPOSED>
void middle_column(const T* matrix, int p, T* x, Index part, T* scratch) {
  constexpr int L = LANES<T>;
  for (int j = 0; j < p; ++j) store(scratch + j * L, load(x + j * part));
  for (int q = 0; q < p; ++q) {
    Vec<T> sum = {};
    for (int j = 0; j < p; ++j)
      sum += matrix[TRANSPOSED ? j * p + q : q * p + j] * load(scratch + j * L);
    store(x + q * part, sum);
  }
}

// The numbers of one k: `front` has position k of all parts, `back` position M - k.
template <class T, int P, bool TRANSPOSED>
FOST_INLINE void column(const T* roots, const T* twiddle, T* front, T* back, Index part) {
  Vec<T> re[P], im[P];
  if constexpr (!TRANSPOSED) {
    re[0] = load(front);
    im[0] = load(back);
#pragma GCC unroll 16
    for (int j = 1; j < P; ++j) {
      const Vec<T> a = load(front + j * part), b = load(back + j * part);
      const T cosine = twiddle[2 * j - 2], sine = twiddle[2 * j - 1];
      re[j] = cosine * a + sine * b;
      im[j] = cosine * b - sine * a;
    }
    complex_fourier<T, P>(roots, re, im);
#pragma GCC unroll 16
    for (int q = 0; q < P; ++q) {
      store(front + q * part, 2 * q < P ? re[q] : -im[q]);
      store(back + (P - 1 - q) * part, 2 * q < P ? im[q] : re[q]);
    }
  } else {
#pragma GCC unroll 16
    for (int q = 0; q < P; ++q) {
      const Vec<T> a = load(front + q * part), b = load(back + (P - 1 - q) * part);
      re[q] = 2 * q < P ? a : b;
      im[q] = 2 * q < P ? b : -a;
    }
    complex_fourier<T, P>(roots, im, re);
    store(front, re[0]);
    store(back, im[0]);
#pragma GCC unroll 16
    for (int j = 1; j < P; ++j) {
      const T cosine = twiddle[2 * j - 2], sine = twiddle[2 * j - 1];
      store(front + j * part, cosine * re[j] - sine * im[j]);
      store(back + j * part, cosine * im[j] + sine * re[j]);
    }
  }
}

// The same for any radix: a complex transform is the transform of two sets of reals.
template <class T, bool TRANSPOSED>
void long_column(const FourierPass<T>& pass, const T* twiddle, T* front, T* back, Index part,
                 T* scratch, Prefetch& ahead) {
  constexpr int L = LANES<T>;
  const int p = pass.radix, half = p / 2;
  T *re = scratch, *im = scratch + p * L;
  for (int j = 0; j < p; ++j) {
    if constexpr (!TRANSPOSED) {
      const Vec<T> a = load(front + j * part), b = load(back + j * part);
      const T cosine = j ? twiddle[2 * j - 2] : T(1), sine = j ? twiddle[2 * j - 1] : T(0);
      store(re + j * L, cosine * a + sine * b);
      store(im + j * L, cosine * b - sine * a);
    } else {
      const Vec<T> a = load(front + j * part), b = load(back + (p - 1 - j) * part);
      store(im + j * L, j <= half ? a : b);  // real and imaginary parts are exchanged
      store(re + j * L, j <= half ? b : -a);
    }
  }
  prime_fourier<T, false>(*pass.prime, re, im + p * L, ahead);
  prime_fourier<T, false>(*pass.prime, im, im + p * L, ahead);
  for (int q = 0; q < p; ++q) {
    const int k = q <= half ? q : p - q;
    const T sign = q <= half ? T(1) : T(-1);
    const Vec<T> xr = load(re + k * L), yr = load(im + k * L);
    const Vec<T> xi = k ? sign * load(re + (p - k) * L) : Vec<T>{};
    const Vec<T> yi = k ? sign * load(im + (p - k) * L) : Vec<T>{};
    const Vec<T> a = xr - yi, b = xi + yr;
    if constexpr (!TRANSPOSED) {
      store(front + q * part, q <= half ? a : -b);
      store(back + (p - 1 - q) * part, q <= half ? b : a);
    } else {
      const T cosine = q ? twiddle[2 * q - 2] : T(1), sine = q ? twiddle[2 * q - 1] : T(0);
      store(front + q * part, cosine * b - sine * a);
      store(back + q * part, cosine * a + sine * b);
    }
  }
}

// A later pass over `count` blocks of parts.
template <class T, int P, bool TRANSPOSED>
void later_pass(const FourierPass<T>& pass, int count, T* x, T* scratch, Prefetch& ahead) {
  constexpr int L = LANES<T>;
  const int p = P ? P : pass.radix, m = pass.size;
  const Index part = static_cast<Index>(m) * L;
  for (int i = 0; i < count; ++i, x += p * part) {
    if constexpr (P == 0) {
      T* line = scratch;
      for (int j = 0; j < p; ++j) store(line + j * L, load(x + j * part));
      prime_fourier<T, TRANSPOSED>(*pass.prime, line, scratch + p * L, ahead);
      for (int j = 0; j < p; ++j) store(x + j * part, load(line + j * L));
    } else {
      Vec<T> v[P];
#pragma GCC unroll 16
      for (int j = 0; j < P; ++j) v[j] = load(x + j * part);
      real_fourier<T, P, TRANSPOSED>(pass.roots, v);
#pragma GCC unroll 16
      for (int j = 0; j < P; ++j) store(x + j * part, v[j]);
    }
    const T* twiddle = pass.twiddles;
    for (int k = 1; 2 * k < m; ++k, twiddle += 2 * (p - 1)) {
      if constexpr (P == 0)
        long_column<T, TRANSPOSED>(pass, twiddle, x + k * L, x + (m - k) * L, part, scratch, ahead);
      else
        column<T, P, TRANSPOSED>(pass.roots, twiddle, x + k * L, x + (m - k) * L, part);
    }
    if (pass.middle) middle_column<T, TRANSPOSED>(pass.middle, p, x + part / 2, part, scratch);
  }
}

// The first pass and `level` later passes on a block of x, with rows in the order of that block.
template <class T, bool TRANSPOSED>
void fourier_block(const Fourier<T>& plan, int level, const Rows<T>& rows, T scale, T* x,
                   T* scratch, Prefetch& ahead) {
  const int size =
      level ? plan.passes[level - 1].radix * plan.passes[level - 1].size : plan.first.radix;
  const bool small = size * LANES<T> * Index(sizeof(T)) <= FOURIER_BLOCK || level == 0;
  const auto pass = [&](int number, int count) {
    const FourierPass<T>& later = plan.passes[number];
    with_radix(later.radix, [&](auto radix) {
      later_pass<T, decltype(radix)::value, TRANSPOSED>(later, count, x, scratch, ahead);
    });
  };
  const auto parts = [&] {
    if (small) {
      with_radix(plan.first.radix, [&](auto radix) {
        first_pass<T, decltype(radix)::value, TRANSPOSED>(plan.first, size / plan.first.radix, rows,
                                                          scale, x, scratch, ahead);
      });
      return;
    }
    const FourierPass<T>& last = plan.passes[level - 1];
    for (int j = 0; j < last.radix; ++j)
      fourier_block<T, TRANSPOSED>(plan, level - 1,
                                   {rows.data, rows.step, rows.order + j * last.size}, scale,
                                   x + Index(j) * last.size * LANES<T>, scratch, ahead);
  };
  const int begin = small ? 0 : level - 1;
  if (!TRANSPOSED) parts();
  for (int k = 0; k < level - begin; ++k) {
    const int number = TRANSPOSED ? level - 1 - k : begin + k;
    pass(number, size / (plan.passes[number].radix * plan.passes[number].size));
  }
  if (TRANSPOSED) parts();
}

// x = scale times the transform of the rows ...
template <class T>
void fourier(const Fourier<T>& plan, const Rows<T>& rows, T scale, T* x, T* scratch,
             Prefetch& ahead) {
  fourier_block<T, false>(plan, plan.count, rows, scale, x, scratch, ahead);
}

// ... and the transpose, which overwrites x.
template <class T>
void fourier_transposed(const Fourier<T>& plan, const Rows<T>& rows, T* x, T* scratch,
                        Prefetch& ahead) {
  fourier_block<T, true>(plan, plan.count, rows, T(1), x, scratch, ahead);
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
