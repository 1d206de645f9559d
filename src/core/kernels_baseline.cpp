#define FOST_NAMESPACE baseline
#include "kernels.inl"
