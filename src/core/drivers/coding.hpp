// Whole passes over signals: memory, ranges and threads around the kernels.
#pragma once

#include "types/coding.hpp"
#include "plans/transform.hpp"

namespace fost {

// x = forward(y) or inverse(y). False where a result is not finite.
template <class T>
bool apply(const Plan& plan, bool inverse, const View<const T>& y, const View<T>& x);

// Codes of at most s entries in compressed sparse rows, T_s(forward(y)), in a bank that of the
// member which suits a signal best: entry i of member b is entry b n + i. Values and indices have
// room for y.rows * s entries, indptr for y.rows + 1. Returns the number of entries, or -1 where
// a coefficient is not finite.
template <class T, class I>
Index encode(const Coder& coder, const View<const T>& y, int s, T* values, std::int32_t* indices,
             I* indptr);

// x = inverse of sparse rows, by the stages backwards, or as sums of the rows of U^T. Nothing is
// to be made of x where they are not sound.
template <class T, class I>
Decoded decode(const Plan& plan, const SparseRows<T, I>& codes, const View<T>& x);
template <class T, class I>
Decoded sum_atoms(const T* atoms, const SparseRows<T, I>& codes, const View<T>& x);

// M = X Y^T into matrix (atoms x n) and ||X||_F^2 as the result, NaN where an entry of y or of a
// coefficient is not finite, with the codes X of y. The sums depend on the number of signals and
// on nothing else.
template <class T>
double accumulate(const Coder& coder, const View<const T>& y, int s, double* matrix);

}  // namespace fost
