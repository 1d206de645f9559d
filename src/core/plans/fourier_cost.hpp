// The decomposition of a real Fourier transform into passes, and a cost model that chooses between
// algorithms.
#pragma once

#include <vector>

namespace fost {

// The radix of the first pass, and the radices of the later passes in order.
struct FourierShape {
  int first;
  std::vector<int> radices;
};

// Whether the radix has an unrolled kernel (see kernels/transforms/fourier.hpp).
bool is_unrolled(int radix);
FourierShape fourier_shape(int length);

// The length of Rader's convolution for a transform of prime length, or 0 if matrices are faster.
int convolution_length(int prime);

// Approximate vector operations of a Fourier transform, and of a cosine transform by two matrices.
double fourier_cost(int length);
double halves_cost(int length);

// exp(-2 pi i numerator / denominator), with the angle reduced in integers.
struct Root {
  double cosine, sine;
};
Root root(long long numerator, long long denominator);

// The smallest primitive root modulo the prime: a generator of its multiplicative group.
int generator(int prime);

}  // namespace fost
