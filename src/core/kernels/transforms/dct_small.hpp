// Cosine transforms of signals so short that a tile costs more than its transform: as many of them
// as a vector has lanes go from memory to memory in registers.
#pragma once

#include "kernels/transforms/dct.hpp"
#include "kernels/simd/interleave.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// Vectors of rows at a time, of which the last ones may overlap those before.
template <class T, int N> constexpr int short_block(int k) {
  return (k + 1) * LANES<T> <= N || N < LANES<T> ? k * LANES<T> : N - LANES<T>;
}
template <class T, int N> constexpr int SHORT_BLOCKS = (N + LANES<T> - 1) / LANES<T>;

// x[i] = entry i of LANES rows, `stride` apart. Where rows are shorter than a vector, what is loaded
// of each reaches into the next ones.
template <class T, int N> FOST_INLINE void load_columns(const T* rows, Index stride, Vec<T>* x) {
  constexpr int L = LANES<T>;
#pragma GCC unroll 16
  for (int k = 0; k < SHORT_BLOCKS<T, N>; ++k) {
    const int at = short_block<T, N>(k);
    Vec<T> block[L];
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) block[l] = load(rows + l * stride + at);
    transpose<T>(block);
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l)
      if (at + l < N) x[at + l] = block[l];
  }
}

// The way back, row after row: what is stored of each is overwritten by the next ones.
template <class T, int N> FOST_INLINE void store_columns(const Vec<T>* x, T* rows, Index stride) {
  constexpr int L = LANES<T>;
#pragma GCC unroll 16
  for (int k = 0; k < SHORT_BLOCKS<T, N>; ++k) {
    const int at = short_block<T, N>(k);
    Vec<T> block[L];
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) block[l] = at + l < N ? x[at + l] : Vec<T>{};
    transpose<T>(block);
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) store(rows + l * stride + at, block[l]);
  }
}

// Whether weaving takes fewer steps than whole transposes: not for long rows in short vectors.
template <class T, int N> constexpr bool WOVEN = N < LANES<T> || Weave<T, N>::M <= 7;

// False where a result is not finite.
template <class T, int N, bool INVERSE>
bool transform_short(const T* tables, const View<const T>& y, const View<T>& x, Index first,
                     Index last) {
  constexpr int L = LANES<T>, ROOM = N < L && !WOVEN<T, N> ? L : N;
  constexpr Index BEYOND = ROOM - N;  // entries of a row's vectors behind it
  T room[L * ROOM];
  Vec<T> zeros[2] = {};
  for (Index row = first; row < last; row += L) {
    const Index here = last - row < L ? last - row : L;
    const T* from = y.data + row * y.row_stride;
    T* to = x.data + row * N;
    Index from_stride = y.row_stride, to_stride = N;
    // Neither is read behind the last signal of all nor written behind the last of this range.
    if (here < L || (y.rows - row - L) * y.row_stride < BEYOND ||
        (WOVEN<T, N> && y.row_stride != N)) {
      for (Index l = 0; l < L; ++l)
        for (Index i = 0; i < N; ++i) room[l * ROOM + i] = l < here ? from[l * y.row_stride + i] : T(0);
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
    if constexpr (WOVEN<T, N>)
      load_woven<T, N>(from, v);
    else
      load_columns<T, N>(from, from_stride, v);
    if constexpr (INVERSE)
      codelet_inverse<T, N>(tables, v);
    else
      codelet_forward<T, N>(tables, v);
#pragma GCC unroll 22
    for (int i = 0; i < N; ++i) zeros[i % 2] += v[i] * T(0);
    if constexpr (WOVEN<T, N>)
      store_woven<T, N>(v, to);
    else
      store_columns<T, N>(v, to, to_stride);
    if (to == room)
      for (Index l = 0; l < here; ++l)
        for (Index i = 0; i < N; ++i) x.data[(row + l) * N + i] = room[l * ROOM + i];
  }
  return all_zero<T>(zeros[0] + zeros[1]);
}

// Whether that is all a program does, and the arrays are in order.
template <class T>
bool is_short(const Program<T>& program, const View<const T>& y, const View<T>& x) {
  return program.n_stages == 1 && program.stages[0].kind == Kind::cosine &&
         program.stages[0].count == 1 && program.stages[0].axes[0].codelet && program.n > 1 &&
         y.stored == Stored::same && y.column_stride == 1 && y.row_stride >= program.n &&
         x.column_stride == 1 && x.row_stride == program.n;
}

template <class T, bool INVERSE>
bool apply_short(const Stage<T>& stage, const View<const T>& y, const View<T>& x, Index first,
                 Index last) {
  switch (stage.axes[0].length) {
#define FOST_SHORT(N) \
  case N: return transform_short<T, N, INVERSE>(stage.axes[0].codelet, y, x, first, last);
    FOST_SHORT(2) FOST_SHORT(3) FOST_SHORT(4) FOST_SHORT(5) FOST_SHORT(6) FOST_SHORT(7)
    FOST_SHORT(8) FOST_SHORT(9) FOST_SHORT(10) FOST_SHORT(11) FOST_SHORT(12) FOST_SHORT(13)
    FOST_SHORT(14) FOST_SHORT(15) FOST_SHORT(16) FOST_SHORT(17) FOST_SHORT(18) FOST_SHORT(19)
    FOST_SHORT(20) FOST_SHORT(22)
#undef FOST_SHORT
  }
  impossible();
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
