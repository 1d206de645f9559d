// Streaming (non-temporal) stores, which write to memory without reading the cache lines first.
#pragma once

#include "kernels/simd/vector.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// p must be aligned to a vector.
template <class T> FOST_INLINE void stream_vector(T* p, Vec<T> v) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(p), (__m512i)v);
#elif defined(__AVX2__)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), (__m256i)v);
#elif defined(__SSE2__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(p), (__m128i)v);
#else
  store(p, v);
#endif
}

// Completes earlier streaming stores before other threads are told that the data are there.
FOST_INLINE void stream_fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// Copies numbers by streaming stores. The result is NaN where a number is not finite, else zero.
template <class T>
FOST_INLINE Vec<T> stream(const T* from, Index count, T* to, Prefetch& ahead) {
  constexpr Index LINE = 64 / static_cast<Index>(sizeof(T));
  constexpr int VECTORS = 64 / FOST_VECTOR_BYTES;
  Vec<T> zeros[VECTORS] = {};
  const auto copy = [&](Index i) {
    to[i] = from[i];
    zeros[0][0] += from[i] * T(0);
  };
  Index i = 0;
  for (; i < count && reinterpret_cast<std::uintptr_t>(to + i) % 64; ++i) copy(i);
  for (; i + LINE <= count; i += LINE) {
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) {
      const Vec<T> a = load(from + i + v * LANES<T>);
      stream_vector<T>(to + i + v * LANES<T>, a);
      zeros[v] += a * T(0);
    }
    ahead.step();
  }
  for (; i < count; ++i) copy(i);
  for (int v = 1; v < VECTORS; ++v) zeros[0] += zeros[v];
  return zeros[0];
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
