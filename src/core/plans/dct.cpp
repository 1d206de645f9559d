// Tables for kernels/transforms/dct.hpp, fourier.hpp and fourier_prime.hpp. Trigonometric functions
// are evaluated in float64 for angles that are reduced in integers.
#include "plans/dct.hpp"

#include <algorithm>
#include <cmath>

#include "plans/fourier_cost.hpp"

namespace fost {
namespace {

// Longest unrolled cosine transform (see kernels/transforms/dct.hpp) ....
constexpr int CODELET = 22;
constexpr int ODD_CODELET = 20;  // ... beyond this only for even lengths
const double SQRT_HALF = std::sqrt(0.5);

bool is_codelet(int length) {
  return length <= ODD_CODELET || (length <= CODELET && length % 2 == 0);
}

// Entry (k, j) of the orthonormal DCT-II and DCT-IV of the given size.
double dct2_entry(int size, Index k, Index j) {
  return std::sqrt((k ? 2.0 : 1.0) / size) * root((2 * j + 1) * k, 4 * Index(size)).cosine;
}
double dct4_entry(int size, Index k, Index j) {
  return std::sqrt(2.0 / size) * root((2 * j + 1) * (2 * k + 1), 8 * Index(size)).cosine;
}

// The matrix of even (parity 0) or odd outputs, acting on sums or differences of opposite entries.
std::vector<double> half_matrix(int length, int parity) {
  const int size = (length + 1 - parity) / 2;
  std::vector<double> matrix;
  for (int q = 0; q < size; ++q)
    for (int j = 0; j < size; ++j) matrix.push_back(dct2_entry(length, 2 * q + parity, j));
  return matrix;
}

std::vector<double> transposed(int size, const std::vector<double>& matrix) {
  std::vector<double> result(matrix.size());
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j) result[j * Index(size) + i] = matrix[i * Index(size) + j];
  return result;
}

using Complex = std::complex<double>;

// The Fourier transform of x_offset, x_(offset + stride), ...: `size` numbers, for sizes without
// large prime factors. `roots` are the roots of unity of order size * stride.
std::vector<Complex> spectrum(const std::vector<double>& x, const std::vector<Complex>& roots,
                              Index size, Index offset, Index stride) {
  Index p = 2;
  while (size % p) ++p;
  if (size <= 16) p = size;
  const Index m = size / p;
  std::vector<std::vector<Complex>> parts;
  for (Index j = 0; j < p; ++j)
    parts.push_back(m == 1 ? std::vector<Complex>{x[offset + j * stride]}
                           : spectrum(x, roots, m, offset + j * stride, stride * p));
  std::vector<Complex> result(size);
  for (Index k = 0; k < size; ++k)
    for (Index j = 0; j < p; ++j) result[k] += roots[j * k % size * stride] * parts[j][k % m];
  return result;
}

// The order in which the first pass reads its inputs (digit reversal).
void add_order(const FourierShape& shape, int level, int offset, int stride,
               std::vector<std::int32_t>& order) {
  const int radix = level ? shape.radices[level - 1] : shape.first;
  for (int j = 0; j < radix; ++j) {
    if (level)
      add_order(shape, level - 1, offset + j * stride, stride * radix, order);
    else
      order.push_back(offset + j * stride);
  }
}

}  // namespace

// Panels of eight rows, each column by column; then of four, two and one.
template <class T> const T* CosineTables<T>::panels(int size, const std::vector<double>& matrix) {
  T* out = allocate(matrix.size());
  const T* made = out;
  for (int first = 0, rows = 8; first < size; first += rows) {
    while (first + rows > size) rows /= 2;
    for (int j = 0; j < size; ++j)
      for (int q = 0; q < rows; ++q) *out++ = static_cast<T>(matrix[(first + q) * Index(size) + j]);
  }
  return made;
}

// DCT-IV matrices of half the length, a quarter, and so on while it is even; then both half
// matrices of the odd remainder. Scaled so that sums and differences need no multiplication.
template <class T> const T* CosineTables<T>::codelet(int length) {
  T* out = allocate(length * std::size_t(length));
  const T* made = out;
  double scale = 1;
  for (; length % 2 == 0; length /= 2) {
    scale *= SQRT_HALF;
    for (int k = 0; k < length / 2; ++k)
      for (int j = 0; j < length / 2; ++j)
        *out++ = static_cast<T>(scale * dct4_entry(length / 2, k, j));
  }
  for (int parity = 0; parity < 2; ++parity)
    for (const double entry : half_matrix(length, parity)) *out++ = static_cast<T>(scale * entry);
  return made;
}

template <class T> void CosineTables<T>::add_halves(CosineAxis<T>& axis) {
  for (int parity = 0; parity < 2; ++parity) {
    const int size = (axis.length + 1 - parity) / 2;
    const std::vector<double> matrix = half_matrix(axis.length, parity);
    axis.halves[parity] = panels(size, matrix);
    axis.transposed[parity] = panels(size, transposed(size, matrix));
  }
}

template <class T> const FourierPrime<T>* CosineTables<T>::prime(int size) {
  FourierPrime<T> made{size, nullptr, nullptr, nullptr, nullptr};
  if (convolution_length(size)) {
    add_convolution(made);
  } else {
    std::vector<double> cosines, sines;
    for (int k = 1; k <= size / 2; ++k)
      for (int j = 1; j <= size / 2; ++j) {
        const Root entry = root(Index(j) * k, size);
        cosines.push_back(entry.cosine);
        sines.push_back(entry.sine);
      }
    made.cosines = panels(size / 2, cosines);
    made.sines = panels(size / 2, sines);
  }
  return &primes_.emplace_back(made);
}

template <class T> void CosineTables<T>::add_convolution(FourierPrime<T>& prime) {
  const int p = prime.size, length = convolution_length(p), g = generator(p);
  Fourier<T>& plan = fourier(length);
  // Powers of the generator and of its inverse; padding has its own position p.
  std::vector<std::int32_t> powers(length, p), inverse(length, p);
  long long power = 1;
  for (int t = 0; t < p - 1; ++t, power = power * g % p) {
    powers[t] = static_cast<std::int32_t>(power);
    inverse[t ? p - 1 - t : 0] = static_cast<std::int32_t>(power);
  }
  plan.gathered = rows(plan, powers);
  plan.scattered = rows(plan, inverse);
  std::vector<double> kernel(length, 0.0);
  for (int t = 0; t < p - 1; ++t) {
    const Root entry = root(inverse[t], p);
    kernel[t] = entry.cosine + entry.sine;
    if (t) kernel[length - (p - 1) + t] = kernel[t];  // the same entry if nothing is padded
  }
  std::vector<Complex> roots;
  for (int t = 0; t < length; ++t) roots.emplace_back(root(t, length).cosine, root(t, length).sine);
  const std::vector<Complex> transform = spectrum(kernel, roots, length, 0, 1);
  T* out = allocate(length);
  for (int k = 0; 2 * k <= length; ++k) {
    const double weight = (k == 0 || 2 * k == length ? 1.0 : 2.0) / length;
    if (k && 2 * k < length) out[length - k] = static_cast<T>(weight * transform[k].imag());
    out[k] = static_cast<T>(weight * transform[k].real());
  }
  prime.convolution = &plan;
  prime.kernel = out;
}

template <class T> FourierPass<T> CosineTables<T>::pass(int radix, int size) {
  FourierPass<T> made{radix, size, nullptr, nullptr, nullptr, nullptr};
  if (is_unrolled(radix)) {
    T* roots = allocate(2 * radix);
    for (int t = 0; t < radix; ++t) {
      roots[t] = static_cast<T>(root(t, radix).cosine);
      roots[radix + t] = static_cast<T>(root(t, radix).sine);
    }
    made.roots = roots;
  } else if (radix > 1) {
    made.prime = prime(radix);
  }
  T* twiddles = allocate((radix - 1) * std::size_t(size));
  made.twiddles = twiddles;
  for (int k = 1; 2 * k < size; ++k)
    for (int j = 1; j < radix; ++j) {
      const Root entry = root(Index(j) * k, Index(radix) * size);
      *twiddles++ = static_cast<T>(entry.cosine);
      *twiddles++ = static_cast<T>(-entry.sine);
    }
  if (size % 2 == 0) {
    T* middle = allocate(radix * std::size_t(radix));
    made.middle = middle;
    for (int row = 0; row < radix; ++row)
      for (int j = 0; j < radix; ++j) {
        const bool real = 2 * row < radix;
        const Root entry =
            root(Index(j) * (2 * (real ? row : radix - 1 - row) + 1), 2 * Index(radix));
        *middle++ = static_cast<T>(real ? entry.cosine : entry.sine);
      }
  }
  return made;
}

template <class T> Fourier<T>& CosineTables<T>::fourier(int length) {
  const FourierShape shape = fourier_shape(length);
  std::vector<FourierPass<T>> later;
  int size = shape.first;
  for (const int radix : shape.radices) {
    later.push_back(pass(radix, size));
    size *= radix;
  }
  const auto& passes = passes_.emplace_back(later);
  return plans_.emplace_back(Fourier<T>{length, pass(shape.first, 1),
                                        static_cast<int>(passes.size()), passes.data(), nullptr,
                                        nullptr});
}

// `order`, permuted to the order in which the first pass reads its inputs.
template <class T>
const std::int32_t* CosineTables<T>::rows(const Fourier<T>& plan,
                                          const std::vector<std::int32_t>& order) {
  auto& made = rows_.emplace_back();
  const FourierShape shape = fourier_shape(plan.length);
  add_order(shape, static_cast<int>(shape.radices.size()), 0, 1, made);
  for (std::int32_t& row : made) row = order[row];
  return made.data();
}

template <class T> void CosineTables<T>::add_fourier(CosineAxis<T>& axis) {
  const int length = axis.length;
  Fourier<T>& plan = fourier(length);
  // Even entries ascending, then odd entries descending.
  std::vector<std::int32_t> order(length);
  for (int i = 0; i < length; ++i) order[i % 2 ? length - 1 - i / 2 : i / 2] = i;
  plan.gathered = plan.scattered = rows(plan, order);
  axis.fourier = &plan;
  T* rotations = allocate(length);
  axis.rotations = rotations;
  for (int k = 1; 2 * k < length; ++k) {
    const Root entry = root(k, 4 * Index(length));
    *rotations++ = static_cast<T>(entry.cosine);
    *rotations++ = static_cast<T>(-entry.sine);
  }
}

template <class T> CosineAxis<T> CosineTables<T>::axis(int length, Index stride) {
  CosineAxis<T> made{};
  made.length = length;
  made.stride = stride;
  made.scale = static_cast<T>(std::sqrt(2.0 / length));
  if (is_codelet(length))
    made.codelet = codelet(length);
  else if (halves_cost(length) < fourier_cost(length) + 3.0 * length)
    add_halves(made);
  else
    add_fourier(made);
  return made;
}

double cosine_operations(int length) {
  if (is_codelet(length)) return length * 2.5 * std::log2(length + 1.0);
  return std::min(halves_cost(length), fourier_cost(length) + 3.0 * length);
}

template class CosineTables<float>;
template class CosineTables<double>;

}  // namespace fost
