// A union of transforms prepared for pursuit in the atoms of all of them.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "plans/bank.hpp"
#include "plans/rotation_schedule.hpp"
#include "runtime/buffer.hpp"

namespace fost {

template <class T> class UnionTables {
 public:
  UnionTables(const CoderProgram<T>& bank, const std::vector<std::int32_t>& indices,
              const std::vector<MemberRotations>& member_rotations,
              const std::vector<std::int32_t>& rows, const double* atoms);
  UnionTables(const UnionTables&) = delete;
  UnionTables& operator=(const UnionTables&) = delete;

  const UnionProgram<T>& program() const { return program_; }

 private:
  void add_blocks(const double* atoms, std::size_t count, const std::vector<std::int32_t>& rows);

  std::vector<UnionMember<T>> members_;
  std::deque<std::vector<std::int32_t>> places_;
  std::deque<std::vector<T>> scales_;
  RotationScheduleTables<T> schedule_;
  std::optional<Buffer<std::int32_t>> blocks_;
  std::optional<Buffer<T>> entries_;
  UnionProgram<T> program_;
};

// The atoms of a bank's members listed in `indices`, ascending: i + n b is atom i of member b.
// `atoms` has them in rows, as they are beyond the base. The plans must outlive it.
class Union {
 public:
  Union(const TransformPlan& base, const std::vector<const TransformPlan*>& members,
        std::vector<std::int32_t> indices, const double* atoms);

  template <class T> const UnionProgram<T>& program() const;

  // Whether pursuit with explicit residuals is possible: only if all members are rotations.
  bool has_schedule() const { return !member_rotations.empty(); }
  // Whether codes of s entries (or variable-length codes) are computed faster with explicit
  // residuals or with the Gram matrix, given the sizes and the instruction set.
  bool by_residuals(Index rows, int s, bool variable_length) const;

  Bank bank;
  std::vector<std::int32_t> indices;

 private:
  std::vector<MemberRotations> member_rotations;
  std::vector<std::int32_t> rows;  // see UnionProgram
  UnionTables<float> single;
  UnionTables<double> full;
};

template <> inline const UnionProgram<float>& Union::program<float>() const {
  return single.program();
}
template <> inline const UnionProgram<double>& Union::program<double>() const {
  return full.program();
}

}  // namespace fost
