// Passes over signals with a general dictionary: memory, ranges and threads around the kernels.
#pragma once

#include "pursuit_types.hpp"

namespace fost {

// What the rows of the inner products must be padded to: the longest vector, in numbers.
constexpr int PITCH = 16;

// Codes of y by orthogonal matching pursuit in compressed sparse rows, at most s entries each,
// as in `encode`; `missing` is null where every entry is observed. A pursuit ends early where
// the squared residual is at most `tol`.
template <class T, class I>
Index pursue(const Atoms<T>& atoms, const View<const T>& y, const View<const bool>* missing, int s,
             double tol, T* values, std::int32_t* indices, I* indptr);

// One sweep of approximate K-SVD over the atoms of `order`; atoms (rows of n), residual (rows of
// n) and the values of the codes are updated in place.
template <class T>
void sweep_atoms(const AtomUses<T>& uses, int n, const std::int32_t* order, int count, T* atoms,
                 T* residual);

}  // namespace fost
