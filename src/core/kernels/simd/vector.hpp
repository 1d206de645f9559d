// SIMD vectors of one instruction set, through the vector extensions of GCC and Clang.
//
// All files under kernels/ are compiled once per instruction set by way of kernel_table.inl, with
// FOST_NAMESPACE naming the instruction set. Everything lives in that namespace, and no template of
// the standard library is instantiated: the linker could keep the AVX-512 copy of such a function
// for all callers, which would crash on an older processor.
#pragma once

#include <cstdint>

#include "types/transforms.hpp"

#if defined(__AVX512F__)
#define FOST_VECTOR_BYTES 64
#include <immintrin.h>
#elif defined(__AVX2__)
#define FOST_VECTOR_BYTES 32
#include <immintrin.h>
#else
#define FOST_VECTOR_BYTES 16
#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#endif

#define FOST_INLINE inline __attribute__((always_inline))
// For long unrolled functions with several callers: inlining them would multiply the code size.
#define FOST_NOINLINE __attribute__((noinline))

namespace fost {
namespace FOST_NAMESPACE {

// For a switch whose cases are complete. A trap is safer than the result of another kernel.
[[noreturn]] FOST_INLINE void unreachable() { __builtin_trap(); }

// Clears the upper halves of the vector registers at the end of its scope. Without that, all later
// SSE code of the same thread runs several times slower. The compiler does not insert the
// instruction on every path out of a function.
struct ZeroUpper {
  ~ZeroUpper() {
#if defined(__AVX__)
    _mm256_zeroupper();
#endif
  }
};

// A function followed by ZeroUpper.
template <auto Function> struct WithZeroUpper;
template <class Result, class... Arguments, Result (*Function)(Arguments...)>
struct WithZeroUpper<Function> {
  static Result call(Arguments... arguments) {
    const ZeroUpper zero_upper;
    return Function(arguments...);
  }
};

template <class T> struct IntegerOf;
template <> struct IntegerOf<float> {
  using type = std::int32_t;
};
template <> struct IntegerOf<double> {
  using type = std::int64_t;
};
template <class T> struct UnsignedOf;
template <> struct UnsignedOf<float> {
  using type = std::uint32_t;
};
template <> struct UnsignedOf<double> {
  using type = std::uint64_t;
};

// Number of signals in one vector: one signal per lane.
template <class T> constexpr int LANES = FOST_VECTOR_BYTES / static_cast<int>(sizeof(T));

// Vectors per feature in a tile. Two vectors hide the latency of one and share the loads of
// coefficients. (Four were slower for reflectors and gained little elsewhere.)
constexpr int UNROLL = 2;
template <class T> constexpr int WIDTH = UNROLL * LANES<T>;

template <class T> struct VectorOf {
  typedef T type __attribute__((vector_size(FOST_VECTOR_BYTES)));
  typedef T unaligned
      __attribute__((vector_size(FOST_VECTOR_BYTES), aligned(sizeof(T)), may_alias));
};
template <class T> using Vec = typename VectorOf<T>::type;
template <class T> using Mask = typename VectorOf<typename IntegerOf<T>::type>::type;

template <class T> FOST_INLINE Vec<T> load(const T* p) {
  return *reinterpret_cast<const typename VectorOf<T>::unaligned*>(p);
}
template <class T> FOST_INLINE void store(T* p, Vec<T> v) {
  *reinterpret_cast<typename VectorOf<T>::unaligned*>(p) = v;
}

// Keeps a value in a register, where the compiler would load it from memory again.
template <class V> FOST_INLINE void keep_in_register(V& v) {
#if defined(__x86_64__)
  asm("" : "+v"(v));
#elif defined(__aarch64__)
  asm("" : "+w"(v));
#else
  static_cast<void>(v);
#endif
}

// Keeps an address in a register, where the compiler would compute it again for each nearby access.
template <class P> FOST_INLINE void keep_address(P*& p) { asm("" : "+r"(p)); }

FOST_INLINE Vec<float> absolute(Vec<float> v) {
  return reinterpret_cast<Vec<float>>(reinterpret_cast<Mask<float>>(v) & 0x7fffffff);
}
FOST_INLINE Vec<double> absolute(Vec<double> v) {
  return reinterpret_cast<Vec<double>>(reinterpret_cast<Mask<double>>(v) & 0x7fffffffffffffffLL);
}

template <class T> FOST_INLINE Vec<T> maximum(Vec<T> a, Vec<T> b) { return a > b ? a : b; }
#if defined(__AVX2__) && !defined(__AVX512F__)
// The maximum instruction itself. If the compiler has already computed the comparison for another
// purpose, it selects by that comparison, which takes three instructions.
template <> FOST_INLINE Vec<float> maximum<float>(Vec<float> a, Vec<float> b) {
  return (Vec<float>)_mm256_max_ps((__m256)a, (__m256)b);
}
template <> FOST_INLINE Vec<double> maximum<double>(Vec<double> a, Vec<double> b) {
  return (Vec<double>)_mm256_max_pd((__m256d)a, (__m256d)b);
}
#endif
// The one of a and b with the larger magnitude; for a = -b either of them.
#if defined(__AVX512DQ__)
constexpr bool COMPARES_MAGNITUDES = true;  // by one instruction
FOST_INLINE Vec<float> larger_magnitude(Vec<float> a, Vec<float> b) {
  return (Vec<float>)_mm512_maskz_range_ps(0xffff, (__m512)a, (__m512)b, 0b0111);
}
FOST_INLINE Vec<double> larger_magnitude(Vec<double> a, Vec<double> b) {
  return (Vec<double>)_mm512_maskz_range_pd(0xff, (__m512d)a, (__m512d)b, 0b0111);
}
#else
constexpr bool COMPARES_MAGNITUDES = false;
template <class V> FOST_INLINE V larger_magnitude(V a, V b) {
  return absolute(b) > absolute(a) ? b : a;
}
#endif
template <class T> FOST_INLINE Vec<T> minimum(Vec<T> a, Vec<T> b) { return a < b ? a : b; }

FOST_INLINE Vec<double> square_root(Vec<double> v) {
#if defined(__AVX512F__)
  return (Vec<double>)_mm512_maskz_sqrt_pd(0xff, (__m512d)v);
#elif defined(__AVX2__)
  return (Vec<double>)_mm256_sqrt_pd((__m256d)v);
#else
  for (int l = 0; l < LANES<double>; ++l) v[l] = __builtin_sqrt(v[l]);
  return v;
#endif
}

// Loads LANES<double> numbers as float64. (GCC splits __builtin_convertvector into halves.)
FOST_INLINE Vec<double> load_double(const double* p) { return load(p); }
FOST_INLINE Vec<double> load_double(const float* p) {
#if defined(__AVX512F__)
  // The masked form with all bits set: GCC 12 warns about undefined lanes of the plain intrinsic.
  return (Vec<double>)_mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(p));
#elif defined(__AVX2__)
  return (Vec<double>)_mm256_cvtps_pd(_mm_loadu_ps(p));
#else
  typedef float Half __attribute__((vector_size(FOST_VECTOR_BYTES / 2), aligned(4), may_alias));
  return __builtin_convertvector(*reinterpret_cast<const Half*>(p), Vec<double>);
#endif
}

// Bit l of the result is set where a[l] >= b[l]. These functions need intrinsics because the vector
// extensions have no move-mask operation.
#if defined(__AVX512F__)
FOST_INLINE unsigned at_least(Vec<float> a, Vec<float> b) {
  return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GE_OQ);
}
FOST_INLINE unsigned at_least(Vec<double> a, Vec<double> b) {
  return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_GE_OQ);
}
#else
#if defined(__AVX2__)
FOST_INLINE int sign_bits(Mask<float> m) { return _mm256_movemask_ps((__m256)m); }
FOST_INLINE int sign_bits(Mask<double> m) { return _mm256_movemask_pd((__m256d)m); }
#elif defined(__SSE2__)
FOST_INLINE int sign_bits(Mask<float> m) { return _mm_movemask_ps((__m128)m); }
FOST_INLINE int sign_bits(Mask<double> m) { return _mm_movemask_pd((__m128d)m); }
#else
FOST_INLINE int sign_bits(Mask<float> m) {
  return (m[0] & 1) | (m[1] & 2) | (m[2] & 4) | (m[3] & 8);
}
FOST_INLINE int sign_bits(Mask<double> m) { return static_cast<int>((m[0] & 1) | (m[1] & 2)); }
#endif
FOST_INLINE unsigned at_least(Vec<float> a, Vec<float> b) {
  return static_cast<unsigned>(sign_bits((Mask<float>)(a >= b)));
}
FOST_INLINE unsigned at_least(Vec<double> a, Vec<double> b) {
  return static_cast<unsigned>(sign_bits((Mask<double>)(a >= b)));
}
#endif

template <class T> FOST_INLINE bool any(Mask<T> m) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask((__m512i)m, (__m512i)m) != 0;
#elif defined(__SSE2__)
  return sign_bits(m) != 0;
#else
  typename IntegerOf<T>::type bits = 0;
  for (int l = 0; l < LANES<T>; ++l) bits |= m[l];
  return bits != 0;
#endif
}

template <class T> FOST_INLINE bool all_zero(Vec<T> v) { return !any<T>(Mask<T>(v != Vec<T>{})); }

// Stores the lanes of v where m is set; memory keeps its value in the other lanes.
template <class T> FOST_INLINE void store_where(Mask<T> m, T* p, Vec<T> v) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    _mm512_mask_storeu_ps(p, _mm512_movepi32_mask((__m512i)m), (__m512)v);
  else
    _mm512_mask_storeu_pd(p, _mm512_movepi64_mask((__m512i)m), (__m512d)v);
#else
  store(p, m ? v : load(p));
#endif
}

// A set of lanes as bits. gather_bits transposes 64 such sets: bit i of its result is bit `lane` of
// sets[i].
template <class T> struct LaneSetOf {
  using type = std::uint8_t;
};
#if defined(__AVX512F__)
template <> struct LaneSetOf<float> {
  using type = std::uint16_t;
};
FOST_INLINE std::uint64_t gather_bits(const std::uint16_t* sets, int lane) {
  const __m512i bit = _mm512_set1_epi16(static_cast<short>(1 << lane));
  const std::uint64_t low = _mm512_test_epi16_mask(_mm512_loadu_si512(sets), bit);
  const std::uint64_t high = _mm512_test_epi16_mask(_mm512_loadu_si512(sets + 32), bit);
  return low | high << 32;
}
FOST_INLINE std::uint64_t gather_bits(const std::uint8_t* sets, int lane) {
  return _mm512_test_epi8_mask(_mm512_loadu_si512(sets),
                               _mm512_set1_epi8(static_cast<char>(1 << lane)));
}
#elif defined(__AVX2__)
FOST_INLINE std::uint64_t gather_bits(const std::uint8_t* sets, int lane) {
  std::uint64_t bits = 0;
  for (int k = 0; k < 2; ++k) {
    const __m256i block = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sets + 32 * k));
    const int top = _mm256_movemask_epi8(_mm256_slli_epi16(block, 7 - lane));
    bits |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(top)) << 32 * k;
  }
  return bits;
}
#elif defined(__SSE2__)
FOST_INLINE std::uint64_t gather_bits(const std::uint8_t* sets, int lane) {
  std::uint64_t bits = 0;
  for (int k = 0; k < 4; ++k) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(sets + 16 * k));
    const int top = _mm_movemask_epi8(_mm_sll_epi16(block, _mm_cvtsi32_si128(7 - lane)));
    bits |= static_cast<std::uint64_t>(top) << 16 * k;
  }
  return bits;
}
#else
FOST_INLINE std::uint64_t gather_bits(const std::uint8_t* sets, int lane) {
  std::uint64_t bits = 0;
  for (int i = 0; i < 64; ++i) bits |= static_cast<std::uint64_t>(sets[i] >> lane & 1) << i;
  return bits;
}
#endif
template <class T> using LaneSet = typename LaneSetOf<T>::type;

// The lowest `count` set bits, or all set bits if there are fewer.
FOST_INLINE std::uint64_t lowest_bits(std::uint64_t bits, int count) {
#if defined(__BMI2__)
  return count < 64 ? _pdep_u64((std::uint64_t(1) << count) - 1, bits) : bits;
#else
  std::uint64_t rest = bits;
  for (; count > 0 && rest; --count) rest &= rest - 1;
  return bits ^ rest;
#endif
}

// Prefetches the signals of the next tile while the current tile is computed. A kernel calls step()
// every few vectors, which spreads the memory requests over the computation. Kernels work on a
// local copy of the object so that its fields stay in registers.
//
// Data from main memory arrive faster when the lines of several pages are requested in interleaved
// order: the hardware prefetcher follows each page separately and starts anew at each page
// boundary.
class Prefetch {
 public:
  static constexpr int LINE = 64;

  // Requests the lines in ascending order.
  Prefetch(const void* begin, Index bytes)
      : next_(reinterpret_cast<std::uintptr_t>(begin)),
        end_(next_ + static_cast<std::uintptr_t>(bytes)),
        interleaved_(false) {}

  // Requests lines from the four pages of a window in interleaved order. The requests run one
  // window ahead: once `bytes` have been allowed and requested, the first `bytes` are complete.
  static Prefetch interleaved(const void* begin) {
    Prefetch made(begin, WINDOW);
    made.next_ -= made.next_ % WINDOW;
    made.interleaved_ = true;
    return made;
  }
  void allow(Index bytes) { end_ += static_cast<std::uintptr_t>(bytes); }
  FOST_INLINE bool any() const { return next_ < end_; }

  FOST_INLINE void step() {
    if (next_ >= end_) return;
    if (interleaved_)
      __builtin_prefetch(reinterpret_cast<const void*>(interleaved_address(next_)));
    else
      __builtin_prefetch(reinterpret_cast<const void*>(next_));
    next_ += LINE;
  }

 private:
  static constexpr Index PAGE = 4096, WINDOW = 4 * PAGE;

  // Line address with the two lowest bits of its 8-bit index in the window moved to the front.
  FOST_INLINE static std::uintptr_t interleaved_address(std::uintptr_t line) {
    const std::uintptr_t within = line % WINDOW;
    return line - within + within % (4 * LINE) * (PAGE / LINE) + within / (4 * LINE) * LINE;
  }

  std::uintptr_t next_, end_;
  bool interleaved_;
};

}  // namespace FOST_NAMESPACE
}  // namespace fost
