// Codes, statistics and the working memory of one pass over signals: plain data.
#pragma once

#include "types/transforms.hpp"

namespace fost {

// C = A B for matrices in column-major order, the calling convention of Fortran's BLAS.
template <class T>
using Gemm = void (*)(char*, char*, int*, int*, int*, T*, T*, int*, T*, int*, T*, T*, int*);

// Sparse rows as the encoder writes them: row r has counts[r] entries, beginning at r * s.
template <class T> struct Codes {
  T* values;
  std::int32_t* indices;
  std::int32_t* counts;
  int s;
};

// Limits of a variable-length code. It keeps the fewest largest coefficients that leave a squared
// error of at most `tol`, or all coefficients with a magnitude above `threshold`, whichever of the
// two is not negative; in both cases at most s.
struct CodeLimits {
  int s;
  double tol;
  double threshold;
};

// The coefficients selected for one signal: the magnitude of the smallest one, their number, and
// two scores by which the members of a bank are compared.
struct Selected {
  double level;
  double first, second;  // larger is better; `second` breaks ties of `first`
  std::int32_t count;
  std::int32_t member;
};

// A matrix in compressed sparse row format, read-only and not validated.
template <class T, class I> struct SparseRows {
  const T* values;
  const std::int32_t* indices;
  const I* indptr;
  Index room;            // allocated entries of values and indices
  std::int32_t n_atoms;  // columns
};

// Result of decoding, from best to worst.
enum class DecodeStatus { ok, not_finite, invalid };

// The statistic of a pass over signals: M = X Y^T, with rows `pitch` apart, and ||X||_F^2.
struct Statistic {
  double* matrix;
  Index pitch;
  double energy;
};

// An entry of a code, in a list of the entries that add to the same row of the statistic.
template <class T> struct Use {
  T value;
  std::int32_t signal;
};

// Working memory of one thread. Signals are stored feature by feature: tile[i * width + l] is
// feature i of signal l, so that the lanes of a vector are different signals.
template <class T> struct Workspace {
  int width;   // signals per tile, a multiple of the kernels' width
  T* tile;     // n x width
  T* second;   // n x width for stages that cannot work in place, or null
  T* scratch;  // scratch_size(n) entries for one stage or one selection
  Gemm<T> gemm;
  T* staged = nullptr;  // n x kernel width, for streaming stores, or null
};

// Up to this many coefficients per signal are selected in registers (see register_sort.hpp).
constexpr int MAX_IN_REGISTERS = 8;

// Additional working memory of one thread for a bank, for successive groups of WIDTH signals.
template <class T> struct BankMemory {
  T* coefficients;        // 2 n rows, see BankMember
  T* chosen;              // n rows, coefficients of the best member so far
  T* heads;               // MAX_IN_REGISTERS rows, largest magnitudes of common features
  T* units;               // signals are scaled by these before energies are computed
  T* norms;               // total energy, less an allowance for rounding
  T* energies;            // energy kept by the best member so far
  T* levels;              // its s-th largest magnitude
  T* chosen_members;      // its number
  std::int32_t* offsets;  // of its indices
};

// Statistics of this many features and more come from memory for each part of the signals.
constexpr int LONG_SIGNALS = 512;

// Signals whose codes are added to the statistic together. For 64 features they take 32 KiB, the
// size of the first-level cache; more for banks and for long signals, so that several signals add
// to the same row.
template <class T> constexpr int part_size(int n_members, int n) {
  const int more = n >= LONG_SIGNALS ? 4 : n_members / 2;
  return 512 / static_cast<int>(sizeof(T)) * (more < 1 ? 1 : more > 4 ? 4 : more);
}

// Columns of the statistic that are summed at once, an upper bound over all instruction sets.
constexpr int MAX_COLUMNS = 64;

// Additional working memory of one thread for accumulating a statistic.
template <class T> struct BatchMemory {
  int size;             // signals per batch, a multiple of the width
  T* rows;              // size x n, copies of signals that are not contiguous rows
  Codes<T> codes;       // of the batch
  std::int32_t* ends;   // one per row of the statistic
  Use<T>* uses;         // size x s
  T* columns;           // size x MAX_COLUMNS
  std::int32_t* order;  // size
};

}  // namespace fost
