// Copies between signals in memory (one signal per row, any strides) and tiles (one signal per
// lane).
#pragma once

#include "kernels/simd/shuffle.hpp"
#include "kernels/simd/streaming_stores.hpp"
#include "kernels/simd/type_conversion.hpp"
#include "types/coding.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// Number of signals in the tile that begins at `row`.
inline int rows_at(Index row, Index last, int width) {
  return static_cast<int>(last - row < width ? last - row : width);
}

// Cache lines prefetched per block of LANES x LANES entries: half the bytes of the block, since
// tiles are both loaded and stored.
template <class T> constexpr int BLOCK_STEPS =
    LANES<T> * LANES<T> * static_cast<int>(sizeof(T)) / 2 / Prefetch::LINE > 1
        ? LANES<T> * LANES<T> * static_cast<int>(sizeof(T)) / 2 / Prefetch::LINE
        : 1;
template <class T> FOST_INLINE void step_block(Prefetch& ahead) {
  if (ahead.any())
    for (int k = 0; k < BLOCK_STEPS<T>; ++k) ahead.step();
}

// LANES signals shorter than a vector: each load reads on into the next signals.
template <class T> void load_short(const T* signals, Index stride, int n, T* out, Index width) {
  constexpr int L = LANES<T>;
  Vec<T> block[L];
#pragma GCC unroll 16
  for (int l = 0; l < L; ++l) block[l] = load(signals + l * stride);
  transpose<T>(block);
#pragma GCC unroll 16
  for (int i = 0; i < L - 1; ++i)
    if (i < n) store(out + i * width, block[i]);
}

// out[i * width + l] = y[first + l, i] for l < rows, and 0 for rows <= l < LANES. STRIDE is the
// width if it is known at compile time, which makes addresses constants, else 0; likewise below.
template <class T, int STRIDE>
void load_lanes(const View<const T>& y, Index first, int rows, T* out, Index any_width,
                Prefetch& ahead) {
  constexpr int L = LANES<T>;
  const Index width = STRIDE ? STRIDE : any_width;
  const int n = static_cast<int>(y.columns), here = rows < L ? rows : L;
  const T* signals = y.data + first * y.row_stride;
  int i = 0;
  if (n < L && here == L && y.column_stride == 1 && y.row_stride >= n &&
      (first + L - 1) * y.row_stride + L <= (y.rows - 1) * y.row_stride + n) {
    load_short(signals, y.row_stride, n, out, width);
    i = n;
  } else if (here == L && y.column_stride == 1) {
    // The last block may overlap the one before it.
    for (; n >= L && i < n; i += L) {
      const int at = i + L <= n ? i : n - L;
      step_block<T>(ahead);
      Vec<T> block[L];
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) block[l] = load(signals + l * y.row_stride + at);
      transpose<T>(block);
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) store(out + (at + l) * width, block[l]);
    }
  } else if (here == L && y.row_stride == 1) {
    for (; i < n; ++i) store(out + i * width, load(signals + i * y.column_stride));
  }
  for (; i < n; ++i)
    for (int l = 0; l < L; ++l)
      out[i * width + l] = l < here ? signals[l * y.row_stride + i * y.column_stride] : T(0);
}

// tile[i * width + l] = y[first + l, i] for l < rows, and 0 for rows <= l < width.
template <class T>
void load_tile(const View<const T>& y, Index first, int rows, T* tile, int width, Prefetch& ahead) {
  for (int lane = 0; lane < width; lane += LANES<T>) {
    if (y.source_type != SourceType::same)
      load_source_type(y, first + lane, rows - lane, tile + lane, width);
    else if (width == WIDTH<T>)
      load_lanes<T, WIDTH<T>>(y, first + lane, rows - lane, tile + lane, width, ahead);
    else
      load_lanes<T, 0>(y, first + lane, rows - lane, tile + lane, width, ahead);
  }
}
template <class T>
void load_tile(const View<const T>& y, Index first, int rows, T* tile, int width) {
  Prefetch none(nullptr, 0);
  load_tile(y, first, rows, tile, width, none);
}

// Bytes per signal if all signals are contiguous in memory, else 0.
template <class T> Index signal_bytes(const View<const T>& y) {
  if (y.column_stride != 1 || y.row_stride != y.columns) return 0;
  return y.columns * source_bytes(y.source_type, sizeof(T));
}

// The prefetch of the tile after the one at `first`.
template <class T> Prefetch next_tile(const View<const T>& y, Index first, Index last, int width) {
  const Index rows = last - first - width < width ? last - first - width : width;
  const Index signal = signal_bytes(y);
  if (rows <= 0 || !signal) return {y.data, 0};
  return {reinterpret_cast<const char*>(y.data) + (first + width) * signal, rows * signal};
}

// x[first + l, i] = tile[i * width + l] for l < rows.
template <class T, int STRIDE>
void store_lanes(const T* tile, int any_width, const View<T>& x, Index first, int rows,
                 Prefetch& ahead) {
  constexpr int L = LANES<T>;
  const Index width = STRIDE ? STRIDE : any_width;
  const int n = static_cast<int>(x.columns);
  for (int lane = 0; lane < rows; lane += L) {
    T* signals = x.data + (first + lane) * x.row_stride;
    const T* in = tile + lane;
    const int here = rows - lane < L ? rows - lane : L;
    int i = 0;
    if (here == L && x.column_stride == 1) {
      for (; n >= L && i < n; i += L) {
        const int at = i + L <= n ? i : n - L;
        step_block<T>(ahead);
        Vec<T> block[L];
#pragma GCC unroll 16
        for (int l = 0; l < L; ++l) block[l] = load(in + (at + l) * width);
        transpose<T>(block);
#pragma GCC unroll 16
        for (int l = 0; l < L; ++l) store(signals + l * x.row_stride + at, block[l]);
      }
    } else if (here == L && x.row_stride == 1) {
      for (; i < n; ++i) store(signals + i * x.column_stride, load(in + i * width));
    }
    for (; i < n; ++i)
      for (int l = 0; l < here; ++l)
        signals[l * x.row_stride + i * x.column_stride] = in[i * width + l];
  }
}

template <class T>
void store_tile(const T* tile, int width, const View<T>& x, Index first, int rows,
                Prefetch& ahead) {
  if (width == WIDTH<T>)
    store_lanes<T, WIDTH<T>>(tile, width, x, first, rows, ahead);
  else
    store_lanes<T, 0>(tile, width, x, first, rows, ahead);
}
template <class T>
void store_tile(const T* tile, int width, const View<T>& x, Index first, int rows) {
  Prefetch none(nullptr, 0);
  store_tile(tile, width, x, first, rows, none);
}

// store_tile by streaming stores, for contiguous rows. Returns false if an entry is NaN or
// infinite.
template <class T>
bool stream_tile(const T* tile, int width, const View<T>& x, Index first, int rows, T* staged,
                 Prefetch& ahead) {
  Vec<T> zeros = {};
  Prefetch local = ahead;
  const View<T> stage = {staged, WIDTH<T>, x.columns, x.columns, 1};
  for (int lane = 0; lane < rows; lane += WIDTH<T>) {
    const int here = rows - lane < WIDTH<T> ? rows - lane : WIDTH<T>;
    store_tile(tile + lane, width, stage, 0, here, local);
    zeros += stream(staged, here * x.columns, x.data + (first + lane) * x.columns, local);
  }
  ahead = local;
  return all_zero<T>(zeros);
}

template <class T> void copy_tile(const T* from, T* to, Index size) {
  for (Index i = 0; i < size; i += LANES<T>) store(to + i, load(from + i));
}

// Copies WIDTH lanes of n rows between tiles of different widths.
template <class T> void copy_lanes(const T* from, Index from_width, T* to, Index to_width, int n) {
  for (int i = 0; i < n; ++i, from += from_width, to += to_width)
#pragma GCC unroll 4
    for (int v = 0; v < WIDTH<T>; v += LANES<T>) store(to + v, load(from + v));
}

// False if any entry of the tile is NaN or infinite: 0 * x is NaN exactly for those.
template <class T> bool all_finite(const T* tile, Index size, Prefetch& ahead) {
  constexpr int CHAINS = 4;  // independent sums, to hide latency
  Vec<T> sums[CHAINS][UNROLL] = {};
  Prefetch local = ahead;
  for (Index i = 0; i < size; i += CHAINS * WIDTH<T>)
#pragma GCC unroll 4
    for (int q = 0; q < CHAINS; ++q) {
      const Index at = i + q * WIDTH<T> < size ? i + q * WIDTH<T> : i;
#pragma GCC unroll 4
      for (int v = 0; v < UNROLL; ++v) {
        sums[q][v] += load(tile + at + v * LANES<T>) * T(0);
        local.step();
      }
    }
  ahead = local;
  Vec<T> sum = {};
  for (int q = 0; q < CHAINS; ++q)
    for (int v = 0; v < UNROLL; ++v) sum += sums[q][v];
  return all_zero<T>(sum);
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
