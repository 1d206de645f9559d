// Numbers by which signals are told apart, whatever their place.
#pragma once

#include <cstdint>

#include "types/transforms.hpp"

namespace fost {

// For each signal y, in 32 bits, what it looks like, and in 32 below, what it holds:
//   sum_i f_i round(181.02 y_i / max |y|)   and   sum_i f_i bits(y_i)
// with the bits of both sums mixed, in wrapping arithmetic, for odd numbers f_i without a pattern.
// So signals in the order of their marks are in random order. Last bits of signals, and their
// scale, hardly ever change it, and equal signals are side by side.
template <class T> void mark_signals(const View<const T>& y, std::uint64_t* marks);

}  // namespace fost
