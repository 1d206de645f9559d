// The kernel table: the functions that drivers call, one table per instruction set.
#pragma once

#include "types/coding.hpp"
#include "types/gaussian.hpp"
#include "types/groups.hpp"
#include "types/learning.hpp"
#include "types/patches.hpp"
#include "types/pursuit.hpp"

namespace fost {

template <class T, class I> struct SparseKernels {
  // x[first:last] = inverse transform of the sparse rows first:last, by the stages in reverse ...
  DecodeStatus (*decode)(const Program<T>&, const SparseRows<T, I>&, const View<T>& x, Index first,
                         Index last, const Workspace<T>&);

  // ... or as sums of atoms, the rows of U^T. Rows of x must be contiguous.
  DecodeStatus (*sum_atoms)(const T* atoms, const SparseRows<T, I>&, const View<T>& x, Index first,
                            Index last);
};

template <class T> struct Kernels {
  // Number of signals processed side by side.
  int width;

  // Required entries of Workspace::scratch for signals of n features.
  Index (*scratch_size)(Index n);

  // x[first:last] = forward (or inverse) transform of y[first:last]. False if a result is not
  // finite.
  bool (*apply)(const Program<T>&, bool inverse, const View<const T>& y, const View<T>& x,
                Index first, Index last, const Workspace<T>&);

  // Rows first:last of T_s(forward(y)). A bank uses the member that keeps the most energy: entry i
  // of member b is entry b n + i of the codes. False if a coefficient is not finite.
  bool (*encode)(const CoderProgram<T>&, const View<const T>& y, Index first, Index last,
                 const Codes<T>&, const BankMemory<T>&, const Workspace<T>&);

  // Variable-length codes of the rows first:last, as rows 0, 1, ... of the codes; a bank uses the
  // member with the best score. `selected` has room for one tile. False if a coefficient is not
  // finite.
  bool (*encode_variable_length)(const CoderProgram<T>&, const View<const T>& y, Index first,
                                 Index last, const CodeLimits&, const Codes<T>&,
                                 const BankMemory<T>&, Selected* selected, const Workspace<T>&);

  // Kernels that decode sparse rows, by the type of their indptr.
  SparseKernels<T, std::int32_t> int32_rows;
  SparseKernels<T, std::int64_t> int64_rows;

  // Adds X Y^T and ||X||_F^2 of the rows first:last, where X are their codes. False if an entry is
  // not finite.
  bool (*accumulate)(const CoderProgram<T>&, const View<const T>& y, Index first, Index last,
                     Statistic&, const BatchMemory<T>&, const BankMemory<T>&, const Workspace<T>&);

  // Squared norms of rows of n numbers.
  void (*squared_norms)(const T* rows, Index n, Index count, double* out);

  // Entries from the diagonal on of the rows first:last of the Gram matrix of the atoms.
  void (*upper_inner_products)(const T* atoms, int n, int count, int pitch, Index first, Index last,
                               T* gram);

  // Rows first:last of the codes of y by orthogonal matching pursuit, of complete signals ...
  bool (*pursue)(const Atoms<T>&, const View<const T>& y, Index first, Index last, const Codes<T>&,
                 const PursuitMemory<T>&);

  // ... or of the entries that are not missing. False if an entry is not finite.
  bool (*pursue_observed)(const Atoms<T>&, const View<const T>& y, const View<const bool>& missing,
                          Index first, Index last, const Codes<T>&, const PursuitMemory<T>&);

  // OMP of complete signals in the union of several orthonormal bases: with the Gram matrix, or
  // with explicit residuals.
  bool (*pursue_union)(const UnionProgram<T>&, const Atoms<T>&, const View<const T>& y, Index first,
                       Index last, const Codes<T>&, const PursuitMemory<T>&, const BankMemory<T>&,
                       const Workspace<T>&);
  bool (*pursue_residuals)(const UnionProgram<T>&, const Atoms<T>&, const View<const T>& y,
                           Index first, Index last, const Codes<T>&, const PursuitMemory<T>&,
                           const BankMemory<T>&, const Workspace<T>&);

  // OMP of complete signals in sparse combinations of the atoms of a base.
  bool (*pursue_sparse)(const Program<T>& base, const SparseAtoms<T>&, const Atoms<T>&,
                        const View<const T>& y, Index first, Index last, const Codes<T>&,
                        const PursuitMemory<T>&, const Workspace<T>&);

  // One K-SVD sweep: updates the atoms of `order`, the coefficients of the signals that use them
  // and the residual, one atom after another. New atoms keep their largest `entries` entries.
  void (*sweep_atoms)(const AtomUses<T>&, int n, int entries, const std::int32_t* order, int count,
                      T* atoms, T* residual, double* direction, T* atom);

  // Adds the blocks of a grid, shrunk in the domain of a transform (see shrinkage.hpp). A bank
  // averages the results of its members, weighted by differences of their cost times `sharpness`.
  // With a momentum state whose estimate is the volume of the grid, finished rows may take their
  // step at once and are then marked as done.
  void (*shrink)(const CoderProgram<T>&, const BlockGrid<T>&, T level, T sharpness,
                 const WeightedSums<T>&, const MomentumState<T>*, const FilterMemory<T>&,
                 const Workspace<T>&);

  // Momentum step of samples first:last towards the weighted means, which are reset to zero.
  void (*momentum_step)(const MomentumState<T>&, const WeightedSums<T>&, Index first, Index last);

  // Adds the filtered blocks of a range of groups (see group_wiener.hpp).
  void (*filter_groups)(const GroupTask<T>&, const GroupRange&, const GroupSums<T>&,
                        const GroupMemory<T>&);

  const SparseKernels<T, std::int32_t>& sparse(std::int32_t) const { return int32_rows; }
  const SparseKernels<T, std::int64_t>& sparse(std::int64_t) const { return int64_rows; }
};

// Linear algebra of learning and of Gaussians, always in float64.
struct Algebra {
  // Updates m reflectors (rows of `vectors`) in the given order for the statistic M; the first
  // begins[j] entries of vector j stay zero. If `single` is set, M may be rounded to float32.
  void (*sweep_reflectors)(const double* statistic, int n, double* vectors, int m,
                           const std::int32_t* order, const std::int32_t* begins, bool single,
                           const SweepMemory&);

  // Replaces m reflectors by the eigenvectors of the lowest eigenvalues of M + M^T.
  void (*lowest_eigenvectors)(const double* statistic, int n, double* vectors, int m,
                              const SweepMemory&);

  // The orthonormal matrix that is best for the statistic M; among several, the one nearest to the
  // current one. False if M is so close to singular that an SVD is needed.
  bool (*solve_procrustes)(const double* statistic, const double* current, int n, double* found,
                           const PolarMemory&);

  // Updates g rotations for the statistic M until one gains no more than `least`; returns the
  // number of updated rotations.
  int (*sweep_rotations)(const double* statistic, const RotationMemory&, int n, std::int32_t* pairs,
                         double* blocks, double* gains, int g, double least);

  // Rotations of a symmetric matrix, see kernels/learning/symmetric_sweep.hpp: appended greedily,
  // with optimised angles, and proposed for every place of a chain.
  int (*greedy_rotations)(const PaddedMatrix& a, const double* w, const GreedyMemory&,
                          const RotationChain&, double least, double enough);
  void (*sweep_angles)(const PaddedMatrix& a, const PaddedMatrix& d, const RotationChain&,
                       bool backward);
  void (*propose_rotations)(const PaddedMatrix& a, const PaddedMatrix& d, const PaddedMatrix& k,
                            const InsertionMemory&, const RotationChain&, std::int32_t* partners,
                            double* scores);

  // Replaces missing entries of the signals first:last of the order by their conditional means
  // under a Gaussian. If `sum` is not null, adds their weighted conditional covariances to its
  // lower triangle.
  void (*condition)(const Gaussian&, const IncompleteRows&, Index first, Index last, double* sum,
                    const ConditioningMemory&);

  // The inverses of up to `lanes` <= MAX_LANES covariances and the logarithms of their
  // determinants.
  int lanes;
  void (*invert_lanes)(const double* const* covariances, int n, int active, double* const* inverses,
                       double* logarithms, const InverseMemory&);

  // Squared Mahalanobis distances of the signals first:last from the Gaussians of a mixture.
  void (*mahalanobis_distances)(const MahalanobisTask&, Index first, Index last, float* memory);
};

namespace baseline {
extern const Kernels<float> single;
extern const Kernels<double> full;
extern const Algebra algebra;
}  // namespace baseline
#if defined(__x86_64__)
namespace avx2 {
extern const Kernels<float> single;
extern const Kernels<double> full;
extern const Algebra algebra;
}  // namespace avx2
namespace avx512 {
extern const Kernels<float> single;
extern const Kernels<double> full;
extern const Algebra algebra;
}  // namespace avx512
#endif

}  // namespace fost
