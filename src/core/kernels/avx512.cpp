// Kernels for processors with AVX-512 F, DQ, BW and VL.
#define FOST_NAMESPACE avx512
#include "kernels/kernel_table.inl"
