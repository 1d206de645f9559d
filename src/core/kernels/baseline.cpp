#define FOST_NAMESPACE baseline
#include "kernels/kernel_table.inl"
