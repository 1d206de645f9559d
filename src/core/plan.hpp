// A transform made ready for the kernels: parameters copied, converted to float32 and
// float64, and laid out in the order in which they are read.
#pragma once

#include <deque>
#include <vector>

#include "types.hpp"

namespace fost {

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
  const CosineLevel<T>* cosine_levels(int length);

  int n_;
  std::vector<Stage<T>> stages_;
  // Deques, so that pointers into them stay valid as they grow.
  std::deque<std::vector<T>> numbers_;
  std::deque<std::vector<std::int32_t>> pairs_;
  std::deque<std::vector<ReflectorGroup<T>>> groups_;
  std::deque<std::vector<CosineLevel<T>>> levels_;
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

// Several plans for the same signals, beyond a base that they share.
class Bank : public Demands {
 public:
  Bank(const Plan& base, std::vector<const Plan*> members);

  const Plan* base;
  std::vector<const Plan*> members;
};

template <> inline Program<float> Plan::program<float>() const { return single.program(); }
template <> inline Program<double> Plan::program<double>() const { return full.program(); }

}  // namespace fost
