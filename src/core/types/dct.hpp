// Plain data of cosine transforms: what cosine_plan.cpp makes and dct.hpp and fourier.hpp read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fost {

template <class T> struct Fourier;

// The Fourier transform of an odd number of reals for which nothing is unrolled: by two matrices
// or, where it is a large prime, by a convolution.
template <class T> struct FourierPrime {
  int size;
  const T* cosines;               // (size - 1) / 2 squared, in panels (see panels.hpp), or null
  const T* sines;                 // the same, negative
  const Fourier<T>* convolution;  // of the length of the convolution, or null
  const T* kernel;                // Fourier transform of what is convolved with
};

// `radix` transforms of `size` reals each become one.
template <class T> struct FourierPass {
  int radix;
  int size;
  const T* roots;                // cosines and negative sines of 2 pi t / radix, t < radix
  const T* twiddles;             // cos, sin of 2 pi j k / (radix size), j = 1 ... for each k
  const T* middle;               // radix x radix, for k = size / 2, or null
  const FourierPrime<T>* prime;  // of the radix, where nothing is unrolled for it, or null
};

// The Fourier transform of `length` reals (see fourier.hpp).
template <class T> struct Fourier {
  int length;
  FourierPass<T> first;           // of parts of one number
  int count;
  const FourierPass<T>* passes;   // and then these
  const std::int32_t* gathered;   // which number comes where, before the first pass ...
  const std::int32_t* scattered;  // ... and after it, on the way back
};

// The cosine transform along one axis of the signal: by one of three ways.
template <class T> struct CosineAxis {
  int length;
  std::ptrdiff_t stride;
  const T* codelet;           // tables of the unrolled kernel, or null
  const T* halves[2];         // matrices of even and odd outputs in panels, or null
  const T* transposed[2];     // the same for the way back
  const Fourier<T>* fourier;  // of the same length, or null
  const T* rotations;         // cos, sin of pi k / (2 length), k = 1 ...
  T scale;                    // sqrt(2 / length)
};

}  // namespace fost
