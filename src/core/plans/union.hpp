// Several transforms made ready for pursuit in the atoms of all of them.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "plans/bank.hpp"
#include "runtime/buffer.hpp"
#include "plans/rotation_schedule.hpp"

namespace fost {

template <class T> class UnionTables {
 public:
  UnionTables(const CoderProgram<T>& bank, const std::vector<std::int32_t>& indices,
              const std::vector<MemberTurns>& turns, const std::vector<std::int32_t>& rows, const double* atoms);
  UnionTables(const UnionTables&) = delete;
  UnionTables& operator=(const UnionTables&) = delete;

  const UnionProgram<T>& program() const { return program_; }

 private:
  void add_blocks(const double* atoms, std::size_t count, const std::vector<std::int32_t>& rows);

  std::vector<UnionMember<T>> members_;
  std::deque<std::vector<std::int32_t>> places_;
  std::deque<std::vector<T>> scales_;
  ScreenTables<T> screen_;
  std::optional<Buffer<std::int32_t>> blocks_;
  std::optional<Buffer<T>> entries_;
  UnionProgram<T> program_;
};

// Those atoms of a bank's members that `indices` names, ascending: i + n b is atom i of member b.
// `atoms` has them in rows, as they are beyond the base. The plans must outlive it.
class Union {
 public:
  Union(const Plan& base, const std::vector<const Plan*>& members, std::vector<std::int32_t> indices,
        const double* atoms);

  template <class T> const UnionProgram<T>& program() const;

  // Whether they can be found by residuals: where all members are rotations.
  bool can_screen() const { return !turns.empty(); }
  // Whether codes of s entries, or of as many as a tolerance takes, are found by residuals or by inner
  // products of atoms: sizes and the instruction set say what takes less time.
  bool by_residuals(Index rows, int s, bool within) const;

  Bank bank;
  std::vector<std::int32_t> indices;

 private:
  std::vector<MemberTurns> turns;
  std::vector<std::int32_t> rows;  // see UnionProgram
  UnionTables<float> single;
  UnionTables<double> full;
};

template <> inline const UnionProgram<float>& Union::program<float>() const { return single.program(); }
template <> inline const UnionProgram<double>& Union::program<double>() const { return full.program(); }

// Codes of y by orthogonal matching pursuit in those atoms, as `pursue` has them, by residuals or not.
// `gram` has their inner products, atoms x pitch, a multiple of PITCH.
template <class T, class I>
Index pursue(const Union& all, bool residuals, const T* gram, const View<const T>& y, int s, double tol,
             T* values, std::int32_t* indices, I* indptr);

// X Y^T into matrix (atoms x n) and X X^T into products (atoms x atoms), of codes X in rows. The sums
// depend on the number of signals and on nothing else.
template <class T>
void code_sums(const SparseRows<T, std::int64_t>& codes, Index atoms, const View<const T>& y, double* matrix,
               double* products);

}  // namespace fost
