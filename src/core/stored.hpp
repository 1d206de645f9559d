// Signals of other types, which become float32 as they are loaded.
#pragma once

#include "pass_types.hpp"
#include "simd.hpp"

namespace fost {
namespace FOST_NAMESPACE {

template <class T>
void load_lanes(const View<const T>& y, Index first, int rows, T* out, Index width);

// A number of float16, by its bits and without branches, so that compilers make vectors of it.
FOST_INLINE float of_half(std::uint16_t half) {
  const std::int32_t sign = static_cast<std::int32_t>(half & 0x8000) << 16, rest = half & 0x7fff;
  // Exponents are 112 less there. The smallest is that of subnormal numbers, the largest that of
  // infinity and NaN.
  const std::int32_t small = (rest - 0x400) >> 31, beyond = (0x7bff - rest) >> 31;
  const std::int32_t normal = (rest << 13) + (112 << 23) + (beyond & (112 << 23));
  const float scaled = static_cast<float>(rest) * 0x1p-24f;
  const std::int32_t bits = (small & __builtin_bit_cast(std::int32_t, scaled)) | (~small & normal);
  return __builtin_bit_cast(float, bits | sign);
}

struct Cast {
  template <class S> FOST_INLINE float operator()(S number) const { return static_cast<float>(number); }
};
struct CastHalf {
  FOST_INLINE float operator()(std::uint16_t number) const { return of_half(number); }
};

// Features at a time.
constexpr int STORED_FEATURES = 64;

template <class S, class Convert>
void load_converted(const View<const float>& y, Index first, int rows, float* out, Index width,
                    const Convert& convert) {
  constexpr int L = LANES<float>;
  const int here = rows < L ? rows : L;
  float block[L * STORED_FEATURES];
  const S* signals = reinterpret_cast<const S*>(y.data) + first * y.row_stride;
  for (Index begin = 0; begin < y.columns; begin += STORED_FEATURES) {
    const Index left = y.columns - begin, count = left < STORED_FEATURES ? left : STORED_FEATURES;
    for (int l = 0; l < here; ++l) {
      const S* from = signals + l * y.row_stride + begin * y.column_stride;
      float* to = block + l * count;
      if (y.column_stride == 1)
        for (Index i = 0; i < count; ++i) to[i] = convert(from[i]);
      else
        for (Index i = 0; i < count; ++i) to[i] = convert(from[i * y.column_stride]);
    }
    load_lanes<float>({block, here, count, count, 1}, 0, here, out + begin * width, width);
  }
}

// load_lanes of signals of another type. (Those of float64 are never of another.)
inline void load_stored(const View<const double>&, Index, int, double*, Index) { impossible(); }
inline void load_stored(const View<const float>& y, Index first, int rows, float* out, Index width) {
  switch (y.stored) {
    case Stored::same: return load_lanes(y, first, rows, out, width);
    case Stored::int8: return load_converted<std::int8_t>(y, first, rows, out, width, Cast{});
    case Stored::uint8: return load_converted<std::uint8_t>(y, first, rows, out, width, Cast{});
    case Stored::int16: return load_converted<std::int16_t>(y, first, rows, out, width, Cast{});
    case Stored::uint16: return load_converted<std::uint16_t>(y, first, rows, out, width, Cast{});
    case Stored::float16: return load_converted<std::uint16_t>(y, first, rows, out, width, CastHalf{});
  }
  impossible();
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
