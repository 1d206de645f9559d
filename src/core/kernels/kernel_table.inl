// The table of one instruction set, which FOST_NAMESPACE names: compiled once for each; see
// simd.hpp for what may be used here.
#include "types/kernel_table.hpp"

#include "kernels/learning/ksvd_sweep.hpp"
#include "kernels/coding/decode.hpp"
#include "kernels/gaussian/conditional_gaussian.hpp"
#include "kernels/patches/filter_groups.hpp"
#include "kernels/gaussian/mixture.hpp"
#include "kernels/pursuit/omp.hpp"
#include "kernels/pursuit/omp_missing.hpp"
#include "kernels/coding/encode.hpp"
#include "kernels/patches/shrink_blocks.hpp"
#include "kernels/learning/polar_decomposition.hpp"
#include "kernels/learning/reflector_sweep.hpp"
#include "kernels/learning/rotation_sweep.hpp"
#include "kernels/pursuit/union_pursuit.hpp"
#include "kernels/coding/encode_variable_length.hpp"

namespace fost {
namespace FOST_NAMESPACE {
namespace {

template <class T> Index scratch_size(Index n) {
  const Index sizes[] = {cosine_scratch<T>(n), select_scratch<T>(n), within_scratch<T>(n)};
  Index largest = 0;
  for (const Index size : sizes) largest = size > largest ? size : largest;
  return largest;
}

template <class T, class I> constexpr SparseKernels<T, I> sparse_table() {
  return {Clean<decode<T, I>>::call, Clean<sum_atoms<T, I>>::call};
}

template <class T> constexpr Kernels<T> table() {
  return {WIDTH<T>,
          scratch_size<T>,
          Clean<apply<T>>::call,
          Clean<encode<T>>::call,
          Clean<encode_within<T>>::call,
          sparse_table<T, std::int32_t>(),
          sparse_table<T, std::int64_t>(),
          Clean<accumulate<T>>::call,
          Clean<squared_norms<T>>::call,
          Clean<upper_inner_products<T>>::call,
          Clean<pursue<T>>::call,
          Clean<pursue_observed<T>>::call,
          Clean<pursue_union<T>>::call,
          Clean<pursue_residuals<T>>::call,
          Clean<sweep_atoms<T>>::call,
          Clean<shrink<T>>::call,
          Clean<advance_samples<T>>::call,
          Clean<filter_groups<T>>::call};
}

}  // namespace

extern const Kernels<float> single = table<float>();
extern const Kernels<double> full = table<double>();
extern const Algebra algebra = {Clean<sweep_reflectors>::call, Clean<lowest_eigenvectors>::call,
                                Clean<solve_procrustes>::call, Clean<sweep_rotations>::call,
                                Clean<condition>::call, LANES<double>, Clean<invert_lanes>::call,
                                Clean<find_energies>::call};

}  // namespace FOST_NAMESPACE
}  // namespace fost
