// Wrappers of SciPy's gemm that are safe against a concurrent fork.
#include "runtime/blas.hpp"

#include <atomic>
#include <thread>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace fost {
namespace {

Gemm<float> single_product = nullptr;
Gemm<double> full_product = nullptr;
Stemr stemr_routine = nullptr;

std::atomic<int> running{0};  // number of products
std::atomic<int> forking{0};  // number of threads that are forking

// A product during which no fork can begin.
class ProductGuard {
 public:
  ProductGuard() {
    for (++running; forking; ++running) {
      --running;
      while (forking) std::this_thread::yield();
    }
  }
  ~ProductGuard() { --running; }
};

void before_fork() {
  ++forking;
  while (running) std::this_thread::yield();
}
void after_fork_in_parent() { --forking; }
void after_fork_in_child() { forking = 0; }  // the child has no other threads

template <class T>
void multiply(Gemm<T> product, char* side_a, char* side_b, int* m, int* n, int* k, T* alpha, T* a,
              int* lda, T* b, int* ldb, T* beta, T* c, int* ldc) {
  const ProductGuard running;
  product(side_a, side_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void multiply_single(char* side_a, char* side_b, int* m, int* n, int* k, float* alpha, float* a,
                     int* lda, float* b, int* ldb, float* beta, float* c, int* ldc) {
  multiply(single_product, side_a, side_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void multiply_full(char* side_a, char* side_b, int* m, int* n, int* k, double* alpha, double* a,
                   int* lda, double* b, int* ldb, double* beta, double* c, int* ldc) {
  multiply(full_product, side_a, side_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

}  // namespace

void set_gemm(Gemm<float> single, Gemm<double> full) {
#if !defined(_WIN32)
  static const int registered =
      pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  (void)registered;
#endif
  single_product = single;
  full_product = full;
}

template <> Gemm<float> gemm<float>() { return multiply_single; }
template <> Gemm<double> gemm<double>() { return multiply_full; }

void set_stemr(Stemr routine) { stemr_routine = routine; }
Stemr stemr() { return stemr_routine; }

}  // namespace fost
