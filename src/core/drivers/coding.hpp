// Drivers of coding: transform, encode, decode and accumulate all signals, with working memory and
// threads.
#pragma once

#include "plans/transform.hpp"
#include "types/coding.hpp"

namespace fost {

// x = forward(y) or inverse(y). Returns false if a result is not finite.
template <class T>
bool apply(const TransformPlan& plan, bool inverse, const View<const T>& y, const View<T>& x);

// Codes of at most s entries in compressed sparse rows, T_s(forward(y)). A bank uses the member
// that keeps the most energy: entry i of member b is entry b n + i. Values and indices have room
// for y.rows * s entries, indptr for y.rows + 1. Returns the number of entries, or -1 if a
// coefficient is not finite.
template <class T, class I>
Index encode(const Coder& coder, const View<const T>& y, int s, T* values, std::int32_t* indices,
             I* indptr);

// x = inverse of sparse rows, by the stages in reverse, or as sums of the rows of U^T. x is
// undefined unless the status is ok.
template <class T, class I>
DecodeStatus decode(const TransformPlan& plan, const SparseRows<T, I>& codes, const View<T>& x);
template <class T, class I>
DecodeStatus sum_atoms(const T* atoms, const SparseRows<T, I>& codes, const View<T>& x);

// M = X Y^T into matrix (atoms x n), where X are the codes of y. Returns ||X||_F^2, or NaN if an
// entry of y or a coefficient is not finite. The sums are bit-identical for any number of threads,
// because ranges depend on the number of signals only.
template <class T>
double accumulate(const Coder& coder, const View<const T>& y, int s, double* matrix);

}  // namespace fost
