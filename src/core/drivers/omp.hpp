// Passes over signals with a general dictionary: memory, ranges and threads around the kernels.
#pragma once

#include <utility>

#include "types/pursuit.hpp"

namespace fost {

// Up to so many signals, BLAS would take longer to copy the atoms than the products take.
constexpr int FEW_SIGNALS = 8;

// The least and the largest squared norm of `count` rows of n numbers, NaN where one of these is.
template <class T> std::pair<double, double> squared_norms(const T* rows, Index n, Index count);

// Inner products of atoms (rows of n) into `gram`, count x pitch, a multiple of PITCH.
template <class T> void inner_products(const T* rows, int n, int count, int pitch, T* gram);

// Codes of y by orthogonal matching pursuit in compressed sparse rows, at most s entries each,
// as in `encode`; `missing` is null where every entry is observed. A pursuit ends early where
// the squared residual is at most `tol`. Where the atoms come without inner products, these are
// computed, for few signals only of those atoms that are chosen.
template <class T, class I>
Index pursue(const Atoms<T>& atoms, const View<const T>& y, const View<const bool>* missing, int s,
             double tol, T* values, std::int32_t* indices, I* indptr);

// One sweep of approximate K-SVD over the atoms of `order`; atoms (rows of n), residual (rows of
// n) and the values of the codes are updated in place.
template <class T>
void sweep_atoms(const AtomUses<T>& uses, int n, const std::int32_t* order, int count, T* atoms,
                 T* residual);

}  // namespace fost
