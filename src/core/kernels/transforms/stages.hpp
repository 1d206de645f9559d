// Applies the stages of a transform to a tile, in order (forward) or in reverse (inverse). NumPy
// twins: tests/reference.py, forward and inverse.
#pragma once

#include "kernels/transforms/dct.hpp"
#include "kernels/transforms/dense.hpp"
#include "kernels/transforms/givens.hpp"
#include "kernels/transforms/householder.hpp"
#include "types/coding.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// out (n x width) = U^T tile, or U tile for the inverse. For BLAS, tiles are column-major width x
// n.
template <class T, bool INVERSE>
void apply_dense(const Stage<T>& stage, int n, T* tile, T* out, const Workspace<T>& work,
                 Prefetch& ahead) {
  if (stage.transposed) {
    for (int lane = 0; lane < work.width; lane += WIDTH<T>)
      multiply_tile(INVERSE ? stage.transposed : stage.matrix, n, tile + lane, out + lane,
                    work.width, ahead);
    return;
  }
  char no = 'N', side = INVERSE ? 'N' : 'T';
  int width = work.width;
  T one = 1, zero = 0;
  work.gemm(&no, &side, &width, &n, &n, &one, tile, &width, const_cast<T*>(stage.matrix), &n, &zero,
            out, &width);
}

// Returns where the result is: in place, or in `other`.
template <class T, bool INVERSE>
T* apply_stage(const Stage<T>& stage, int n, T* tile, T* other, const Workspace<T>& work,
               Prefetch& ahead) {
  const auto in_lanes = [&](const auto& kernel) {
    for (int lane = 0; lane < work.width; lane += WIDTH<T>) kernel(tile + lane);
    return tile;
  };
  switch (stage.kind) {
    case StageKind::reflectors:
      return in_lanes([&](T* x) { apply_reflectors<T, INVERSE>(stage, n, x, work.width, ahead); });
    case StageKind::rotations:
      return in_lanes([&](T* x) { apply_rotations<T, INVERSE>(stage, x, work.width, ahead); });
    case StageKind::cosine:
      return in_lanes(
          [&](T* x) { apply_cosine<T, INVERSE>(stage, n, x, work.width, work.scratch, ahead); });
    case StageKind::dense:
      apply_dense<T, INVERSE>(stage, n, tile, other, work, ahead);
      return other;
  }
  unreachable();
}

// Runs the stages on `tile`, one of the two tiles of the workspace, and returns where the result
// is.
template <class T, bool INVERSE>
T* run(const Program<T>& program, T* tile, const Workspace<T>& work, Prefetch& ahead) {
  T* other = tile == work.tile ? work.second : work.tile;
  for (int k = 0; k < program.n_stages; ++k) {
    const Stage<T>& stage = program.stages[INVERSE ? program.n_stages - 1 - k : k];
    T* result = stage.is_transposed
                    ? apply_stage<T, !INVERSE>(stage, program.n, tile, other, work, ahead)
                    : apply_stage<T, INVERSE>(stage, program.n, tile, other, work, ahead);
    if (result == other) other = tile;
    tile = result;
  }
  return tile;
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
