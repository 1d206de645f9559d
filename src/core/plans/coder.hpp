// The base class of coders: a transform alone (TransformPlan) or a bank of several (Bank).
#pragma once

#include "types/transforms.hpp"

namespace fost {

class Coder {
 public:
  explicit Coder(int n_features) : n(n_features) {}
  virtual ~Coder() = default;

  // For kernels; the result points into this object.
  template <class T> CoderProgram<T> program() const;

  Index n_atoms() const { return Index(n) * (n_members ? n_members : 1); }

  int n;                   // features
  int n_members = 0;       // 0 for a transform alone
  bool has_dense = false;  // a stage cannot work in place
  bool uses_blas = false;  // a stage needs wide tiles
  double operations = 0;   // arithmetic operations per signal, to choose the number of threads

 private:
  virtual CoderProgram<float> single_program() const = 0;
  virtual CoderProgram<double> full_program() const = 0;
};

template <> inline CoderProgram<float> Coder::program<float>() const { return single_program(); }
template <> inline CoderProgram<double> Coder::program<double>() const { return full_program(); }

}  // namespace fost
