#define FOST_NAMESPACE avx512
#include "kernels/kernel_table.inl"
