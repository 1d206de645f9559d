#define FOST_NAMESPACE avx512
#include "kernels.inl"
