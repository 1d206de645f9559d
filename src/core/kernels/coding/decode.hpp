// Signals from sparse codes: by the inverse stages of a transform, or as sums of atoms.
//
// Codes may come from untrusted files, so every row pointer and index is validated before use.
// Values need no separate check: a value that is not finite makes every entry of its signal not
// finite, and results are checked. NumPy twin: tests/reference.py, decode.
#pragma once

#include "kernels/simd/tile.hpp"
#include "kernels/transforms/stages.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// The entries of one sparse row.
template <class T> struct Entries {
  const T* values;
  const std::int32_t* indices;
  Index count;
};

// False if the row lies outside the arrays, or an index outside the atoms.
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

// NaN if any of COUNT vectors is not finite, else zero. Pairwise sums keep the dependency chains
// short.
template <class T, int COUNT> FOST_INLINE Vec<T> zero_if_finite(const Vec<T>* x) {
  if constexpr (COUNT == 1)
    return x[0] * T(0);
  else
    return zero_if_finite<T, COUNT / 2>(x) + zero_if_finite<T, COUNT - COUNT / 2>(x + COUNT / 2);
}

// COUNT vectors of out = sum of value times atom; atoms are n apart. The last vector begins at
// `last`, where it may overlap the one before it.
template <class T, int COUNT>
FOST_INLINE void sum_vectors(const T* atoms, Index n, const Entries<T>& entries, Index last, T* out,
                             Vec<T>& zeros) {
  Vec<T> sums[COUNT] = {};
  for (Index k = 0; k < entries.count; ++k) {
    const T* atom = atoms + entries.indices[k] * n;
    Vec<T> value = entries.values[k] - Vec<T>{};
    keep_in_register(value);
#pragma GCC unroll 8
    for (int v = 0; v < COUNT - 1; ++v) sums[v] += value * load(atom + v * LANES<T>);
    sums[COUNT - 1] += value * load(atom + last);
  }
#pragma GCC unroll 8
  for (int v = 0; v < COUNT - 1; ++v) store(out + v * LANES<T>, sums[v]);
  store(out + last, sums[COUNT - 1]);
  zeros += zero_if_finite<T, COUNT>(sums);
}

// Signals shorter than a vector.
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

// A row as several blocks of eight vectors, then COUNT vectors, the last of which may overlap.
template <class T, int COUNT>
FOST_INLINE void sum_row(const T* atoms, Index n, const Entries<T>& entries, T* out,
                         Vec<T>& zeros) {
  constexpr Index L = LANES<T>;
  Index i = 0;
  for (; i + 8 * L < n; i += 8 * L) sum_vectors<T, 8>(atoms + i, n, entries, 7 * L, out + i, zeros);
  sum_vectors<T, COUNT>(atoms + i, n, entries, n - i - L, out + i, zeros);
}

// One atom of at least one vector, times a value. Stores that cross cache lines cost more than
// loads that do, so all stores but the first and the last are aligned.
template <class T>
FOST_INLINE void scale_row(const T* atom, Index n, T value, T* out, Vec<T>& zeros) {
  constexpr Index L = LANES<T>;
  Vec<T> checks[4] = {};
  const auto scale = [&](Index at, int chain) {
    const Vec<T> scaled = Vec<T>{} + value * load(atom + at);
    store(out + at, scaled);
    checks[chain] += scaled * T(0);
  };
  scale(0, 0);
  const Index beyond = static_cast<Index>(reinterpret_cast<std::uintptr_t>(out) % 64 / sizeof(T));
  Index i = beyond % L ? L - beyond % L : L;
  for (; i + 4 * L < n; i += 4 * L)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) scale(i + v * L, v);
  for (; i + L < n; i += L) scale(i, 0);
  scale(n - L, 1);
  zeros += zero_if_finite<T, 4>(checks);
}

// All rows; COUNT = 0 stands for rows shorter than a vector.
template <class T, class I, int COUNT>
DecodeStatus sum_rows(const T* atoms, const SparseRows<T, I>& codes, const View<T>& x, Index first,
                      Index last) {
  const Index n = x.columns;
  Vec<T> zeros = {};
  for (Index row = first; row < last; ++row) {
    Entries<T> entries;
    if (!find_entries(codes, row, entries)) return DecodeStatus::invalid;
    T* out = x.data + row * x.row_stride;
    if constexpr (COUNT == 0)
      sum_short(atoms, n, entries, out, zeros);
    else if (entries.count == 1)
      scale_row(atoms + entries.indices[0] * n, n, entries.values[0], out, zeros);
    else
      sum_row<T, COUNT>(atoms, n, entries, out, zeros);
  }
  return all_zero<T>(zeros) ? DecodeStatus::ok : DecodeStatus::not_finite;
}

template <class T, class I>
DecodeStatus sum_atoms(const T* atoms, const SparseRows<T, I>& codes, const View<T>& x, Index first,
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
  unreachable();
}

// tile[i * width + l] = entry i of sparse row first + l, and 0 elsewhere. False if the codes are
// invalid.
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
DecodeStatus decode(const Program<T>& program, const SparseRows<T, I>& codes, const View<T>& x,
                    Index first, Index last, const Workspace<T>& work) {
  bool finite = true;
  for (Index row = first; row < last; row += work.width) {
    const int rows = rows_at(row, last, work.width);
    if (!load_codes(codes, row, rows, work.tile, work.width)) return DecodeStatus::invalid;
    Prefetch none(nullptr, 0);
    const T* tile = run<T, true>(program, work.tile, work, none);
    finite &= all_finite(tile, static_cast<Index>(program.n) * work.width, none);
    store_tile<T>(tile, work.width, x, row, rows);
  }
  return finite ? DecodeStatus::ok : DecodeStatus::not_finite;
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
