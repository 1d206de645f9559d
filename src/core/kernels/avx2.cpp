// Kernels for processors with AVX2, FMA, BMI2 and F16C.
#define FOST_NAMESPACE avx2
#include "kernels/kernel_table.inl"
