// Codes, sums and the memory of a pass over signals, as plain data.
#pragma once

#include "types/transforms.hpp"

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

// Which coefficients of a signal its code keeps, where their number differs from signal to signal:
// as few of the largest as leave a squared error of at most `tol`, or all whose magnitude is above
// `threshold`, whichever of the two is not negative; at most s in either case.
struct Rule {
  int s;
  double tol;
  double threshold;
};

// What a rule leaves of one signal: the magnitude of the last coefficient that is kept and how many
// there are, and how good that is, for comparisons between the members of a bank.
struct Kept {
  double level;
  double first, second;  // the larger the better; the second counts where the first are equal
  std::int32_t count;
  std::int32_t member;
};

// A matrix in compressed sparse row format, read only, as somebody made it.
template <class T, class I> struct SparseRows {
  const T* values;
  const std::int32_t* indices;
  const I* indptr;
  Index room;            // of values and indices
  std::int32_t n_atoms;  // columns
};

// What became of sparse rows, the worse the later.
enum class Decoded { sound, not_finite, damaged };

// What a pass over signals adds up: M = X Y^T, its rows `pitch` apart, and ||X||_F^2.
struct Statistic {
  double* matrix;
  Index pitch;
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
  T* staged = nullptr;  // n x the kernels' width, where results go past the caches, or null
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
  std::int32_t* order;  // size
};

}  // namespace fost
