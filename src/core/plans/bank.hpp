// A bank of transforms prepared for the kernels: which features the members change, and rotations
// on 2 n coefficient rows (see BankMember).
#pragma once

#include <deque>
#include <vector>

#include "plans/transform.hpp"

namespace fost {

template <class T> class BankTables {
 public:
  BankTables(const TransformPlan& base, const std::vector<const TransformPlan*>& members);
  BankTables(const BankTables&) = delete;
  BankTables& operator=(const BankTables&) = delete;

  const CoderProgram<T>& program() const { return program_; }

 private:
  std::vector<std::int32_t> redirect_rotations(BankMember<T>& member);

  CoderProgram<T> program_;
  std::vector<BankMember<T>> members_;
  std::deque<std::vector<RowPair>> rows_, places_;
  std::deque<std::vector<T>> scales_;
  std::vector<RowPair> common_;
  std::vector<T> ones_;
};

// Several plans for the same signals, beyond a base that they share. The plans must outlive it.
class Bank : public Coder {
 public:
  Bank(const TransformPlan& base, const std::vector<const TransformPlan*>& members);

 private:
  CoderProgram<float> single_program() const override { return single.program(); }
  CoderProgram<double> full_program() const override { return full.program(); }

  BankTables<float> single;
  BankTables<double> full;
};

}  // namespace fost
