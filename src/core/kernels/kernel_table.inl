// The kernel table of one instruction set, which FOST_NAMESPACE names. This file is included by
// baseline.cpp, avx2.cpp and avx512.cpp, and with it everything under kernels/; see
// kernels/simd/vector.hpp for what may be used there.
#include "types/kernel_table.hpp"

#include "kernels/coding/decode.hpp"
#include "kernels/coding/encode.hpp"
#include "kernels/coding/encode_variable_length.hpp"
#include "kernels/gaussian/conditional_gaussian.hpp"
#include "kernels/gaussian/mixture.hpp"
#include "kernels/learning/ksvd_sweep.hpp"
#include "kernels/learning/polar_decomposition.hpp"
#include "kernels/learning/reflector_sweep.hpp"
#include "kernels/learning/rotation_sweep.hpp"
#include "kernels/learning/symmetric_sweep.hpp"
#include "kernels/patches/filter_groups.hpp"
#include "kernels/patches/shrink_blocks.hpp"
#include "kernels/pursuit/batch_omp.hpp"
#include "kernels/pursuit/omp_missing.hpp"
#include "kernels/pursuit/sparse_pursuit.hpp"
#include "kernels/pursuit/union_pursuit.hpp"

namespace fost {
namespace FOST_NAMESPACE {
namespace {

template <class T> Index scratch_size(Index n) {
  const Index sizes[] = {cosine_scratch<T>(n), select_scratch<T>(n), variable_length_scratch<T>(n)};
  Index largest = 0;
  for (const Index size : sizes) largest = size > largest ? size : largest;
  return largest;
}

template <class T, class I> constexpr SparseKernels<T, I> sparse_table() {
  return {WithZeroUpper<decode<T, I>>::call, WithZeroUpper<sum_atoms<T, I>>::call};
}

template <class T> constexpr Kernels<T> table() {
  return {WIDTH<T>,
          scratch_size<T>,
          WithZeroUpper<apply<T>>::call,
          WithZeroUpper<encode<T>>::call,
          WithZeroUpper<encode_variable_length<T>>::call,
          sparse_table<T, std::int32_t>(),
          sparse_table<T, std::int64_t>(),
          WithZeroUpper<accumulate<T>>::call,
          WithZeroUpper<squared_norms<T>>::call,
          WithZeroUpper<upper_inner_products<T>>::call,
          WithZeroUpper<pursue<T>>::call,
          WithZeroUpper<pursue_observed<T>>::call,
          WithZeroUpper<pursue_union<T>>::call,
          WithZeroUpper<pursue_residuals<T>>::call,
          WithZeroUpper<pursue_sparse<T>>::call,
          WithZeroUpper<sweep_atoms<T>>::call,
          WithZeroUpper<shrink<T>>::call,
          WithZeroUpper<step_samples<T>>::call,
          WithZeroUpper<filter_groups<T>>::call};
}

}  // namespace

extern const Kernels<float> single = table<float>();
extern const Kernels<double> full = table<double>();
extern const Algebra algebra = {WithZeroUpper<sweep_reflectors>::call,
                                WithZeroUpper<lowest_eigenvectors>::call,
                                WithZeroUpper<solve_procrustes>::call,
                                WithZeroUpper<sweep_rotations>::call,
                                WithZeroUpper<greedy_rotations>::call,
                                WithZeroUpper<sweep_angles>::call,
                                WithZeroUpper<propose_rotations>::call,
                                WithZeroUpper<condition>::call,
                                LANES<double>,
                                WithZeroUpper<invert_lanes>::call,
                                WithZeroUpper<mahalanobis_distances>::call};

}  // namespace FOST_NAMESPACE
}  // namespace fost
