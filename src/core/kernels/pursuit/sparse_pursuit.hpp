// Orthogonal matching pursuit in a dictionary D = B A with a fast base B and sparse columns of A:
//
//     1. coefficients B^T y of a tile of signals, one signal per lane,
//     2. correlations A^T (B^T y), a sum of p coefficients for each atom,
//     3. Batch-OMP with the Gram matrix A^T A (batch_omp.hpp).
//
// NumPy twins: tests/reference.py, sparse_correlations and omp.
#pragma once

#include "kernels/coding/tile_coders.hpp"
#include "kernels/pursuit/batch_omp.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// The correlations of LANES signals with atom k; `x` has their coefficients, `width` apart.
template <class T>
FOST_INLINE Vec<T> correlate_lanes(const SparseAtoms<T>& atoms, Index k, const T* x, Index width) {
  const T* values = atoms.values + k * atoms.entries;
  const std::int32_t* places = atoms.places + k * atoms.entries;
  Vec<T> sum = {};
  for (int q = 0; q < atoms.entries; ++q) sum += values[q] * load(x + places[q] * width);
  return sum;
}

// The correlations of all signals of a tile, one row of `out` per signal.
template <class T>
void sparse_correlations(const SparseAtoms<T>& atoms, int count, const T* tile, Index width, T* out,
                         Index pitch) {
  constexpr int L = LANES<T>;
  for (Index lane = 0; lane < width; lane += L) {
    const T* x = tile + lane;
    T* rows = out + lane * pitch;
    int k = 0;
    for (; k + L <= count; k += L) {
      Vec<T> block[L];
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) block[l] = correlate_lanes(atoms, k + l, x, width);
      transpose<T>(block);
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) store(rows + l * pitch + k, block[l]);
    }
    for (; k < count; ++k) {
      const Vec<T> last = correlate_lanes(atoms, k, x, width);
      for (int l = 0; l < L; ++l) rows[l * pitch + k] = last[l];
    }
  }
}

// The codes of the rows first:last of y; `memory` is for as many signals as a tile has. Returns
// false if an entry is not finite or a norm is out of range.
template <class T>
bool pursue_sparse(const Program<T>& base, const SparseAtoms<T>& sparse, const Atoms<T>& atoms,
                   const View<const T>& y, Index first, Index last, const Codes<T>& codes,
                   const PursuitMemory<T>& memory, const Workspace<T>& work) {
  Codes<T> here = codes;
  advance(here, first);
  for (Index row = first; row < last; row += work.width, advance(here, work.width)) {
    const int count = rows_at(row, last, work.width);
    load_tile(y, row, count, work.tile, work.width);
    Prefetch ahead = next_tile(y, row, last, work.width);
    const T* tile = run<T, false>(base, work.tile, work, ahead);
    sparse_correlations(sparse, atoms.count, tile, work.width, memory.correlations, atoms.pitch);
    if (!pursue_tile(atoms, rows_of(y, row, count, memory.rows), count, here, memory)) return false;
  }
  return true;
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
