// Driver of variable-length codes, limited by an error or a threshold.
#pragma once

#include <memory>
#include <optional>

#include "plans/coder.hpp"
#include "types/coding.hpp"

namespace fost {

// Compressed sparse rows that own their memory.
template <class T> struct OwnedRows {
  std::unique_ptr<T[]> values;
  std::unique_ptr<std::int32_t[]> indices;
  std::unique_ptr<std::int64_t[]> indptr;
  Index n_rows, n_entries;
};

// Variable-length codes of y; a bank uses the member with the best score. No value if a coefficient
// is not finite. Uses at most twice the memory of the codes.
template <class T>
std::optional<OwnedRows<T>> encode_variable_length(const Coder& coder, const View<const T>& y,
                                                   const CodeLimits& limits);

}  // namespace fost
