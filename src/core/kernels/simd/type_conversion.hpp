// Conversion of 8-bit, 16-bit and float16 signals to float32 as they are loaded into a tile.
#pragma once

#include "kernels/simd/vector.hpp"
#include "types/coding.hpp"

namespace fost {
namespace FOST_NAMESPACE {

template <class T, int STRIDE>
void load_lanes(const View<const T>& y, Index first, int rows, T* out, Index width,
                Prefetch& ahead);

// Converts one float16 number by its bits and without branches, so that compilers can vectorise it.
FOST_INLINE float float_from_half(std::uint16_t half) {
  const std::int32_t sign = static_cast<std::int32_t>(half & 0x8000) << 16, rest = half & 0x7fff;
  // The exponent bias differs by 112. The smallest exponent means a subnormal number, the largest
  // one infinity or NaN.
  const std::int32_t small = (rest - 0x400) >> 31, beyond = (0x7bff - rest) >> 31;
  const std::int32_t normal = (rest << 13) + (112 << 23) + (beyond & (112 << 23));
  const float scaled = static_cast<float>(rest) * 0x1p-24f;
  const std::int32_t bits = (small & __builtin_bit_cast(std::int32_t, scaled)) | (~small & normal);
  return __builtin_bit_cast(float, bits | sign);
}

// Converts `count` numbers, `step` apart, to float32.
template <class S> FOST_INLINE void convert(const S* from, Index step, Index count, float* to) {
  if (step == 1)
    for (Index i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
  else
    for (Index i = 0; i < count; ++i) to[i] = static_cast<float>(from[i * step]);
}

// A float16 number.
struct Half {
  std::uint16_t bits;
};
FOST_INLINE void convert(const Half* from, Index step, Index count, float* to) {
  Index i = 0;
#if defined(__F16C__)
  if (step == 1)
    for (; i + 8 <= count; i += 8)
      _mm256_storeu_ps(
          to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
#endif
  if (step == 1)
    for (; i < count; ++i) to[i] = float_from_half(from[i].bits);
  else
    for (; i < count; ++i) to[i] = float_from_half(from[i * step].bits);
}

// Features converted per block; the block of all lanes stays in the first-level cache.
constexpr int CONVERTED_FEATURES = 64;

template <class S>
void load_converted(const View<const float>& y, Index first, int rows, float* out, Index width) {
  constexpr int L = LANES<float>;
  const int here = rows < L ? rows : L;
  float block[L * CONVERTED_FEATURES];
  const S* signals = reinterpret_cast<const S*>(y.data) + first * y.row_stride;
  for (Index begin = 0; begin < y.columns; begin += CONVERTED_FEATURES) {
    const Index left = y.columns - begin,
                count = left < CONVERTED_FEATURES ? left : CONVERTED_FEATURES;
    for (int l = 0; l < here; ++l)
      convert(signals + l * y.row_stride + begin * y.column_stride, y.column_stride, count,
              block + l * count);
    const View<const float> converted = {block, here, count, count, 1};
    Prefetch none(nullptr, 0);
    if (width == WIDTH<float>)
      load_lanes<float, WIDTH<float>>(converted, 0, here, out + begin * width, width, none);
    else
      load_lanes<float, 0>(converted, 0, here, out + begin * width, width, none);
  }
}

// load_lanes for signals of another type. (float64 signals are never converted.)
inline void load_source_type(const View<const double>&, Index, int, double*, Index) {
  unreachable();
}
inline void load_source_type(const View<const float>& y, Index first, int rows, float* out,
                             Index width) {
  switch (y.source_type) {
    case SourceType::same: break;  // handled by load_lanes
    case SourceType::int8: return load_converted<std::int8_t>(y, first, rows, out, width);
    case SourceType::uint8: return load_converted<std::uint8_t>(y, first, rows, out, width);
    case SourceType::int16: return load_converted<std::int16_t>(y, first, rows, out, width);
    case SourceType::uint16: return load_converted<std::uint16_t>(y, first, rows, out, width);
    case SourceType::float16: return load_converted<Half>(y, first, rows, out, width);
  }
  unreachable();
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
