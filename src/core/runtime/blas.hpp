// BLAS and LAPACK for the kernels: SciPy's routines, whose addresses Python passes in.
#pragma once

#include "types/coding.hpp"
#include "types/learning.hpp"

namespace fost {

// Matrix products for dense stages and pursuit; must be set before their first use.
void set_gemm(Gemm<float> single, Gemm<double> full);
// A fork waits until no product is running: BLAS holds locks during a product, and a lock held
// during a fork stays locked in the child.
template <class T> Gemm<T> gemm();
template <> Gemm<float> gemm<float>();
template <> Gemm<double> gemm<double>();

// The LAPACK routine of the reflector sweep; must be set before its first use.
void set_stemr(Stemr routine);
Stemr stemr();

}  // namespace fost
