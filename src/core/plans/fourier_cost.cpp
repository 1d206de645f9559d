// Factorisation into radices and the calibrated cost model of the Fourier kernels.
#include "plans/fourier_cost.hpp"

#include <algorithm>
#include <cmath>

namespace fost {
namespace {

constexpr int MIN_CONVOLUTION = 48;  // smaller primes always use matrices
constexpr int SMOOTH = 7;            // largest prime factor of a padded convolution length
// Loads, stores and latency, in operations per number of a pass.
constexpr double PER_NUMBER = 2.5;

std::vector<int> prime_factors(int n) {
  std::vector<int> factors;
  for (int p = 2; p <= n / p; ++p)
    for (; n % p == 0; n /= p) factors.push_back(p);
  if (n > 1) factors.push_back(n);
  return factors;
}

// Operations of a real transform of odd length by matrices.
double matrices_cost(int p) { return 0.55 * p * p + 5 * p; }

// Operations of a real transform of prime length without an unrolled kernel.
double prime_cost(int p, int convolution) {
  return convolution ? 2 * fourier_cost(convolution) + 5.0 * convolution + 6.0 * p
                     : matrices_cost(p);
}

double prime_cost(int p) { return prime_cost(p, convolution_length(p)); }

// Operations of a small real transform in registers.
double butterfly_cost(int radix) {
  if (radix % 2) return 0.5 * (radix - 1) * (radix - 1) + 1.5 * radix;
  return radix == 2 ? 2 : radix == 4 ? 6 : 24;
}

double pass_cost(int radix) {  // per number
  if (!is_unrolled(radix)) return prime_cost(radix) / radix + 8;
  const double spilled = radix > 5 ? 1 : 0;
  return butterfly_cost(radix) / radix + 2.0 * (radix - 1) / radix + PER_NUMBER + spilled;
}

bool is_smooth(int n) {
  for (int p = 2; p <= SMOOTH; ++p)
    while (n % p == 0) n /= p;
  return n == 1;
}

}  // namespace

bool is_unrolled(int radix) {
  return (radix >= 2 && radix <= 5) || (radix >= 7 && radix <= 9) || radix == 11 || radix == 13;
}

FourierShape fourier_shape(int length) {
  std::vector<int> radices;
  int twos = 0, threes = 0;
  for (const int p : prime_factors(length)) {
    if (p == 2)
      ++twos;
    else if (p == 3)
      ++threes;
    else
      radices.push_back(p);
  }
  for (; threes > 1; threes -= 2) radices.push_back(9);
  if (threes) radices.push_back(3);
  for (; twos > 4 || twos == 3; twos -= 3) radices.push_back(8);
  for (; twos > 1; twos -= 2) radices.push_back(4);
  if (twos) radices.push_back(2);
  if (radices.empty()) return {1, {}};
  // The first pass works on reals, half the work, so it takes the largest radix.
  std::sort(radices.begin(), radices.end());
  const int first = radices.back();
  radices.pop_back();
  return {first, radices};
}

int convolution_length(int prime) {
  if (prime < MIN_CONVOLUTION) return 0;
  int best = 0;
  double least = prime_cost(prime, 0);
  const auto consider = [&](int length) {
    const double cost = prime_cost(prime, length);
    if (cost < least) least = cost, best = length;
  };
  const std::vector<int> factors = prime_factors(prime - 1);
  if (factors.back() < MIN_CONVOLUTION) consider(prime - 1);
  const int enough = 2 * prime - 3;
  for (int length = enough; length < enough + enough / 4; ++length)
    if (is_smooth(length)) consider(length);
  return best;
}

double fourier_cost(int length) {
  const FourierShape shape = fourier_shape(length);
  double each = shape.first == 1 ? 1
                : is_unrolled(shape.first)
                    ? butterfly_cost(shape.first) / shape.first + 1 + PER_NUMBER
                    : prime_cost(shape.first) / shape.first + 3;
  for (const int radix : shape.radices) each += pass_cost(radix);
  return each * length;
}

double halves_cost(int length) { return 0.55 * length * length + 4.0 * length; }

Root root(long long numerator, long long denominator) {
  static const double two_pi = 2 * std::acos(-1.0);
  const double angle =
      two_pi * static_cast<double>(numerator % denominator) / static_cast<double>(denominator);
  return {std::cos(angle), -std::sin(angle)};
}

int generator(int prime) {
  std::vector<int> factors = prime_factors(prime - 1);
  factors.erase(std::unique(factors.begin(), factors.end()), factors.end());
  const auto power = [prime](long long base, int exponent) {
    long long result = 1;
    for (; exponent; exponent /= 2, base = base * base % prime)
      if (exponent % 2) result = result * base % prime;
    return result;
  };
  for (int g = 2;; ++g)
    if (std::none_of(factors.begin(), factors.end(),
                     [&](int factor) { return power(g, (prime - 1) / factor) == 1; }))
      return g;
}

}  // namespace fost
