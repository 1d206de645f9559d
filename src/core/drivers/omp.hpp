// Drivers of orthogonal matching pursuit and K-SVD with general and with sparse dictionaries.
#pragma once

#include <utility>

#include "plans/transform.hpp"
#include "types/pursuit.hpp"

namespace fost {

// The least and the largest squared norm of `count` rows of n numbers; NaN if any is NaN.
template <class T> std::pair<double, double> squared_norms(const T* rows, Index n, Index count);

// The Gram matrix of atoms (rows of n) into `gram`, count x pitch, a multiple of PITCH.
template <class T> void inner_products(const T* rows, int n, int count, int pitch, T* gram);

// Codes of y by orthogonal matching pursuit in compressed sparse rows with at most s entries each,
// as in `encode`; `missing` is null if every entry is observed. A pursuit ends when the squared
// residual is at most `tol`. If the atoms come without a Gram matrix it is computed; for few
// signals only the rows of chosen atoms.
template <class T, class I>
Index pursue(const Atoms<T>& atoms, const View<const T>& y, const View<const bool>* missing, int s,
             double tol, T* values, std::int32_t* indices, I* indptr);

// The same for `count` sparse atoms over a base; `gram` has their inner products (count x pitch, a
// multiple of PITCH).
template <class T, class I>
Index pursue_sparse(const TransformPlan& base, const SparseAtoms<T>& sparse, int count,
                    const T* gram, const View<const T>& y, int s, double tol, T* values,
                    std::int32_t* indices, I* indptr);

// One sweep of approximate K-SVD over the atoms of `order`; atoms (rows of n), residual (rows of n)
// and the values of the codes are updated in place. New atoms have at most `entries` entries.
template <class T>
void sweep_atoms(const AtomUses<T>& uses, int n, int entries, const std::int32_t* order, int count,
                 T* atoms, T* residual);

}  // namespace fost
