// BLAS and LAPACK as the kernels call them: SciPy's routines, which Python hands over.
#pragma once

#include "types/learning.hpp"
#include "types/coding.hpp"

namespace fost {

// The products that dense stages and pursuits use; must be set before one of them runs.
void set_gemm(Gemm<float> single, Gemm<double> full);
// A fork waits until no product runs: BLAS takes locks in them, and one that is held while
// the process forks stays locked in the child.
template <class T> Gemm<T> gemm();
template <> Gemm<float> gemm<float>();
template <> Gemm<double> gemm<double>();

// The LAPACK routine that sweeps use; must be set before one runs.
void set_stemr(Stemr routine);
Stemr stemr();

}  // namespace fost
