// A transform made ready for the kernels: parameters copied, converted to float32 and
// float64, and laid out in the order in which they are read.
#pragma once

#include <deque>
#include <vector>

#include "cosine_plan.hpp"
#include "types.hpp"

namespace fost {

// (y_i, y_j) <- block (y_i, y_j), the block row-major.
struct Turn {
  std::int32_t i, j;
  double block[4];
};

template <class T> class Tables {
 public:
  explicit Tables(int n) : n_(n) {}
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  void add_reflectors(const double* vectors, int count);
  void add_rotations(const std::int32_t* pairs, const double* blocks, int count);
  void add_cosine(const std::vector<int>& shape);
  void add_dense(const double* matrix);

  Program<T> program() const { return {n_, static_cast<int>(stages_.size()), stages_.data()}; }

 private:
  T* allocate(std::size_t size);
  Stage<T>& add_stage(Kind kind, int count);
  Rotations<T> compile(const std::vector<Turn>& turns);

  int n_;
  std::vector<Stage<T>> stages_;
  // Deques, so that pointers into them stay valid as they grow.
  std::deque<std::vector<T>> numbers_;
  std::deque<std::vector<RowPair>> rows_;
  std::deque<std::vector<std::int32_t>> scaled_;
  std::deque<std::vector<ReflectorGroup<T>>> groups_;
  CosineTables<T> cosines_;
  std::deque<std::vector<CosineAxis<T>>> axes_;
};

// What drivers want to know of anything that codes signals.
struct Demands {
  int n;
  bool has_dense = false;  // a stage cannot work in place
  bool uses_blas = false;  // a stage wants wide tiles
  double operations = 0;   // multiply-adds and so on per signal, to judge what threads are worth
};

class Plan : public Demands {
 public:
  explicit Plan(int n) : Demands{n}, single(n), full(n) {}

  void add_reflectors(const double* vectors, int count);
  void add_rotations(const std::int32_t* pairs, const double* blocks, int count);
  void add_cosine(const std::vector<int>& shape);
  void add_dense(const double* matrix);

  template <class T> Program<T> program() const;

 private:
  Tables<float> single;
  Tables<double> full;
};

template <> inline Program<float> Plan::program<float>() const { return single.program(); }
template <> inline Program<double> Plan::program<double>() const { return full.program(); }

template <class T> class BankTables {
 public:
  BankTables(const Plan& base, const std::vector<const Plan*>& members);
  BankTables(const BankTables&) = delete;
  BankTables& operator=(const BankTables&) = delete;

  const BankProgram<T>& program() const { return program_; }

 private:
  std::vector<std::int32_t> move_to_board(BankMember<T>& member);

  BankProgram<T> program_;
  std::vector<BankMember<T>> members_;
  std::deque<std::vector<RowPair>> rows_, places_;
  std::deque<std::vector<T>> scales_;
  std::vector<RowPair> common_;
  std::vector<T> ones_;
};

// Several plans for the same signals, beyond a base that they share. The plans must outlive it.
class Bank : public Demands {
 public:
  Bank(const Plan& base, const std::vector<const Plan*>& members);

  int count;
  template <class T> const BankProgram<T>& program() const;

 private:
  BankTables<float> single;
  BankTables<double> full;
};

template <> inline const BankProgram<float>& Bank::program<float>() const { return single.program(); }
template <> inline const BankProgram<double>& Bank::program<double>() const { return full.program(); }

}  // namespace fost
