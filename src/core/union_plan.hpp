// Several transforms made ready for pursuit in the atoms of all of them.
#pragma once

#include <deque>
#include <vector>

#include "bank_plan.hpp"
#include "pursuit_types.hpp"

namespace fost {

template <class T> class UnionTables {
 public:
  UnionTables(const CoderProgram<T>& bank, const std::vector<std::int32_t>& indices);
  UnionTables(const UnionTables&) = delete;
  UnionTables& operator=(const UnionTables&) = delete;

  const UnionProgram<T>& program() const { return program_; }

 private:
  std::vector<UnionMember<T>> members_;
  std::deque<std::vector<std::int32_t>> places_;
  std::deque<std::vector<T>> scales_;
  UnionProgram<T> program_;
};

// Those atoms of a bank's members that `indices` names, ascending: i + n b is atom i of member b.
// The plans must outlive it.
class Union {
 public:
  Union(const Plan& base, const std::vector<const Plan*>& members, std::vector<std::int32_t> indices);

  template <class T> const UnionProgram<T>& program() const;

  Bank bank;
  std::vector<std::int32_t> indices;

 private:
  UnionTables<float> single;
  UnionTables<double> full;
};

template <> inline const UnionProgram<float>& Union::program<float>() const { return single.program(); }
template <> inline const UnionProgram<double>& Union::program<double>() const { return full.program(); }

// Codes of y by orthogonal matching pursuit in those atoms, as `pursue` has them. `gram` has their
// inner products, atoms x pitch, a multiple of PITCH.
template <class T, class I>
Index pursue(const Union& all, const T* gram, const View<const T>& y, int s, double tol, T* values,
             std::int32_t* indices, I* indptr);

// X Y^T into matrix (atoms x n) and X X^T into products (atoms x atoms), of codes X in rows. The sums
// depend on the number of signals and on nothing else.
template <class T>
void code_sums(const SparseRows<T, std::int64_t>& codes, Index atoms, const View<const T>& y, double* matrix,
               double* products);

}  // namespace fost
