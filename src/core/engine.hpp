// Whole passes over signals: memory, ranges and threads around the kernels.
#pragma once

#include "plan.hpp"
#include "types.hpp"

namespace fost {

// x = forward(y) or inverse(y). False where a result is not finite.
template <class T>
bool apply(const Plan& plan, bool inverse, const View<const T>& y, const View<T>& x);

// T_s(forward(y)) in compressed sparse rows: values and indices have room for y.rows * s
// entries, indptr for y.rows + 1. Returns the number of entries, or -1 where a coefficient
// is not finite.
template <class T, class I>
Index encode(const Plan& plan, const View<const T>& y, int s, T* values, std::int32_t* indices,
             I* indptr);

// x = inverse of sparse rows, by the stages backwards, or as sums of the rows of U^T.
template <class T> void decode(const Plan& plan, const SparseRows<T>& codes, const View<T>& x);
template <class T> void sum_atoms(const T* atoms, const SparseRows<T>& codes, const View<T>& x);

// M = X Y^T into matrix (n x n) and ||X||_F^2 as the result, NaN where an entry of y or of a
// coefficient is not finite, with X = T_s(forward(y)). The sums depend on the number of
// signals and on nothing else.
template <class T>
double accumulate(const Plan& plan, const View<const T>& y, int s, double* matrix);

// The same in that member of a bank which suits a signal best: entry i of member b is entry
// b n + i, and the matrix has as many rows as all members have atoms.
template <class T, class I>
Index encode(const Bank& bank, const View<const T>& y, int s, T* values, std::int32_t* indices,
             I* indptr);
template <class T>
double accumulate(const Bank& bank, const View<const T>& y, int s, double* matrix);

// Updates the rows of `vectors` (m x n) in the given order for the statistic (n x n).
void sweep_reflectors(const double* statistic, int n, double* vectors, int m,
                      const std::int32_t* order, const std::int32_t* begins);

// Replaces the rows of `vectors` (m x n) by the eigenvectors of the lowest negative eigenvalues
// of M + M^T, the lowest last, or zeros; faster the closer they are already.
void lowest_eigenvectors(const double* statistic, int n, double* vectors, int m);

// Updates the rotations (g pairs and blocks) in place until one gains no more than `least`;
// returns how many were updated.
int sweep_rotations(const double* statistic, int n, std::int32_t* pairs, double* blocks,
                    double* gains, int g, double least);

}  // namespace fost
