// Variable-length codes of a range of signals (see selection/variable_length.hpp). The members of a
// bank are tried one after another; the coefficients of the best member so far are kept.
#pragma once

#include "kernels/coding/bank.hpp"
#include "kernels/selection/variable_length.hpp"
#include "kernels/simd/tile.hpp"
#include "kernels/transforms/stages.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// Codes of the signals in work.tile by a transform. Returns false if a coefficient is not finite.
template <class T>
bool encode_tile(const Program<T>& program, const CodeLimits& limits, int rows, Codes<T> codes,
                 const Workspace<T>& work) {
  Prefetch none(nullptr, 0);
  const T* tile = run<T, false>(program, work.tile, work, none);
  double* scratch = reinterpret_cast<double*>(work.scratch);
  for (int lane = 0; lane < rows; lane += WIDE) {
    const Columns<T> in = {tile + lane, work.width, program.n};
    SignalMagnitudes magnitudes;
    if (!load_magnitudes(in, scratch, magnitudes)) return false;
    const Thresholds thresholds = find_thresholds(magnitudes, limits);
    const int here = rows - lane < WIDE ? rows - lane : WIDE;
    Selected selected[WIDE];
    for (int l = 0; l < here; ++l)
      selected[l] = selection_in_lane(magnitudes, limits, thresholds, l);
    write_codes(in, selected, here, codes);
    codes = {codes.values + WIDE * static_cast<Index>(codes.s),
             codes.indices + WIDE * static_cast<Index>(codes.s), codes.counts + WIDE, codes.s};
  }
  return true;
}

// The same by the member of a bank with the best score.
template <class T> struct VariableLengthBankCoder {
  CoderProgram<T> program;
  CodeLimits limits;
  BankMemory<T> memory;
  Selected* selected;  // of each signal of a tile
  Workspace<T> work;

  bool code(int rows, const Codes<T>& codes) const {
    const int n = program.base.n;
    Prefetch none(nullptr, 0);
    const T* tile = run<T, false>(program.base, work.tile, work, none);
    for (int lane = 0; lane < work.width; lane += WIDTH<T>)
      copy_lanes(tile + lane, work.width, memory_at(memory, n, lane).coefficients, WIDTH<T>, n);
    for (int b = 0; b < program.count; ++b)
      if (!consider(b, rows)) return false;
    for (int lane = 0; lane < rows; lane += WIDE) {
      const T* chosen = memory_at(memory, n, lane - lane % WIDTH<T>).chosen + lane % WIDTH<T>;
      const Index row = lane * static_cast<Index>(codes.s);
      write_codes<T>({chosen, WIDTH<T>, n}, selected + lane,
                     rows - lane < WIDE ? rows - lane : WIDE,
                     {codes.values + row, codes.indices + row, codes.counts + lane, codes.s});
    }
    return true;
  }

 private:
  bool consider(int b, int rows) const {
    const int n = program.base.n;
    const BankMember<T>& member = program.members[b];
    Prefetch none(nullptr, 0);
    const T* result = nullptr;
    if (!member.rotates) {
      for (int lane = 0; lane < work.width; lane += WIDTH<T>)
        copy_lanes(memory_at(memory, n, lane).coefficients, WIDTH<T>, work.tile + lane, work.width,
                   n);
      result = run<T, false>(member.program, work.tile, work, none);
    }
    for (int lane = 0; lane < rows; lane += WIDTH<T>) {
      const BankMemory<T> here = memory_at(memory, n, lane);
      if (member.rotates) {
        rotate_rows<T, WIDTH<T>>(member.rotations, here.coefficients, WIDTH<T>, none);
        gather_coefficients({here.coefficients, member.places, member.scales, program.n_varying});
      } else {
        T* own = here.coefficients + n * WIDTH<T>;
        copy_lanes(result + lane, work.width, own, WIDTH<T>, n);
        gather_coefficients({own, member.places, member.scales, program.n_varying});
      }
      gather_coefficients({here.coefficients, program.common, program.ones, program.n_common});
      const int count = rows - lane < WIDTH<T> ? rows - lane : WIDTH<T>;
      for (int l = 0; l < count; l += WIDE)
        if (!compare(b, l, count - l < WIDE ? count - l : WIDE, here.chosen + l,
                     selected + lane + l))
          return false;
    }
    return true;
  }

  // Copies coefficients of WIDTH signals to the array in which members are compared.
  void gather_coefficients(const Scattered<T>& in) const {
    for (int k = 0; k < in.count; ++k) {
      const Gathered<T> next(in, k);
      for (int v = 0; v < UNROLL; ++v)
        store(work.scratch + next.feature * WIDTH<T> + v * LANES<T>, next.x[v]);
    }
  }

  // Member b replaces the current choice of those signals, from lane `first` on, for which it
  // scores higher.
  bool compare(int b, int first, int rows, T* chosen, Selected* best) const {
    const int n = program.base.n;
    const Columns<T> in = {work.scratch + first, WIDTH<T>, n};
    SignalMagnitudes magnitudes;
    if (!load_magnitudes(in, reinterpret_cast<double*>(work.scratch + n * WIDTH<T>), magnitudes))
      return false;
    const Thresholds thresholds = find_thresholds(magnitudes, limits);
    for (int l = 0; l < rows; ++l) {
      Selected own = selection_in_lane(magnitudes, limits, thresholds, l);
      own.member = b;
      const bool better =
          own.first > best[l].first || (own.first == best[l].first && own.second > best[l].second);
      if (b && !better) continue;
      best[l] = own;
      for (int i = 0; i < n; ++i) chosen[i * WIDTH<T> + l] = in.x[i * WIDTH<T> + l];
    }
    return true;
  }
};

template <class T>
bool encode_variable_length(const CoderProgram<T>& program, const View<const T>& y, Index first,
                            Index last, const CodeLimits& limits, const Codes<T>& codes,
                            const BankMemory<T>& bank, Selected* selected,
                            const Workspace<T>& work) {
  for (Index row = first; row < last; row += work.width) {
    const int rows = static_cast<int>(last - row < work.width ? last - row : work.width);
    load_tile(y, row, rows, work.tile, work.width);
    const Index done = row - first;
    const Codes<T> here = {codes.values + done * codes.s, codes.indices + done * codes.s,
                           codes.counts + done, codes.s};
    const bool finite =
        program.count
            ? VariableLengthBankCoder<T>{program, limits, bank, selected, work}.code(rows, here)
            : encode_tile(program.base, limits, rows, here, work);
    if (!finite) return false;
  }
  return true;
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
