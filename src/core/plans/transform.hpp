// A transform prepared for the kernels: parameters copied, converted to float32 and float64, and
// laid out in the order in which they are read.
#pragma once

#include <deque>
#include <vector>

#include "plans/coder.hpp"
#include "plans/dct.hpp"

namespace fost {

// (y_i, y_j) <- block (y_i, y_j), the block row-major.
struct PlaneRotation {
  std::int32_t i, j;
  double block[4];
};

template <class T> class TransformTables {
 public:
  explicit TransformTables(int n) : n_(n) {}
  TransformTables(const TransformTables&) = delete;
  TransformTables& operator=(const TransformTables&) = delete;

  void add_reflectors(const double* vectors, int count);
  void add_rotations(const std::int32_t* pairs, const double* blocks, int count);
  void add_cosine(const std::vector<int>& shape);
  void add_dense(const double* matrix);
  // The stages of other tables, or their transposes. The other tables must outlive these.
  void add_stages(const TransformTables& other, bool transposed);

  Program<T> program() const { return {n_, static_cast<int>(stages_.size()), stages_.data()}; }

 private:
  T* allocate(std::size_t size);
  Stage<T>& add_stage(StageKind kind, int count);
  Rotations<T> compile(const std::vector<PlaneRotation>& rotations);

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

class TransformPlan : public Coder {
 public:
  explicit TransformPlan(int n) : Coder(n), single(n), full(n) {}

  void add_reflectors(const double* vectors, int count);
  void add_rotations(const std::int32_t* pairs, const double* blocks, int count);
  void add_cosine(const std::vector<int>& shape);
  void add_dense(const double* matrix);
  // Another transform, or its transpose. The other plan must outlive this one.
  void add_plan(const TransformPlan& other, bool transposed);

 private:
  CoderProgram<float> single_program() const override { return {single.program()}; }
  CoderProgram<double> full_program() const override { return {full.program()}; }

  TransformTables<float> single;
  TransformTables<double> full;
};

}  // namespace fost
