// Common parts of OMP on complete and on incomplete signals: rounding tolerances, the largest
// correlation, and the output of codes.
#pragma once

#include "kernels/pursuit/gram.hpp"
#include "kernels/selection/select.hpp"
#include "kernels/simd/shuffle.hpp"
#include "types/pursuit.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// An atom counts as linearly dependent if less than this share of its squared norm lies outside the
// span of the chosen atoms: inner products have errors of that order.
template <class T> constexpr double DEPENDENCE_TOLERANCE =
    64 * static_cast<double>(sizeof(T) == 4 ? 1.2e-7 : 2.3e-16);
// A correlation counts as rounding if it is below this value times the norms of both vectors.
template <class T> constexpr double ROUNDING_TOLERANCE =
    4 * static_cast<double>(sizeof(T) == 4 ? 1.2e-7 : 2.3e-16);

template <class T> double squared_norm(const T* a, int n) {
  constexpr int L = LANES<double>, CHAINS = 4;  // independent sums, to hide latency
  Vec<double> sums[CHAINS] = {};
  int i = 0;
  for (; i + CHAINS * L <= n; i += CHAINS * L)
#pragma GCC unroll 4
    for (int q = 0; q < CHAINS; ++q) {
      const Vec<double> v = load_double(a + i + q * L);
      sums[q] += v * v;
    }
  double sum = sum_of_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; i < n; ++i) sum += static_cast<double>(a[i]) * a[i];
  return sum;
}

// Whether the squared norm of a row is reliable: neither products of correlations and coefficients
// in T nor squares of correlations in float64 may overflow or underflow, even for atoms of extreme
// norms. The caller rescales other rows.
template <class T> bool in_numeric_range(double energy, const T* row, int n) {
  constexpr double MOST = sizeof(T) == 4 ? 0x1p100 : 0x1p440;
  if (energy == 0) {
    for (int i = 0; i < n; ++i)
      if (row[i] != 0) return false;
    return true;
  }
  return energy >= 1 / MOST && energy <= MOST;
}

template <class T> FOST_INLINE Vec<T> larger(Vec<T> a, Vec<T> b) { return a > b ? a : b; }

// |alpha_k|, times scales_k if given.
template <class T> FOST_INLINE Vec<T> scaled_magnitude(const T* alpha, const T* scales, int k) {
  return absolute(scales ? load(alpha + k) * load(scales + k) : load(alpha + k));
}

// The largest scaled correlation per lane, and the block of PITCH atoms that contains it. It is
// updated without branches while correlations are computed.
template <class T> struct BlockMaxima {
  static constexpr int VECTORS = PITCH / LANES<T>;
  Vec<T> magnitudes = {};
  Mask<T> blocks = {};

  // Updates with the scaled correlations of the atoms k to k + PITCH - 1.
  FOST_INLINE void add(int k, const Vec<T>* block) {
    Vec<T> top = block[0];
#pragma GCC unroll 16
    for (int v = 1; v < VECTORS; ++v) top = larger<T>(top, block[v]);
    const Mask<T> better = Mask<T>(top > magnitudes);
    magnitudes = better ? top : magnitudes;
    blocks = better ? Mask<T>{} + k : blocks;
  }

  // The atom of the overall maximum, the first one among equals; 0 if all are zero or NaN.
  int first(const T* alpha, const T* scales) const {
    const Vec<T> all = largest_lane<T>(magnitudes) - Vec<T>{};
    int block = INT32_MAX;
    for (unsigned lanes = at_least(magnitudes, all); lanes; lanes &= lanes - 1) {
      const int other = static_cast<int>(blocks[__builtin_ctz(lanes)]);
      block = other < block ? other : block;
    }
    unsigned found = 0;
#pragma GCC unroll 16
    for (int v = 0; v < VECTORS; ++v)
      found |= at_least(scaled_magnitude(alpha, scales, block + v * LANES<T>), all) << v * LANES<T>;
    return found ? block + __builtin_ctz(found) : 0;
  }
};

template <class T> BlockMaxima<T> find_maxima(const T* alpha, const T* scales, int pitch) {
  BlockMaxima<T> maxima;
  for (int k = 0; k < pitch; k += PITCH) {
    Vec<T> block[BlockMaxima<T>::VECTORS];
#pragma GCC unroll 16
    for (int v = 0; v < BlockMaxima<T>::VECTORS; ++v)
      block[v] = scaled_magnitude(alpha, scales, k + v * LANES<T>);
    maxima.add(k, block);
  }
  return maxima;
}

template <class T> int largest_correlation(const T* alpha, const T* scales, int pitch) {
  return find_maxima(alpha, scales, pitch).first(alpha, scales);
}

// Writes the coefficients x, `stride` apart, of the chosen atoms in ascending order of index, in
// place. Codes of up to MAX_RANKED entries are sorted by counting the smaller indices of each
// entry, without data-dependent branches.
constexpr int MAX_RANKED = 32;
template <class T>
void write_code(int count, const double* x, int stride, const Codes<T>& codes, Index row) {
  T* values = codes.values + row * codes.s;
  std::int32_t* indices = codes.indices + row * codes.s;
  int written = 0;
  if (count <= MAX_RANKED) {
    constexpr int STEP = 4;
    T found[MAX_RANKED];
    std::int32_t keys[MAX_RANKED];  // zeros come last
    int end = 0;
    for (; end < count; ++end) {
      found[end] = static_cast<T>(x[end * stride]);
      keys[end] = found[end] == 0 ? INT32_MAX : indices[end];
      written += found[end] != 0;
    }
    for (; end % STEP; ++end) keys[end] = INT32_MAX;
    for (int i = 0; i < count; ++i) {
      int before = 0;
      for (int j = 0; j < end; j += STEP)
#pragma GCC unroll 4
        for (int l = 0; l < STEP; ++l) before += keys[j + l] < keys[i];
      values[before] = found[i];
      indices[before] = keys[i];
    }
    codes.counts[row] = written;
    return;
  }
  for (int i = 0; i < count; ++i) {
    const T value = static_cast<T>(x[i * stride]);
    const std::int32_t index = indices[i];
    if (value == 0) continue;
    int at = written++;
    for (; at > 0 && indices[at - 1] > index; --at) {
      indices[at] = indices[at - 1];
      values[at] = values[at - 1];
    }
    indices[at] = index;
    values[at] = value;
  }
  codes.counts[row] = written;
}

// correlations (count x width, column-major with `pitch`) = D rows^T.
template <class T>
void correlate(const Atoms<T>& atoms, const T* matrix, const T* rows, Index stride, int count,
               T* out, Gemm<T> gemm) {
  if (!gemm) {  // BLAS does not pay off for few signals
    for (Index r = 0; r < count; ++r)
      multiply_rows<T>(matrix, atoms.n, 0, atoms.count, rows + r * stride, out + r * atoms.pitch,
                       r % 2 == 0);
    return;
  }
  char yes = 'T', no = 'N';
  int k = atoms.count, n = atoms.n, pitch = atoms.pitch, ld = static_cast<int>(stride);
  T one = 1, zero = 0;
  gemm(&yes, &no, &k, &count, &n, &one, const_cast<T*>(matrix), &n, const_cast<T*>(rows), &ld,
       &zero, out, &pitch);
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
