#define FOST_NAMESPACE avx2
#include "kernels.inl"
