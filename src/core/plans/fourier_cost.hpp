// Which passes a Fourier transform of reals is made of, and what they cost.
#pragma once

#include <vector>

namespace fost {

// Numbers that the first pass transforms together, and the radices of the others in order.
struct FourierShape {
  int first;
  std::vector<int> radices;
};

// Whether the radix is unrolled in the kernels (see fourier.hpp).
bool is_unrolled(int radix);
FourierShape fourier_shape(int length);

// The length of the convolution by which the transform of a prime is computed, or 0 where
// matrices are faster.
int convolution_length(int prime);

// Operations on vectors, roughly: of a Fourier transform, and of a cosine transform by halves.
double fourier_cost(int length);
double halves_cost(int length);

// exp(-2 pi i numerator / denominator), the angle reduced in integers.
struct Root {
  double cosine, sine;
};
Root root(long long numerator, long long denominator);

// The least generator of the numbers 1 ... prime - 1 under multiplication.
int generator(int prime);

}  // namespace fost
