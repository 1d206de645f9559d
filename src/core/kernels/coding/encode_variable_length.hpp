// A pass over a range of signals whose codes follow a rule: see within.hpp. The members of a bank
// are tried one after another, and the best so far keeps its coefficients.
#pragma once

#include "kernels/coding/bank.hpp"
#include "kernels/transforms/stages.hpp"
#include "kernels/simd/tile.hpp"
#include "kernels/selection/variable_length.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// Codes of the signals in work.tile by a transform. False where a coefficient is not finite.
template <class T>
bool code_within(const Program<T>& program, const Rule& rule, int rows, Codes<T> codes,
                 const Workspace<T>& work) {
  Prefetch none(nullptr, 0);
  const T* tile = run<T, false>(program, work.tile, work, none);
  double* scratch = reinterpret_cast<double*>(work.scratch);
  for (int lane = 0; lane < rows; lane += WIDE) {
    const Columns<T> in = {tile + lane, work.width, program.n};
    SignalMagnitudes magnitudes;
    if (!load_magnitudes(in, scratch, magnitudes)) return false;
    const Levels levels = find_levels(magnitudes, rule);
    const int here = rows - lane < WIDE ? rows - lane : WIDE;
    Kept kept[WIDE];
    for (int l = 0; l < here; ++l) kept[l] = kept_of(magnitudes, rule, levels, l);
    write_codes(in, kept, here, codes);
    codes = {codes.values + WIDE * static_cast<Index>(codes.s),
             codes.indices + WIDE * static_cast<Index>(codes.s), codes.counts + WIDE, codes.s};
  }
  return true;
}

// The same by that member of a bank which a rule likes best.
template <class T> struct BankWithin {
  CoderProgram<T> program;
  Rule rule;
  BankMemory<T> memory;
  Kept* kept;  // of each signal of a tile
  Workspace<T> work;

  bool code(int rows, const Codes<T>& codes) const {
    const int n = program.base.n;
    Prefetch none(nullptr, 0);
    const T* tile = run<T, false>(program.base, work.tile, work, none);
    for (int lane = 0; lane < work.width; lane += WIDTH<T>)
      copy_lanes(tile + lane, work.width, memory_at(memory, n, lane).board, WIDTH<T>, n);
    for (int b = 0; b < program.count; ++b)
      if (!enter(b, rows)) return false;
    for (int lane = 0; lane < rows; lane += WIDE) {
      const T* chosen = memory_at(memory, n, lane - lane % WIDTH<T>).chosen + lane % WIDTH<T>;
      const Index row = lane * static_cast<Index>(codes.s);
      write_codes<T>({chosen, WIDTH<T>, n}, kept + lane, rows - lane < WIDE ? rows - lane : WIDE,
                     {codes.values + row, codes.indices + row, codes.counts + lane, codes.s});
    }
    return true;
  }

 private:
  bool enter(int b, int rows) const {
    const int n = program.base.n;
    const BankMember<T>& member = program.members[b];
    Prefetch none(nullptr, 0);
    const T* result = nullptr;
    if (!member.rotates) {
      for (int lane = 0; lane < work.width; lane += WIDTH<T>)
        copy_lanes(memory_at(memory, n, lane).board, WIDTH<T>, work.tile + lane, work.width, n);
      result = run<T, false>(member.program, work.tile, work, none);
    }
    for (int lane = 0; lane < rows; lane += WIDTH<T>) {
      const BankMemory<T> here = memory_at(memory, n, lane);
      if (member.rotates) {
        turn_rows<T, WIDTH<T>>(member.rotations, here.board, WIDTH<T>, none);
        gather({here.board, member.places, member.scales, program.n_varying});
      } else {
        T* own = here.board + n * WIDTH<T>;
        copy_lanes(result + lane, work.width, own, WIDTH<T>, n);
        gather({own, member.places, member.scales, program.n_varying});
      }
      gather({here.board, program.common, program.ones, program.n_common});
      const int count = rows - lane < WIDTH<T> ? rows - lane : WIDTH<T>;
      for (int l = 0; l < count; l += WIDE)
        if (!compare(b, l, count - l < WIDE ? count - l : WIDE, here.chosen + l, kept + lane + l))
          return false;
    }
    return true;
  }

  // Some of the coefficients of WIDTH signals to the place where all of them are compared.
  void gather(const Scattered<T>& in) const {
    for (int k = 0; k < in.count; ++k) {
      const Gathered<T> next(in, k);
      for (int v = 0; v < UNROLL; ++v)
        store(work.scratch + next.feature * WIDTH<T> + v * LANES<T>, next.x[v]);
    }
  }

  // Member b takes over those of the signals from lane `first` on that it suits better.
  bool compare(int b, int first, int rows, T* chosen, Kept* best) const {
    const int n = program.base.n;
    const Columns<T> in = {work.scratch + first, WIDTH<T>, n};
    SignalMagnitudes magnitudes;
    if (!load_magnitudes(in, reinterpret_cast<double*>(work.scratch + n * WIDTH<T>), magnitudes))
      return false;
    const Levels levels = find_levels(magnitudes, rule);
    for (int l = 0; l < rows; ++l) {
      Kept own = kept_of(magnitudes, rule, levels, l);
      own.member = b;
      const bool better = own.first > best[l].first ||
                          (own.first == best[l].first && own.second > best[l].second);
      if (b && !better) continue;
      best[l] = own;
      for (int i = 0; i < n; ++i) chosen[i * WIDTH<T> + l] = in.x[i * WIDTH<T> + l];
    }
    return true;
  }
};

template <class T>
bool encode_within(const CoderProgram<T>& program, const View<const T>& y, Index first, Index last,
                   const Rule& rule, const Codes<T>& codes, const BankMemory<T>& bank, Kept* kept,
                   const Workspace<T>& work) {
  for (Index row = first; row < last; row += work.width) {
    const int rows = static_cast<int>(last - row < work.width ? last - row : work.width);
    load_tile(y, row, rows, work.tile, work.width);
    const Index done = row - first;
    const Codes<T> here = {codes.values + done * codes.s, codes.indices + done * codes.s,
                           codes.counts + done, codes.s};
    const bool finite = program.count
                            ? BankWithin<T>{program, rule, bank, kept, work}.code(rows, here)
                            : code_within(program.base, rule, rows, here, work);
    if (!finite) return false;
  }
  return true;
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
