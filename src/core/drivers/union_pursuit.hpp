// Drivers of pursuit in a union of transforms, and of the sums of codes for updates of unions.
#pragma once

#include "plans/union.hpp"

namespace fost {

// Codes of y by orthogonal matching pursuit in the atoms of a union, as in `pursue` of omp.hpp,
// with explicit residuals or with `gram`, the Gram matrix (atoms x pitch, a multiple of PITCH).
template <class T, class I>
Index pursue(const Union& all, bool residuals, const T* gram, const View<const T>& y, int s,
             double tol, T* values, std::int32_t* indices, I* indptr);

// X Y^T into matrix (atoms x n) and X X^T into products (atoms x atoms), for codes X in rows. The
// sums are bit-identical for any number of threads, because ranges depend on sizes only.
template <class T>
void code_sums(const SparseRows<T, std::int64_t>& codes, Index atoms, const View<const T>& y,
               double* matrix, double* products);

}  // namespace fost
