// The Fourier transform of an odd number of reals without an unrolled kernel. Two algorithms:
//
//   1. By matrices: sums and differences of x_j and x_(p-j) are multiplied by cosines and sines.
//   2. For a large prime p with generator g, by Rader's convolution. Sorted by powers of g, H_f =
//      sum over j > 0 of x_j (cos - sin)(2 pi j f / p) becomes
//
//         H_(g^-q) = sum over t of x_(g^t) w_(q-t),   w_t = (cos - sin)(2 pi g^-t / p),
//
//     a convolution of p - 1 reals (or of more, padded with zeros). Real and imaginary parts are
//     half the sum and half the difference of H_f and H_(p-f).
#pragma once

#include "kernels/transforms/fourier.hpp"

namespace fost {
namespace FOST_NAMESPACE {

template <class T, bool TRANSPOSED>
void fourier_by_matrices(const FourierPrime<T>& prime, T* x, T* scratch) {
  constexpr int L = LANES<T>;
  const int p = prime.size, half = p / 2;
  T *even = scratch, *odd = scratch + half * L;
  const Vec<T> first = load(x);
  Vec<T> total = first;
  for (int j = 1; j <= half; ++j) {
    const Vec<T> front = load(x + j * L), back = load(x + (p - j) * L);
    const Vec<T> a = TRANSPOSED ? front : Vec<T>(front + back);
    store(even + (j - 1) * L, a);
    store(odd + (j - 1) * L, TRANSPOSED ? back : Vec<T>(front - back));
    total += a;
  }
  store(x, total);
  multiply_panels<T>(prime.cosines, half, half, even, first, x + L, L);
  multiply_panels<T>(prime.sines, half, half, odd, Vec<T>{}, x + (p - 1) * L, -L);
  if constexpr (TRANSPOSED)
    for (int k = 1; k <= half; ++k) {
      const Vec<T> a = load(x + k * L), b = load(x + (p - k) * L);
      store(x + k * L, a + b);
      store(x + (p - k) * L, a - b);
    }
}

// Multiplies the spectrum of real numbers by another spectrum, or by its conjugate.
template <class T, bool CONJUGATE> void multiply_spectra(const T* kernel, int length, T* x) {
  constexpr int L = LANES<T>;
  store(x, kernel[0] * load(x));
  for (int k = 1; 2 * k < length; ++k) {
    const T cosine = kernel[k], sine = CONJUGATE ? -kernel[length - k] : kernel[length - k];
    const Vec<T> re = load(x + k * L), im = load(x + (length - k) * L);
    store(x + k * L, cosine * re - sine * im);
    store(x + (length - k) * L, sine * re + cosine * im);
  }
  if (length % 2 == 0) store(x + length / 2 * L, kernel[length / 2] * load(x + length / 2 * L));
}

template <class T, bool TRANSPOSED>
void fourier_by_convolution(const FourierPrime<T>& prime, T* x, T* scratch, Prefetch& ahead) {
  constexpr int L = LANES<T>;
  const Fourier<T>& plan = *prime.convolution;
  const int p = prime.size, length = plan.length;
  T* line = scratch;  // p numbers, and one for the padding
  T* spectrum = line + (p + 1) * L;
  T* rest = spectrum + length * L;
  for (int k = 1; 2 * k < p; ++k) {
    const Vec<T> front = load(x + k * L), back = load(x + (p - k) * L);
    store(line + k * L, TRANSPOSED ? Vec<T>(T(0.5) * (front + back)) : front);
    store(line + (p - k) * L, TRANSPOSED ? Vec<T>(T(0.5) * (front - back)) : back);
  }
  store(line + p * L, Vec<T>{});
  const std::int32_t* in = TRANSPOSED ? plan.scattered : plan.gathered;
  const std::int32_t* out = TRANSPOSED ? plan.gathered : plan.scattered;
  fourier<T>(plan, {line, L, in}, T(1), spectrum, rest, ahead);
  // x_0, which the convolution leaves out, is added to all outputs through their mean.
  const Vec<T> first = load(x);
  store(x, first + load(spectrum));
  multiply_spectra<T, TRANSPOSED>(prime.kernel, length, spectrum);
  store(spectrum, load(spectrum) + first);
  fourier_transposed<T>(plan, {line, L, out}, spectrum, rest, ahead);
  for (int k = 1; 2 * k < p; ++k) {
    const Vec<T> front = load(line + k * L), back = load(line + (p - k) * L);
    store(x + k * L, TRANSPOSED ? front : Vec<T>(T(0.5) * (front + back)));
    store(x + (p - k) * L, TRANSPOSED ? back : Vec<T>(T(0.5) * (front - back)));
  }
}

// The transform of contiguous vectors in place, or its transpose.
template <class T, bool TRANSPOSED>
void prime_fourier(const FourierPrime<T>& prime, T* x, T* scratch, Prefetch& ahead) {
  if (prime.convolution)
    fourier_by_convolution<T, TRANSPOSED>(prime, x, scratch, ahead);
  else
    fourier_by_matrices<T, TRANSPOSED>(prime, x, scratch);
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
