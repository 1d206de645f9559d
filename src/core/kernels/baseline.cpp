// Kernels for the minimal instruction set of the platform (SSE2 on x86-64, NEON on aarch64).
#define FOST_NAMESPACE baseline
#include "kernels/kernel_table.inl"
