// Cosine transforms of signals so short that loading a tile would cost more than the transform:
// LANES signals at a time go from memory to memory through registers.
#pragma once

#include "kernels/simd/interleave.hpp"
#include "kernels/transforms/dct.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// First entry of the k-th vector of a row; the last vector may overlap the one before it.
template <class T, int N> constexpr int small_block(int k) {
  return (k + 1) * LANES<T> <= N || N < LANES<T> ? k * LANES<T> : N - LANES<T>;
}
template <class T, int N> constexpr int SMALL_BLOCKS = (N + LANES<T> - 1) / LANES<T>;

// x[i] = entry i of LANES rows, `stride` apart. If rows are shorter than a vector, each load reads
// on into the next rows.
template <class T, int N> FOST_INLINE void load_columns(const T* rows, Index stride, Vec<T>* x) {
  constexpr int L = LANES<T>;
#pragma GCC unroll 16
  for (int k = 0; k < SMALL_BLOCKS<T, N>; ++k) {
    const int at = small_block<T, N>(k);
    Vec<T> block[L];
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) block[l] = load(rows + l * stride + at);
    transpose<T>(block);
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l)
      if (at + l < N) x[at + l] = block[l];
  }
}

// The inverse, row after row: entries stored beyond the end of a row are overwritten by the next
// row.
template <class T, int N> FOST_INLINE void store_columns(const Vec<T>* x, T* rows, Index stride) {
  constexpr int L = LANES<T>;
#pragma GCC unroll 16
  for (int k = 0; k < SMALL_BLOCKS<T, N>; ++k) {
    const int at = small_block<T, N>(k);
    Vec<T> block[L];
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) block[l] = at + l < N ? x[at + l] : Vec<T>{};
    transpose<T>(block);
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) store(rows + l * stride + at, block[l]);
  }
}

// Whether interleaving takes fewer operations than whole transposes: not for long rows in short
// vectors.
template <class T, int N> constexpr bool INTERLEAVED = N < LANES<T> || Interleaving<T, N>::M <= 7;

// Returns false if a result is not finite.
template <class T, int N, bool INVERSE>
bool transform_small(const T* tables, const View<const T>& y, const View<T>& x, Index first,
                     Index last) {
  constexpr int L = LANES<T>, ROOM = N < L && !INTERLEAVED<T, N> ? L : N;
  constexpr Index BEYOND = ROOM - N;  // entries of a row's vectors beyond its end
  T room[L * ROOM];
  Vec<T> zeros[2] = {};
  for (Index row = first; row < last; row += L) {
    const Index here = last - row < L ? last - row : L;
    const T* from = y.data + row * y.row_stride;
    T* to = x.data + row * N;
    Index from_stride = y.row_stride, to_stride = N;
    // Nothing is read beyond the last signal, and nothing is written beyond the last one of this
    // range.
    if (here < L || (y.rows - row - L) * y.row_stride < BEYOND ||
        (INTERLEAVED<T, N> && y.row_stride != N)) {
      for (Index l = 0; l < L; ++l)
        for (Index i = 0; i < N; ++i)
          room[l * ROOM + i] = l < here ? from[l * y.row_stride + i] : T(0);
      for (Index i = N; i < ROOM; ++i)
        for (Index l = 0; l < L; ++l) room[l * ROOM + i] = T(0);
      from = room;
      from_stride = ROOM;
    }
    if (here < L || (last - row - L) * N < BEYOND) {
      to = room;
      to_stride = ROOM;
    }
    Vec<T> v[N];
    if constexpr (INTERLEAVED<T, N>)
      load_interleaved<T, N>(from, v);
    else
      load_columns<T, N>(from, from_stride, v);
    if constexpr (INVERSE)
      codelet_inverse<T, N>(tables, v);
    else
      codelet_forward<T, N>(tables, v);
#pragma GCC unroll 22
    for (int i = 0; i < N; ++i) zeros[i % 2] += v[i] * T(0);
    if constexpr (INTERLEAVED<T, N>)
      store_interleaved<T, N>(v, to);
    else
      store_columns<T, N>(v, to, to_stride);
    if (to == room)
      for (Index l = 0; l < here; ++l)
        for (Index i = 0; i < N; ++i) x.data[(row + l) * N + i] = room[l * ROOM + i];
  }
  return all_zero<T>(zeros[0] + zeros[1]);
}

// Whether the program is one small DCT, and the arrays have suitable strides.
template <class T>
bool is_small_dct(const Program<T>& program, const View<const T>& y, const View<T>& x) {
  return program.n_stages == 1 && program.stages[0].kind == StageKind::cosine &&
         program.stages[0].count == 1 && program.stages[0].axes[0].codelet && program.n > 1 &&
         y.source_type == SourceType::same && y.column_stride == 1 && y.row_stride >= program.n &&
         x.column_stride == 1 && x.row_stride == program.n;
}

template <class T, bool INVERSE>
bool apply_small_dct(const Stage<T>& stage, const View<const T>& y, const View<T>& x, Index first,
                     Index last) {
  switch (stage.axes[0].length) {
#define FOST_SMALL(N) \
  case N: return transform_small<T, N, INVERSE>(stage.axes[0].codelet, y, x, first, last);
    // clang-format off
    FOST_SMALL(2) FOST_SMALL(3) FOST_SMALL(4) FOST_SMALL(5) FOST_SMALL(6) FOST_SMALL(7)
    FOST_SMALL(8) FOST_SMALL(9) FOST_SMALL(10) FOST_SMALL(11) FOST_SMALL(12) FOST_SMALL(13)
    FOST_SMALL(14) FOST_SMALL(15) FOST_SMALL(16) FOST_SMALL(17) FOST_SMALL(18) FOST_SMALL(19)
    FOST_SMALL(20) FOST_SMALL(22)
    // clang-format on
#undef FOST_SMALL
  }
  unreachable();
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
