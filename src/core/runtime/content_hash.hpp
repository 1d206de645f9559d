// Content hashes of signals, independent of their position.
#pragma once

#include <cstdint>

#include "types/transforms.hpp"

namespace fost {

// The hash of a signal y: 32 bits of its shape above 32 bits of its content,
//
//     sum_i f_i round(181.02 y_i / max |y|)   and   sum_i f_i bits(y_i)
//
// in wrapping arithmetic with pseudo-random odd factors f_i, with the bits of both sums mixed.
// Sorting signals by hash yields a canonical pseudo-random order. The last bits and the scale of
// signals hardly ever change it, and equal signals are adjacent. NumPy twin: tests/reference.py,
// marks.
template <class T> void hash_signals(const View<const T>& y, std::uint64_t* hashes);

}  // namespace fost
