// Codes that follow a rule, of rows of different lengths.
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

// The codes of y by a rule, in a bank by the member that it likes best; nothing where a coefficient
// is not finite. No more memory is used than twice that of the codes.
template <class T>
std::optional<OwnedRows<T>> encode_within(const Coder& coder, const View<const T>& y,
                                          const Rule& rule);

}  // namespace fost
