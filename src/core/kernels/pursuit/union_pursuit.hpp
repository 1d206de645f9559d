// Orthogonal matching pursuit in the union of several orthonormal transforms. The correlations of
// the atoms with a signal are its coefficients in all members, computed by the fast transforms, one
// signal per lane. Then the pursuit uses the Gram matrix of the atoms (batch_omp.hpp), or explicit
// residuals whose correlations are computed step by step (residual_pursuit.hpp). NumPy twin:
// tests/reference.py, omp.
#pragma once

#include "kernels/coding/tile_coders.hpp"
#include "kernels/pursuit/batch_omp.hpp"
#include "kernels/pursuit/residual_pursuit.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// The correlations of WIDTH signals with the atoms of a member whose coefficients are at x, one row
// of `out` per signal.
template <class T>
void write_correlations(const UnionMember<T>& member, const T* x, T* out, Index pitch) {
  constexpr int L = LANES<T>;
  out += member.first;
  const auto coefficients = [&](int k) {
    return x + static_cast<Index>(member.places[k]) * WIDTH<T>;
  };
  int k = 0;
  // The last block may overlap the one before it.
  for (; member.count >= L && k < member.count; k += L) {
    const int at = k + L <= member.count ? k : member.count - L;
    const Vec<T> scales = load(member.scales + at);
    const T* from[L];
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) from[l] = coefficients(at + l);
#pragma GCC unroll 4
    for (int lane = 0; lane < WIDTH<T>; lane += L) {
      Vec<T> block[L];
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) block[l] = load(from[l] + lane);
      transpose<T>(block);
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) store(out + (lane + l) * pitch + at, scales * block[l]);
    }
  }
  for (; k < member.count; ++k)
    for (int lane = 0; lane < WIDTH<T>; ++lane)
      out[lane * pitch + k] = member.scales[k] * coefficients(k)[lane];
}

// The correlations of the signals in the tile of `outer` with all atoms.
template <class T>
void correlate_members(const UnionProgram<T>& all, const BankCoder<T>& bank,
                       const Workspace<T>& outer, T* correlations, Index pitch, Prefetch& ahead) {
  const int n = all.bank.base.n, width = outer.width;
  const T* tile = run<T, false>(all.bank.base, outer.tile, outer, ahead);
  for (int lane = 0; lane < width; lane += WIDTH<T>) {
    T* coefficients = memory_at(bank.memory, n, lane).coefficients;
    if (tile != coefficients) copy_lanes(tile + lane, width, coefficients, WIDTH<T>, n);
  }
  for (int b = 0; b < all.bank.count; ++b) {
    const BankMember<T>& member = all.bank.members[b];
    const T* result = member.rotates ? nullptr : bank.apply_member(member, ahead);
    for (int lane = 0; lane < width; lane += WIDTH<T>) {
      T* coefficients = memory_at(bank.memory, n, lane).coefficients;
      const T* x = coefficients;
      if (member.rotates) {
        rotate_rows<T, WIDTH<T>>(member.rotations, coefficients, WIDTH<T>, ahead);
      } else {
        x = coefficients + n * WIDTH<T>;
        copy_lanes(result + lane, width, coefficients + n * WIDTH<T>, WIDTH<T>, n);
      }
      write_correlations(all.members[b], x, correlations + lane * pitch, pitch);
    }
  }
}

// Replaces numbers of atoms by their indices among the atoms of all members.
template <class T> void rename_atoms(const UnionProgram<T>& all, const Codes<T>& codes, int count) {
  for (int r = 0; r < count; ++r)
    for (int k = 0; k < codes.counts[r]; ++k) {
      std::int32_t& index = codes.indices[static_cast<Index>(r) * codes.s + k];
      index = all.indices[index];
    }
}

// The codes of the rows first:last of y; `memory` is for as many signals as a tile has. Returns
// false if an entry is not finite or a norm is out of range.
template <class T>
bool pursue_union(const UnionProgram<T>& all, const Atoms<T>& atoms, const View<const T>& y,
                  Index first, Index last, const Codes<T>& codes, const PursuitMemory<T>& memory,
                  const BankMemory<T>& bank_memory, const Workspace<T>& work) {
  const BankCoder<T> bank = {all.bank, bank_memory, work};
  const Workspace<T> outer = bank.for_signals();
  Codes<T> here = codes;
  advance(here, first);
  for (Index row = first; row < last; row += work.width, advance(here, work.width)) {
    const int count = static_cast<int>(last - row < work.width ? last - row : work.width);
    load_tile(y, row, count, outer.tile, work.width);
    Prefetch ahead = next_tile(y, row, last, work.width);
    correlate_members(all, bank, outer, memory.correlations, atoms.pitch, ahead);
    if (!pursue_tile(atoms, rows_of(y, row, count, memory.rows), count, here, memory)) return false;
    rename_atoms(all, here, count);
  }
  return true;
}

// The same with explicit residuals; `memory` is for WIDTH signals.
template <class T>
bool pursue_residuals(const UnionProgram<T>& all, const Atoms<T>& atoms, const View<const T>& y,
                      Index first, Index last, const Codes<T>& codes,
                      const PursuitMemory<T>& memory, const BankMemory<T>& bank_memory,
                      const Workspace<T>& work) {
  const int n = all.bank.base.n;
  Codes<T> here = codes;
  advance(here, first);
  for (Index row = first; row < last; row += work.width) {
    const int count = static_cast<int>(last - row < work.width ? last - row : work.width);
    load_tile(y, row, count, work.tile, work.width);
    Prefetch ahead = next_tile(y, row, last, work.width);
    const T* tile = run<T, false>(all.bank.base, work.tile, work, ahead);
    for (int lane = 0; lane < count; lane += WIDTH<T>, advance(here, WIDTH<T>)) {
      T* coefficients = bank_memory.coefficients;
      for (int i = 0; i < n; ++i)
        copy_lanes(tile + static_cast<Index>(i) * work.width + lane, work.width,
                   coefficients + all.rows[i] * WIDTH<T>, WIDTH<T>, 1);
      const int some = count - lane < WIDTH<T> ? count - lane : WIDTH<T>;
      const SignalRows<T> rows = rows_of(y, row + lane, some, memory.rows);
      ResidualPursuit<T> pursuit(all, atoms, memory, here, some, coefficients);
      for (int p = 0; p < some; ++p)
        if (!pursuit.begin(p, rows.data + p * rows.stride)) return false;
      pursuit.run();
      rename_atoms(all, here, some);
    }
  }
  return true;
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
