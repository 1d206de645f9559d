#define FOST_NAMESPACE avx2
#include "kernels/kernel_table.inl"
