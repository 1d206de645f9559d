// Codes of the signals in a tile, by a transform alone or by a bank. Both have the same interface:
// coder(rows, codes, workspace, ahead) returns false if an entry is not finite.
#pragma once

#include "kernels/coding/bank.hpp"
#include "kernels/selection/select.hpp"
#include "kernels/transforms/stages.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// X = T_s(U^T y) for the signals in work.tile ...
template <class T> struct TransformCoder {
  Program<T> program;
  int n_rows() const { return program.n; }
  bool operator()(int rows, const Codes<T>& codes, const Workspace<T>& work,
                  Prefetch& ahead) const {
    const T* tile = run<T, false>(program, work.tile, work, ahead);
    return select_tile<T>(tile, work.width, program.n, rows, codes, work.scratch, ahead);
  }
};

// ... or the same by the member of a bank that keeps the most energy.
template <class T> struct BankCoder {
  CoderProgram<T> program;
  BankMemory<T> memory;
  Workspace<T> work;  // for the members
  int n_rows() const { return program.base.n * program.count; }

  // Signals are loaded into the coefficient rows directly if the tile widths agree.
  Workspace<T> for_signals() const {
    Workspace<T> outer = work;
    if (work.width == WIDTH<T>) outer.tile = memory.coefficients;
    return outer;
  }

  bool operator()(int rows, const Codes<T>& codes, const Workspace<T>& outer,
                  Prefetch& ahead) const {
    const T* tile = run<T, false>(program.base, outer.tile, outer, ahead);
    const bool sound = with_constant(
        codes.s, [&](auto s) { return try_members<decltype(s)::value>(tile, codes.s, ahead); });
    Codes<T> next = codes;
    for (int lane = 0; lane < rows; lane += WIDTH<T>, advance(next, WIDTH<T>)) {
      const BankMemory<T> here = memory_at(memory, program.base.n, lane);
      if (!sound && !all_finite<T>(here.chosen, program.base.n * WIDTH<T>, ahead)) return false;
      write(here, rows - lane < WIDTH<T> ? rows - lane : WIDTH<T>, next);
    }
    return true;
  }

  // Returns false if an entry may be not finite.
  template <int S>
  bool try_members(const T* tile, int s, Prefetch& ahead) const {
    const int n = program.base.n;
    bool sound = true, undecided = true;
    for (int lane = 0; lane < work.width; lane += WIDTH<T>) {
      const BankMemory<T> here = memory_at(memory, n, lane);
      if (tile != here.coefficients)
        copy_lanes(tile + lane, work.width, here.coefficients, WIDTH<T>, n);
      sound &= MemberSelection<T, S>{program, here, s, work.scratch}.start();
    }
    for (int b = 0; b < program.count && undecided; ++b) {
      const BankMember<T>& member = program.members[b];
      const T* result = member.rotates ? nullptr : apply_member(member, ahead);
      undecided = false;
      for (int lane = 0; lane < work.width; lane += WIDTH<T>) {
        const BankMemory<T> here = memory_at(memory, n, lane);
        const MemberSelection<T, S> selection = {program, here, s, work.scratch};
        const T* x = here.coefficients;
        if (member.rotates) {
          rotate_rows<T, WIDTH<T>>(member.rotations, here.coefficients, WIDTH<T>, ahead);
        } else if (work.width == WIDTH<T>) {
          x = result;
        } else {
          x += n * WIDTH<T>;
          copy_lanes(result + lane, work.width, here.coefficients + n * WIDTH<T>, WIDTH<T>, n);
        }
        if (b)
          selection.consider(b, x);
        else
          selection.consider_first(x);
        undecided |= selection.is_undecided();
      }
    }
    return sound;
  }

  const T* apply_member(const BankMember<T>& member, Prefetch& ahead) const {
    const int n = program.base.n;
    for (int lane = 0; lane < work.width; lane += WIDTH<T>)
      copy_lanes(memory_at(memory, n, lane).coefficients, WIDTH<T>, work.tile + lane, work.width,
                 n);
    return run<T, false>(member.program, work.tile, work, ahead);
  }

  void write(const BankMemory<T>& here, int rows, const Codes<T>& codes) const {
    const int n = program.base.n;
    for (int l = 0; l < WIDTH<T>; ++l)
      here.offsets[l] = static_cast<std::int32_t>(here.chosen_members[l]) * n;
    collect_tile<T>(here.chosen, WIDTH<T>, n, rows, codes, here.levels, here.offsets);
  }
};

// Calls use(coder, workspace for its signals).
template <class T, class Use>
bool with_coder(const CoderProgram<T>& program, const BankMemory<T>& memory,
                const Workspace<T>& work, const Use& use) {
  if (!program.count) return use(TransformCoder<T>{program.base}, work);
  const BankCoder<T> coder = {program, memory, work};
  return use(coder, coder.for_signals());
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
