// Which of several transforms suits a signal best: the one whose s largest coefficients have the
// most energy, the first of equals.
#pragma once

#include "select.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// The energy of the S largest magnitudes of each lane.
template <class T, int S> FOST_INLINE Vec<T> energy_few(const Lanes<T>& lanes, Vec<T>& zeros) {
  Vec<T> best[KEPT<S>], energy = {};
  largest_few<T, S>(lanes, zeros, best);
#pragma GCC unroll 8
  for (int k = 0; k < S; ++k) energy += best[k] * best[k];
  return energy;
}

// The same for any s: all that reach the level, without those that are too many.
template <class T> Vec<T> energy_many(const Lanes<T>& lanes, Vec<T>& zeros, T* scratch) {
  const Vec<T> level = threshold_many<T>(lanes, zeros, scratch);
  Vec<T> energy = {}, count = {};
  const Vec<T> none = {}, one = none + T(1);
  for (int i = 0; i < lanes.n; ++i) {
    const Vec<T> a = load(scratch + i * LANES<T>);
    energy += a >= level ? a * a : none;
    count += a >= level ? one : none;
  }
  const Vec<T> beyond = count - static_cast<T>(lanes.out.s);
  return energy - (beyond > none ? beyond * level * level : none);
}

template <class T> Vec<T> kept_energy(const Lanes<T>& lanes, Vec<T>& zeros, T* scratch) {
  switch (lanes.out.s) {
    case 1: return energy_few<T, 1>(lanes, zeros);
    case 2: return energy_few<T, 2>(lanes, zeros);
    case 3: return energy_few<T, 3>(lanes, zeros);
    case 4: return energy_few<T, 4>(lanes, zeros);
    case 5: return energy_few<T, 5>(lanes, zeros);
    case 6: return energy_few<T, 6>(lanes, zeros);
    case 7: return energy_few<T, 7>(lanes, zeros);
    case 8: return energy_few<T, 8>(lanes, zeros);
    default: return energy_many<T>(lanes, zeros, scratch);
  }
}

// Lets a member compete for the signals of a tile: where it keeps more energy than the best so
// far (or is the first), its coefficients are taken over. False where one is not finite.
template <class T>
bool compete(const T* tile, int width, int n, int s, std::int32_t member, const BankMemory<T>& bank,
             T* scratch, Prefetch& ahead) {
  for (int lane = 0; lane < width; lane += LANES<T>) {
    Vec<T> zeros = {};
    const Lanes<T> lanes = {tile + lane, width, n, LANES<T>, {nullptr, nullptr, nullptr, s}, ahead};
    const Vec<T> energy = kept_energy<T>(lanes, zeros, scratch);
    for (int l = 0; l < LANES<T>; ++l)
      if (zeros[l] != T(0)) return false;
    const Vec<T> before = load(bank.energies + lane);
    const auto better = energy > before;
    bool any = false;
    for (int l = 0; l < LANES<T>; ++l)
      if (better[l]) {
        bank.winners[lane + l] = member;
        any = true;
      }
    if (!any) continue;
    store(bank.energies + lane, better ? energy : before);
    for (int i = 0; i < n; ++i) {
      const Index at = i * static_cast<Index>(width) + lane;
      store(bank.chosen + at, better ? load(tile + at) : load(bank.chosen + at));
    }
  }
  return true;
}

// Entry i of member b is entry b n + i of the codes of a bank.
template <class T> void shift_indices(const Codes<T>& codes, int rows, int n, const std::int32_t* winners) {
  for (int r = 0; r < rows; ++r)
    for (int k = 0; k < codes.counts[r]; ++k) codes.indices[r * codes.s + k] += winners[r] * n;
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
