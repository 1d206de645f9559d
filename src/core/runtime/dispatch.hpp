// Selection of the instruction set of the kernels, when the module is loaded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "types/kernel_table.hpp"

namespace fost {

// Names of the instruction sets that this build contains and this processor supports, best last.
std::vector<std::string> available_isas();

std::string get_isa();

// Throws std::invalid_argument for a name that is not available.
void set_isa(const std::string& name);

template <class T> const Kernels<T>& kernels();
const Algebra& algebra();

// Whether the upper halves of the vector registers of this thread are zero (see ZeroUpper); no
// value if the processor cannot report it. For tests.
std::optional<bool> registers_clean();

}  // namespace fost
