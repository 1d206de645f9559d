// Signals of sparse codes, by the stages of a transform backwards or as sums of atoms.
//
// Codes may come from anywhere, so that no place and no index is followed before it was looked
// at. Their values need no look of their own: one that is not finite leaves none of its signal's
// entries finite, and those are looked at.
#pragma once

#include "kernels/transforms/stages.hpp"
#include "kernels/simd/tile.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// The entries of one sparse row.
template <class T> struct Entries {
  const T* values;
  const std::int32_t* indices;
  Index count;
};

// False where the row lies outside of the arrays, or an index outside of the atoms.
template <class T, class I>
FOST_INLINE bool find_entries(const SparseRows<T, I>& codes, Index row, Entries<T>& found) {
  const Index begin = static_cast<Index>(codes.indptr[row]);
  const Index end = static_cast<Index>(codes.indptr[row + 1]);
  if (begin < 0 || begin > end || end > codes.room) return false;
  found = {codes.values + begin, codes.indices + begin, end - begin};
  const std::uint32_t n_atoms = static_cast<std::uint32_t>(codes.n_atoms);
  if (found.count == 1) return static_cast<std::uint32_t>(found.indices[0]) < n_atoms;
  bool inside = true;
  for (Index k = 0; k < found.count; ++k)
    inside &= static_cast<std::uint32_t>(found.indices[k]) < n_atoms;
  return inside;
}

// NaN where any of COUNT vectors is not finite, else zero. They are added up in pairs, so that no
// sum waits for more than a few others.
template <class T, int COUNT> FOST_INLINE Vec<T> zero_unless_wrong(const Vec<T>* x) {
  if constexpr (COUNT == 1)
    return x[0] * T(0);
  else
    return zero_unless_wrong<T, COUNT / 2>(x) + zero_unless_wrong<T, COUNT - COUNT / 2>(x + COUNT / 2);
}

// COUNT vectors of out = the sum of atoms, which are n apart, times values. The last of them lies
// at `last`, where it may overlap the one before.
template <class T, int COUNT>
FOST_INLINE void sum_vectors(const T* atoms, Index n, const Entries<T>& entries, Index last, T* out,
                             Vec<T>& zeros) {
  Vec<T> sums[COUNT] = {};
  for (Index k = 0; k < entries.count; ++k) {
    const T* atom = atoms + entries.indices[k] * n;
    Vec<T> value = entries.values[k] - Vec<T>{};
    hold(value);
#pragma GCC unroll 8
    for (int v = 0; v < COUNT - 1; ++v) sums[v] += value * load(atom + v * LANES<T>);
    sums[COUNT - 1] += value * load(atom + last);
  }
#pragma GCC unroll 8
  for (int v = 0; v < COUNT - 1; ++v) store(out + v * LANES<T>, sums[v]);
  store(out + last, sums[COUNT - 1]);
  zeros += zero_unless_wrong<T, COUNT>(sums);
}

// Signals of less than one vector.
template <class T>
FOST_INLINE void sum_short(const T* atoms, Index n, const Entries<T>& entries, T* out,
                           Vec<T>& zeros) {
  for (Index i = 0; i < n; ++i) {
    T sum = 0;
    for (Index k = 0; k < entries.count; ++k)
      sum += entries.values[k] * atoms[entries.indices[k] * n + i];
    out[i] = sum;
    zeros[0] += sum * T(0);
  }
}

// A row of eight vectors several times and then of COUNT, the last of which may overlap.
template <class T, int COUNT>
FOST_INLINE void sum_row(const T* atoms, Index n, const Entries<T>& entries, T* out, Vec<T>& zeros) {
  constexpr Index L = LANES<T>;
  Index i = 0;
  for (; i + 8 * L < n; i += 8 * L)
    sum_vectors<T, 8>(atoms + i, n, entries, 7 * L, out + i, zeros);
  sum_vectors<T, COUNT>(atoms + i, n, entries, n - i - L, out + i, zeros);
}

// One atom times a value, of at least one vector. Stores that cross lines of the cache take longer
// than such loads, so that all stores but the first and the last are on lines.
template <class T>
FOST_INLINE void scale_row(const T* atom, Index n, T value, T* out, Vec<T>& zeros) {
  constexpr Index L = LANES<T>;
  Vec<T> wrong[4] = {};
  const auto scale = [&](Index at, int chain) {
    const Vec<T> scaled = Vec<T>{} + value * load(atom + at);
    store(out + at, scaled);
    wrong[chain] += scaled * T(0);
  };
  scale(0, 0);
  const Index beyond = static_cast<Index>(reinterpret_cast<std::uintptr_t>(out) % 64 / sizeof(T));
  Index i = beyond % L ? L - beyond % L : L;
  for (; i + 4 * L < n; i += 4 * L)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) scale(i + v * L, v);
  for (; i + L < n; i += L) scale(i, 0);
  scale(n - L, 1);
  zeros += zero_unless_wrong<T, 4>(wrong);
}

// Such rows, or, where COUNT is 0, rows of less than one vector.
template <class T, class I, int COUNT>
Decoded sum_rows(const T* atoms, const SparseRows<T, I>& codes, const View<T>& x, Index first,
                 Index last) {
  const Index n = x.columns;
  Vec<T> zeros = {};
  for (Index row = first; row < last; ++row) {
    Entries<T> entries;
    if (!find_entries(codes, row, entries)) return Decoded::damaged;
    T* out = x.data + row * x.row_stride;
    if constexpr (COUNT == 0)
      sum_short(atoms, n, entries, out, zeros);
    else if (entries.count == 1)
      scale_row(atoms + entries.indices[0] * n, n, entries.values[0], out, zeros);
    else
      sum_row<T, COUNT>(atoms, n, entries, out, zeros);
  }
  return all_zero<T>(zeros) ? Decoded::sound : Decoded::not_finite;
}

template <class T, class I>
Decoded sum_atoms(const T* atoms, const SparseRows<T, I>& codes, const View<T>& x, Index first,
                  Index last) {
  constexpr Index L = LANES<T>;
  const Index n = x.columns;
  switch (n < L ? 0 : ((n - 1) % (8 * L) + L) / L) {
    case 0: return sum_rows<T, I, 0>(atoms, codes, x, first, last);
    case 1: return sum_rows<T, I, 1>(atoms, codes, x, first, last);
    case 2: return sum_rows<T, I, 2>(atoms, codes, x, first, last);
    case 3: return sum_rows<T, I, 3>(atoms, codes, x, first, last);
    case 4: return sum_rows<T, I, 4>(atoms, codes, x, first, last);
    case 5: return sum_rows<T, I, 5>(atoms, codes, x, first, last);
    case 6: return sum_rows<T, I, 6>(atoms, codes, x, first, last);
    case 7: return sum_rows<T, I, 7>(atoms, codes, x, first, last);
    case 8: return sum_rows<T, I, 8>(atoms, codes, x, first, last);
  }
  impossible();
}

// tile[i * width + l] = entry i of sparse row first + l, and 0 elsewhere. False where codes are
// damaged.
template <class T, class I>
bool load_codes(const SparseRows<T, I>& codes, Index first, int rows, T* tile, int width) {
  const Index size = static_cast<Index>(codes.n_atoms) * width;
  for (Index i = 0; i < size; i += LANES<T>) store(tile + i, Vec<T>{});
  for (int l = 0; l < rows; ++l) {
    Entries<T> entries;
    if (!find_entries(codes, first + l, entries)) return false;
    for (Index k = 0; k < entries.count; ++k)
      tile[entries.indices[k] * static_cast<Index>(width) + l] += entries.values[k];
  }
  return true;
}

template <class T, class I>
Decoded decode(const Program<T>& program, const SparseRows<T, I>& codes, const View<T>& x,
               Index first, Index last, const Workspace<T>& work) {
  bool finite = true;
  for (Index row = first; row < last; row += work.width) {
    const int rows = rows_at(row, last, work.width);
    if (!load_codes(codes, row, rows, work.tile, work.width)) return Decoded::damaged;
    Prefetch none(nullptr, 0);
    const T* tile = run<T, true>(program, work.tile, work, none);
    finite &= all_finite(tile, static_cast<Index>(program.n) * work.width, none);
    store_tile<T>(tile, work.width, x, row, rows);
  }
  return finite ? Decoded::sound : Decoded::not_finite;
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
