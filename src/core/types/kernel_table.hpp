// The kernels of one instruction set as a table of functions, and the table in use.
#pragma once

#include "types/learning.hpp"
#include "types/gaussian.hpp"
#include "types/groups.hpp"
#include "types/coding.hpp"
#include "types/patches.hpp"
#include "types/pursuit.hpp"

namespace fost {

template <class T, class I> struct SparseKernels {
  // x[first:last] = inverse of the sparse rows first:last, by the stages backwards ...
  Decoded (*decode)(const Program<T>&, const SparseRows<T, I>&, const View<T>& x, Index first,
                    Index last, const Workspace<T>&);

  // ... or as sums of atoms, the rows of U^T. x has contiguous rows.
  Decoded (*sum_atoms)(const T* atoms, const SparseRows<T, I>&, const View<T>& x, Index first,
                       Index last);
};

template <class T> struct Kernels {
  // Signals that the kernels handle side by side.
  int width;

  // Entries of Workspace::scratch for signals of n features.
  Index (*scratch_size)(Index n);

  // x[first:last] = forward (or inverse) of y[first:last]. False where a result is not finite.
  bool (*apply)(const Program<T>&, bool inverse, const View<const T>& y, const View<T>& x,
                Index first, Index last, const Workspace<T>&);

  // Rows first:last of T_s(forward(y)), in a bank that of the member which suits a signal best:
  // entry i of member b is entry b n + i of the codes. False where a coefficient is not finite.
  bool (*encode)(const CoderProgram<T>&, const View<const T>& y, Index first, Index last,
                 const Codes<T>&, const BankMemory<T>&, const Workspace<T>&);

  // Codes of the rows first:last by a rule, in a bank by the member that it likes best, as rows 0 on
  // of the codes. `kept` has room for one tile. False where a coefficient is not finite.
  bool (*encode_within)(const CoderProgram<T>&, const View<const T>& y, Index first, Index last,
                        const Rule&, const Codes<T>&, const BankMemory<T>&, Kept* kept,
                        const Workspace<T>&);

  // Those that decode sparse rows, by the type of their indptr.
  SparseKernels<T, std::int32_t> short_rows;
  SparseKernels<T, std::int64_t> long_rows;

  // Adds X Y^T and ||X||_F^2 of the rows first:last, with their codes X. False where an entry is
  // not finite.
  bool (*accumulate)(const CoderProgram<T>&, const View<const T>& y, Index first, Index last,
                     Statistic&, const BatchMemory<T>&, const BankMemory<T>&, const Workspace<T>&);

  // Squared norms of rows of n numbers.
  void (*squared_norms)(const T* rows, Index n, Index count, double* out);

  // Entries from the diagonal on of the rows first:last of the atoms' inner products.
  void (*upper_inner_products)(const T* atoms, int n, int count, int pitch, Index first, Index last,
                               T* gram);

  // Rows first:last of the codes of y by orthogonal matching pursuit, of whole signals ...
  bool (*pursue)(const Atoms<T>&, const View<const T>& y, Index first, Index last,
                 const Codes<T>&, const PursuitMemory<T>&);

  // ... or of those entries that are not missing. False where an entry is not finite.
  bool (*pursue_observed)(const Atoms<T>&, const View<const T>& y, const View<const bool>& missing,
                          Index first, Index last, const Codes<T>&, const PursuitMemory<T>&);

  // The same in the atoms of several transforms, of whole signals.
  bool (*pursue_union)(const UnionProgram<T>&, const Atoms<T>&, const View<const T>& y, Index first,
                       Index last, const Codes<T>&, const PursuitMemory<T>&, const BankMemory<T>&,
                       const Workspace<T>&);
  bool (*pursue_residuals)(const UnionProgram<T>&, const Atoms<T>&, const View<const T>& y, Index first,
                           Index last, const Codes<T>&, const PursuitMemory<T>&, const BankMemory<T>&,
                           const Workspace<T>&);

  // Updates the atoms of `order` and the coefficients of the signals that use them, together
  // with the residual, one atom after another.
  void (*sweep_atoms)(const AtomUses<T>&, int n, const std::int32_t* order, int count, T* atoms,
                      T* residual, double* direction, T* atom);

  // Adds the blocks of a grid, shrunk in the transform's domain (see shrinkage.hpp), or in the
  // domains of all members of a bank: of those that suit a block about equally well, by
  // differences of cost against 1 / sharpness. With a motion, of which the grid has the estimate, rows
  // may go on at once instead, and are done then.
  void (*shrink)(const CoderProgram<T>&, const BlockGrid<T>&, T level, T sharpness,
                 const Overlay<T>&, const Motion<T>*, const FilterMemory<T>&, const Workspace<T>&);

  // Samples first:last of an estimate go on towards the means of an overlay, which is empty then.
  void (*advance)(const Motion<T>&, const Overlay<T>&, Index first, Index last);

  // Adds the blocks of the groups of a range, filtered together (see group_filter.hpp).
  void (*filter_groups)(const GroupTask<T>&, const GroupRange&, const GroupSums<T>&,
                        const GroupMemory<T>&);

  const SparseKernels<T, std::int32_t>& sparse(std::int32_t) const { return short_rows; }
  const SparseKernels<T, std::int64_t>& sparse(std::int64_t) const { return long_rows; }
};

// Algebra on n x n statistics, always in float64.
struct Algebra {
  // Updates m reflectors (rows of `vectors`) in the given order for the statistic M; vector j
  // keeps its first begins[j] entries zero.
  void (*sweep_reflectors)(const double* statistic, int n, double* vectors, int m,
                           const std::int32_t* order, const std::int32_t* begins,
                           const SweepMemory&);

  // Replaces m reflectors by the eigenvectors of the lowest eigenvalues of M + M^T.
  void (*lowest_eigenvectors)(const double* statistic, int n, double* vectors, int m,
                              const SweepMemory&);

  // The best orthonormal matrix for the statistic M, of several the nearest to the current one;
  // false where that is left to an SVD.
  bool (*solve_procrustes)(const double* statistic, const double* current, int n, double* found,
                           const PolarMemory&);

  // Updates g rotations for the statistic M until one gains no more than `least`; returns how
  // many were updated.
  int (*sweep_rotations)(const double* statistic, const RotationMemory&, int n,
                         std::int32_t* pairs, double* blocks, double* gains, int g, double least);

  // Fills the gaps of signals first:last of the order by their conditional means under a Gaussian.
  // Where `sum` is not null, adds their weighted conditional covariances to its lower triangle.
  void (*condition)(const Gaussian&, const GappedRows&, Index first, Index last, double* sum,
                    const GapMemory&);

  // The inverses of up to MOST_LANES covariances, `lanes` at most, and the logarithms of their
  // determinants.
  int lanes;
  void (*invert_lanes)(const double* const* covariances, int n, int active, double* const* inverses,
                       double* logarithms, const InverseMemory&);

  // How far the signals first:last are from the means of Gaussians, by their inverse covariances.
  void (*find_energies)(const Distances&, Index first, Index last, float* memory);
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
