// Codes, sums and the memory of a pass over signals, as plain data.
#pragma once

#include "types.hpp"

namespace fost {

// C = A B for matrices in column-major order, the calling convention of Fortran's BLAS.
template <class T>
using Gemm = void (*)(char*, char*, int*, int*, int*, T*, T*, int*, T*, int*, T*, T*, int*);

// Sparse rows in the layout of the encoder: row r has counts[r] entries at r * s.
template <class T> struct Codes {
  T* values;
  std::int32_t* indices;
  std::int32_t* counts;
  int s;
};

// A matrix in compressed sparse row format, read only.
template <class T> struct SparseRows {
  const T* values;
  const std::int32_t* indices;
  const std::int64_t* indptr;
};

// What a pass over signals adds up: M = X Y^T (row-major) and ||X||_F^2.
struct Statistic {
  double* matrix;
  double energy;
};

// An entry of a code among those that add to the same row of the statistic.
struct Link {
  std::int32_t next;  // the next such entry, or -1
  std::int32_t row;   // the signal of this one
};

// Memory of one thread. Signals are held feature by feature: tile[i * width + l] is
// feature i of signal l, so that the lanes of a vector are different signals.
template <class T> struct Workspace {
  int width;   // signals in a tile, a multiple of the kernels' width
  T* tile;     // n x width
  T* second;   // n x width, where a stage cannot work in place, or null
  T* scratch;  // scratch_size(n) entries for one stage or one selection
  Gemm<T> gemm;
};

// Up to this many coefficients of a signal are selected in registers (see largest.hpp).
constexpr int MOST_FEW = 8;

// Memory of one thread beyond that for a bank, for WIDTH signals (see simd.hpp) after another.
template <class T> struct BankMemory {
  T* board;               // 2 n rows, see BankMember
  T* chosen;              // n rows, coefficients in the best member so far
  T* heads;               // MOST_FEW rows, the largest magnitudes of common features
  T* units;               // energies are in units of one over the squares of these
  T* norms;               // all the energy there is, but for rounding
  T* energies;            // what the best member so far keeps
  T* levels;              // the s-th largest magnitude in it
  T* winners;             // its number
  std::int32_t* offsets;  // of its indices
};

// Signals whose codes are added to the statistic at once: those of 64 features then take 32 KiB,
// as the first-level cache has; more for banks, so that several add to the same row.
template <class T> constexpr int part_size(int n_members) {
  const int more = n_members / 2;
  return 512 / static_cast<int>(sizeof(T)) * (more < 1 ? 1 : more > 4 ? 4 : more);
}

// Memory of one thread beyond that to add up a statistic.
template <class T> struct BatchMemory {
  int size;             // signals in a batch, a multiple of the width
  T* rows;              // size x n, the signals where they do not lie in rows
  Codes<T> codes;       // of the batch
  std::int32_t* heads;  // one for each row of the statistic
  Link* links;          // size x s
};

}  // namespace fost
