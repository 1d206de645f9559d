// Which instruction set the kernels use, chosen when the module is loaded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "types/kernel_table.hpp"

namespace fost {

// Names of the instruction sets that this build has and this processor runs, best last.
std::vector<std::string> available_isas();

std::string get_isa();

// Throws std::invalid_argument for a name that is not available.
void set_isa(const std::string& name);

template <class T> const Kernels<T>& kernels();
const Algebra& algebra();

// Whether the upper halves of the vector registers are clean in this thread (see CleanRegisters);
// nothing where the processor does not say. For tests.
std::optional<bool> registers_clean();

}  // namespace fost
