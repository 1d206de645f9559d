// Householder reflectors on a tile, in groups of up to twelve (compact WY form):
//
//     forward   y <- (I - V T V^T) y        for the groups from the last to the first
//     inverse   y <- (I - V T^T V^T) y      for the groups from the first to the last
//
// Several dot products share each load of the tile; a small triangular product and an update of the
// same rank follow. That is 4 n operations per reflector and signal, all in registers and the
// first-level cache. NumPy twins: tests/reference.py, householder_forward and householder_inverse.
#pragma once

#include "kernels/simd/vector.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// Vectors of a group that are processed at once: as many as keep their sums in registers, in equal
// parts of the group.
constexpr int MAX_AT_ONCE = FOST_VECTOR_BYTES == 64 ? 12 : 6;
constexpr int at_once(int size) {
  const int parts = (size + MAX_AT_ONCE - 1) / MAX_AT_ONCE;
  return (size + parts - 1) / parts;
}

// dot[k] = v_k^T x for the vectors from FROM on of a group of SIZE, over features begin ... n - 1.
template <class T, int SIZE, int FROM>
FOST_INLINE void dot_products(const ReflectorGroup<T>& group, int n, const T* x, int width,
                              Vec<T> (*dot)[UNROLL], Prefetch& ahead) {
  constexpr int END = SIZE < FROM + at_once(SIZE) ? SIZE : FROM + at_once(SIZE);
#pragma GCC unroll 12
  for (int k = FROM; k < END; ++k)
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) dot[k][v] = Vec<T>{};
  const T* entries = group.vectors + group.begin * SIZE;
  Prefetch local = ahead;
  for (int i = group.begin; i < n; ++i, entries += SIZE, x += width) {
    Vec<T> xi[UNROLL];
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) xi[v] = load(x + v * LANES<T>);
#pragma GCC unroll 12
    for (int k = FROM; k < END; ++k)
#pragma GCC unroll 4
      for (int v = 0; v < UNROLL; ++v) dot[k][v] += entries[k] * xi[v];
    local.step();
  }
  ahead = local;
  x -= (n - group.begin) * static_cast<Index>(width);
  if constexpr (END < SIZE) dot_products<T, SIZE, END>(group, n, x, width, dot, ahead);
}

// x -= sum of weight[k] v_k over the same vectors.
template <class T, int SIZE, int FROM>
FOST_INLINE void subtract(const ReflectorGroup<T>& group, int n, T* x, int width,
                          const Vec<T> (*weight)[UNROLL]) {
  constexpr int END = SIZE < FROM + at_once(SIZE) ? SIZE : FROM + at_once(SIZE);
  const T* entries = group.vectors + group.begin * SIZE;
  for (int i = group.begin; i < n; ++i, entries += SIZE, x += width) {
    Vec<T> xi[UNROLL];
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) xi[v] = load(x + v * LANES<T>);
#pragma GCC unroll 12
    for (int k = FROM; k < END; ++k)
#pragma GCC unroll 4
      for (int v = 0; v < UNROLL; ++v) xi[v] -= entries[k] * weight[k][v];
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) store(x + v * LANES<T>, xi[v]);
  }
  x -= (n - group.begin) * static_cast<Index>(width);
  if constexpr (END < SIZE) subtract<T, SIZE, END>(group, n, x, width, weight);
}

template <class T, int SIZE, bool INVERSE>
void reflect(const ReflectorGroup<T>& group, int n, T* tile, int width, Prefetch& ahead) {
  T* x = tile + group.begin * static_cast<Index>(width);
  Vec<T> dot[SIZE][UNROLL], weight[SIZE][UNROLL];
  dot_products<T, SIZE, 0>(group, n, x, width, dot, ahead);
#pragma GCC unroll 12
  for (int k = 0; k < SIZE; ++k)
#pragma GCC unroll 4
    for (int v = 0; v < UNROLL; ++v) {
      // Row k of the triangle, or column k for the inverse.
      Vec<T> sum = group.triangle[k * SIZE + k] * dot[k][v];
#pragma GCC unroll 12
      for (int l = INVERSE ? 0 : k + 1; l < (INVERSE ? k : SIZE); ++l)
        sum += group.triangle[INVERSE ? l * SIZE + k : k * SIZE + l] * dot[l][v];
      weight[k][v] = sum;
    }
  subtract<T, SIZE, 0>(group, n, x, width, weight);
}

template <class T, bool INVERSE>
void reflect_group(const ReflectorGroup<T>& group, int n, T* tile, int width, Prefetch& ahead) {
  switch (group.size) {
    case 1: return reflect<T, 1, INVERSE>(group, n, tile, width, ahead);
    case 2: return reflect<T, 2, INVERSE>(group, n, tile, width, ahead);
    case 3: return reflect<T, 3, INVERSE>(group, n, tile, width, ahead);
    case 4: return reflect<T, 4, INVERSE>(group, n, tile, width, ahead);
    case 5: return reflect<T, 5, INVERSE>(group, n, tile, width, ahead);
    case 6: return reflect<T, 6, INVERSE>(group, n, tile, width, ahead);
    case 7: return reflect<T, 7, INVERSE>(group, n, tile, width, ahead);
    case 8: return reflect<T, 8, INVERSE>(group, n, tile, width, ahead);
    case 9: return reflect<T, 9, INVERSE>(group, n, tile, width, ahead);
    case 10: return reflect<T, 10, INVERSE>(group, n, tile, width, ahead);
    case 11: return reflect<T, 11, INVERSE>(group, n, tile, width, ahead);
    case 12: return reflect<T, 12, INVERSE>(group, n, tile, width, ahead);
  }
  unreachable();
}

template <class T, bool INVERSE>
void apply_reflectors(const Stage<T>& stage, int n, T* tile, int width, Prefetch& ahead) {
  for (int g = 0; g < stage.count; ++g)
    reflect_group<T, INVERSE>(stage.groups[INVERSE ? g : stage.count - 1 - g], n, tile, width,
                              ahead);
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
