// Batched Cholesky factorisation: symmetric matrices of several signals at once, one signal per
// SIMD lane, with triangular solves and inverses. Entry (i, j) of all lanes is one vector; rows are
// `pitch` vectors apart.
//
// Lanes with a smaller matrix than others are padded with the identity. Sizes are multiples of
// BLOCK, so that all loops run over square blocks in registers.
#pragma once

#include "kernels/simd/vector.hpp"
#include "types/gaussian.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// One entry of the matrices or vectors of all lanes.
using Entry = Vec<double>;

// Rows and columns of a block: as many as fit in registers together with the factors.
#if defined(__AVX512F__)
constexpr int BLOCK = 4;
#else
constexpr int BLOCK = 3;
#endif
static_assert(BLOCK <= MAX_BLOCK && LANES<double> <= MAX_LANES);

inline int round_up_to_blocks(int n) { return (n + BLOCK - 1) / BLOCK * BLOCK; }

// Pivots are at least this share of their diagonal entry; smaller ones are rounding error.
constexpr double MIN_PIVOT = 1e-14;

// A block of vectors in registers.
struct EntryBlock {
  Entry at[BLOCK][BLOCK];

  FOST_INLINE void load_from(const Entry* a, Index pitch) {
#pragma GCC unroll 4
    for (int i = 0; i < BLOCK; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < BLOCK; ++j) at[i][j] = a[i * pitch + j];
  }
  FOST_INLINE void store_to(Entry* a, Index pitch) const {
#pragma GCC unroll 4
    for (int i = 0; i < BLOCK; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < BLOCK; ++j) a[i * pitch + j] = at[i][j];
  }
  // -= A B; entry (i, k) of A is a[i down + k right], entry (k, j) of B is b[j across + k below].
  FOST_INLINE void subtract(const Entry* a, Index down, Index right, const Entry* b, Index across,
                            Index below, int count) {
    for (int k = 0; k < count; ++k) {
      Entry factors[BLOCK];
#pragma GCC unroll 4
      for (int j = 0; j < BLOCK; ++j) factors[j] = b[j * across + k * below];
#pragma GCC unroll 4
      for (int i = 0; i < BLOCK; ++i) {
        const Entry own = a[i * down + k * right];
#pragma GCC unroll 4
        for (int j = 0; j < BLOCK; ++j) at[i][j] -= own * factors[j];
      }
    }
  }
};

// A product of positive numbers per lane, as its logarithm; exponents are summed separately.
class LogProduct {
 public:
  FOST_INLINE void times(Entry factor) {
    constexpr std::int64_t MANTISSA = (std::int64_t(1) << 52) - 1, ONE = std::int64_t(1023) << 52;
    const Mask<double> bits = reinterpret_cast<Mask<double>>(product_ * factor);
    exponents_ += (bits >> 52) - 1023;
    product_ = reinterpret_cast<Entry>((bits & MANTISSA) | ONE);
  }
  double logarithm(int lane) const {
    constexpr double LOG_TWO = 0.69314718055994530942;
    return __builtin_log(product_[lane]) + LOG_TWO * static_cast<double>(exponents_[lane]);
  }

 private:
  Entry product_ = Entry{} + 1.0;
  Mask<double> exponents_ = {};
};

// Gathers the lower triangle, with the diagonal, of a principal submatrix of a symmetric n x n
// matrix. Each lane has its own indices: entry (i, j) of a lane is the one at its places i and j.
// The places of the lanes are interleaved.
inline void gather_lanes(const double* from, int n, const std::int32_t* places, int count,
                         Entry* to, Index pitch) {
  constexpr int L = LANES<double>;
  for (int i = 0; i < count; ++i) {
    const double* lines[L];
    Entry* row = to + i * pitch;
#pragma GCC unroll 8
    for (int l = 0; l < L; ++l) lines[l] = from + static_cast<Index>(places[i * L + l]) * n;
    for (int j = 0; j <= i; ++j) {
      const std::int32_t* own = places + j * L;
      Entry found;
#pragma GCC unroll 8
      for (int l = 0; l < L; ++l) found[l] = lines[l][own[l]];
      row[j] = found;
    }
  }
}

// The diagonal block of a factor: R with R R^T = A, and the reciprocals of its diagonal.
FOST_INLINE void factorise_block(EntryBlock& block, const Entry* least, Entry* reciprocals,
                                 LogProduct& determinant) {
#pragma GCC unroll 4
  for (int j = 0; j < BLOCK; ++j) {
#pragma GCC unroll 4
    for (int k = 0; k < j; ++k)
#pragma GCC unroll 4
      for (int i = j; i < BLOCK; ++i) block.at[i][j] -= block.at[i][k] * block.at[j][k];
    const Entry pivot = maximum<double>(block.at[j][j], least[j]);
    determinant.times(pivot);
    const Entry root = square_root(pivot), reciprocal = 1.0 / root;
    reciprocals[j] = reciprocal;
    block.at[j][j] = root;
#pragma GCC unroll 4
    for (int i = j + 1; i < BLOCK; ++i) block.at[i][j] *= reciprocal;
  }
}

// Lower triangular R with R R^T = A, in place; `least` are the smallest admissible pivots. Nothing
// right of the diagonal blocks is read or written.
inline LogProduct factorise(Entry* a, Index pitch, int count, const Entry* least,
                            Entry* reciprocals) {
  LogProduct determinant;
  for (int i = 0; i < count; i += BLOCK) {
    Entry* rows = a + i * pitch;
    for (int j = 0; j < i; j += BLOCK) {
      const Entry* above = a + j * pitch;
      EntryBlock block;
      block.load_from(rows + j, pitch);
      block.subtract(rows, pitch, 1, above, pitch, 1, j);
#pragma GCC unroll 4
      for (int q = 0; q < BLOCK; ++q) {
#pragma GCC unroll 4
        for (int k = 0; k < q; ++k)
#pragma GCC unroll 4
          for (int p = 0; p < BLOCK; ++p)
            block.at[p][q] -= block.at[p][k] * above[q * pitch + j + k];
#pragma GCC unroll 4
        for (int p = 0; p < BLOCK; ++p) block.at[p][q] *= reciprocals[j + q];
      }
      block.store_to(rows + j, pitch);
    }
    EntryBlock block;
    block.load_from(rows + i, pitch);
    block.subtract(rows, pitch, 1, rows, pitch, 1, i);
    factorise_block(block, least + i, reciprocals + i, determinant);
    block.store_to(rows + i, pitch);
  }
  return determinant;
}

// x <- R^-1 x; returns the squared norms of the results.
inline Entry solve_forward(const Entry* factor, Index pitch, int count, const Entry* reciprocals,
                           Entry* x) {
  Entry energy = {};
  for (int i = 0; i < count; i += BLOCK) {
    const Entry* rows = factor + i * pitch;
    Entry sums[BLOCK];
#pragma GCC unroll 4
    for (int p = 0; p < BLOCK; ++p) sums[p] = x[i + p];
    for (int k = 0; k < i; ++k)
#pragma GCC unroll 4
      for (int p = 0; p < BLOCK; ++p) sums[p] -= rows[p * pitch + k] * x[k];
#pragma GCC unroll 4
    for (int p = 0; p < BLOCK; ++p) {
#pragma GCC unroll 4
      for (int q = 0; q < p; ++q) sums[p] -= rows[p * pitch + i + q] * sums[q];
      sums[p] *= reciprocals[i + p];
      energy += sums[p] * sums[p];
      x[i + p] = sums[p];
    }
  }
  return energy;
}

// x <- R^-T x
inline void solve_backward(const Entry* factor, Index pitch, int count, const Entry* reciprocals,
                           Entry* x) {
  for (int i = count - BLOCK; i >= 0; i -= BLOCK) {
    const Entry* rows = factor + i * pitch;
    Entry own[BLOCK];
#pragma GCC unroll 4
    for (int p = BLOCK - 1; p >= 0; --p) {
      own[p] = x[i + p];
#pragma GCC unroll 4
      for (int q = p + 1; q < BLOCK; ++q) own[p] -= rows[q * pitch + i + p] * own[q];
      own[p] *= reciprocals[i + p];
      x[i + p] = own[p];
    }
    for (int k = 0; k < i; ++k) {
      Entry sum = x[k];
#pragma GCC unroll 4
      for (int p = 0; p < BLOCK; ++p) sum -= rows[p * pitch + k] * own[p];
      x[k] = sum;
    }
  }
}

// Replaces the rows of B by those of R^-1 B. If B is the identity, only the diagonal blocks and the
// blocks below them are read and written.
inline void solve_rows(const Entry* factor, Index pitch, int count, const Entry* reciprocals,
                       bool identity, Entry* b, Index wide, int columns) {
  for (int i = 0; i < count; i += BLOCK) {
    const Entry* rows = factor + i * pitch;
    for (int j = 0; j < (identity ? i + BLOCK : columns); j += BLOCK) {
      const int first = identity ? j : 0;
      EntryBlock block;
      block.load_from(b + i * wide + j, wide);
      block.subtract(rows + first, pitch, 1, b + first * wide + j, 1, wide, i - first);
#pragma GCC unroll 4
      for (int p = 0; p < BLOCK; ++p) {
#pragma GCC unroll 4
        for (int k = 0; k < p; ++k)
#pragma GCC unroll 4
          for (int q = 0; q < BLOCK; ++q)
            block.at[p][q] -= rows[p * pitch + i + k] * block.at[k][q];
#pragma GCC unroll 4
        for (int q = 0; q < BLOCK; ++q) block.at[p][q] *= reciprocals[i + p];
      }
      block.store_to(b + i * wide + j, wide);
    }
  }
}

// y = A x with the same A (n x n) for all lanes.
inline void multiply_lanes(const double* a, int n, const Entry* x, Entry* y) {
  constexpr int ROWS = 8;
  int i = 0;
  for (; i + ROWS <= n; i += ROWS) {
    Entry sums[ROWS] = {};
    const double* rows = a + static_cast<Index>(i) * n;
    for (int j = 0; j < n; ++j) {
      const Entry xj = x[j];
#pragma GCC unroll 8
      for (int q = 0; q < ROWS; ++q) sums[q] += rows[q * static_cast<Index>(n) + j] * xj;
    }
#pragma GCC unroll 8
    for (int q = 0; q < ROWS; ++q) y[i + q] = sums[q];
  }
  for (; i < n; ++i) {
    Entry sum = {};
    for (int j = 0; j < n; ++j) sum += a[i * static_cast<Index>(n) + j] * x[j];
    y[i] = sum;
  }
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
