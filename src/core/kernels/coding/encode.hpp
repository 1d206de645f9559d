// Transform, encode and accumulate a range of signals, tile by tile:
//
//   1. load a tile of signals,
//   2. run the stages of the transform,
//   3. store the coefficients, or select the largest of them, or add the codes to the statistic.
//
// NumPy twins: tests/reference.py, forward, inverse, encode and statistic.
#pragma once

#include "kernels/coding/statistic.hpp"
#include "kernels/coding/tile_coders.hpp"
#include "kernels/simd/tile.hpp"
#include "kernels/transforms/dct_small.hpp"
#include "kernels/transforms/stages.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// Results are written by streaming stores.
template <class T>
bool apply_streaming(const Program<T>& program, bool inverse, const View<const T>& y,
                     const View<T>& x, Index first, Index last, const Workspace<T>& work) {
  bool finite = true;
  const Index signal = signal_bytes(y);
  Prefetch ahead(nullptr, 0);
  if (signal)
    ahead = Prefetch::interleaved(reinterpret_cast<const char*>(y.data) +
                                  (first + work.width) * signal);
  for (Index row = first; row < last; row += work.width) {
    const int rows = rows_at(row, last, work.width);
    ahead.allow(work.width * signal);
    load_tile(y, row, rows, work.tile, work.width, ahead);
    const T* tile = inverse ? run<T, true>(program, work.tile, work, ahead)
                            : run<T, false>(program, work.tile, work, ahead);
    finite &= stream_tile(tile, work.width, x, row, rows, work.staged, ahead);
  }
  stream_fence();
  return finite;
}

template <class T>
bool apply(const Program<T>& program, bool inverse, const View<const T>& y, const View<T>& x,
           Index first, Index last, const Workspace<T>& work) {
  if (is_small_dct(program, y, x)) {
    const Stage<T>& stage = program.stages[0];
    return inverse != stage.is_transposed ? apply_small_dct<T, true>(stage, y, x, first, last)
                                          : apply_small_dct<T, false>(stage, y, x, first, last);
  }
  if (work.staged) return apply_streaming(program, inverse, y, x, first, last, work);
  bool finite = true;
  for (Index row = first; row < last; row += work.width) {
    const int rows = rows_at(row, last, work.width);
    load_tile(y, row, rows, work.tile, work.width);
    Prefetch ahead = next_tile(y, row, last, work.width);
    const T* tile = inverse ? run<T, true>(program, work.tile, work, ahead)
                            : run<T, false>(program, work.tile, work, ahead);
    finite &= all_finite(tile, static_cast<Index>(program.n) * work.width, ahead);
    store_tile(tile, work.width, x, row, rows);
  }
  return finite;
}

template <class T, class Coder>
bool encode_with(const Coder& coder, const View<const T>& y, Index first, Index last,
                 const Codes<T>& codes, const Workspace<T>& work) {
  bool finite = true;
  for (Index row = first; row < last; row += work.width) {
    const int rows = rows_at(row, last, work.width);
    load_tile(y, row, rows, work.tile, work.width);
    Prefetch ahead = next_tile(y, row, last, work.width);
    const Codes<T> here = {codes.values + row * codes.s, codes.indices + row * codes.s,
                           codes.counts + row, codes.s};
    finite &= coder(rows, here, work, ahead);
  }
  return finite;
}

template <class T>
bool encode(const CoderProgram<T>& program, const View<const T>& y, Index first, Index last,
            const Codes<T>& codes, const BankMemory<T>& bank, const Workspace<T>& work) {
  return with_coder(program, bank, work, [&](const auto& coder, const Workspace<T>& own) {
    return encode_with<T>(coder, y, first, last, codes, own);
  });
}

template <class T, class Coder>
bool accumulate_with(const Coder& coder, const View<const T>& y, Index first, Index last,
                     Statistic& sums, const BatchMemory<T>& batch, const Workspace<T>& work) {
  const int n = static_cast<int>(y.columns);
  const int part = part_size<T>(coder.n_rows() / n, n);
  const bool direct = y.column_stride == 1 && y.source_type == SourceType::same;
  const View<T> rows = {batch.rows, batch.size, n, n, 1};
  for (Index begin = first; begin < last; begin += batch.size) {
    const Index end = begin + rows_at(begin, last, batch.size);
    Codes<T> codes = batch.codes;
    for (Index row = begin; row < end; row += work.width) {
      const int here = rows_at(row, end, work.width);
      load_tile(y, row, here, work.tile, work.width);
      if (!direct) store_tile<T>(work.tile, work.width, rows, row - begin, here);
      Prefetch ahead = next_tile(y, row, last, work.width);
      if (!coder(here, codes, work, ahead)) return false;
      advance(codes, work.width);
    }
    const int count = static_cast<int>(end - begin);
    const Index stride = direct ? y.row_stride : n;
    const T* signals = direct ? y.data + begin * y.row_stride : batch.rows;
    codes = batch.codes;
    for (int row = 0; row < count; row += part, signals += part * stride, advance(codes, part))
      add_outer_products<T>({signals, stride, rows_at(row, count, part), n, coder.n_rows(), codes,
                             batch.ends, batch.uses, batch.columns, batch.order},
                            sums);
  }
  return true;
}

template <class T>
bool accumulate(const CoderProgram<T>& program, const View<const T>& y, Index first, Index last,
                Statistic& sums, const BatchMemory<T>& batch, const BankMemory<T>& bank,
                const Workspace<T>& work) {
  return with_coder(program, bank, work, [&](const auto& coder, const Workspace<T>& own) {
    return accumulate_with<T>(coder, y, first, last, sums, batch, own);
  });
}

}  // namespace FOST_NAMESPACE
}  // namespace fost
