// Plain data that the drivers hand to the kernels. No standard library templates: these
// structs cross into code compiled for other instruction sets (see simd.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "cosine.hpp"

namespace fost {

using Index = std::ptrdiff_t;

// A matrix in memory that may have any strides (in elements, zero or negative included).
template <class T> struct View {
  T* data;
  Index rows;
  Index columns;
  Index row_stride;
  Index column_stride;
};

// One block of reflectors U_a U_(a+1) ... U_(a+size-1) = I - V T V^T (compact WY).
template <class T> struct ReflectorGroup {
  int size;           // 1 to 8
  int begin;          // features below it are zero in every vector of the group
  const T* vectors;   // n x size, row-major: entry i of all vectors side by side
  const T* triangle;  // T, size x size, upper triangular
};

// Two rows of a tile in one word, since in the innermost loops every load counts.
using RowPair = std::uint64_t;
constexpr RowPair row_pair(std::int32_t first, std::int32_t second) {
  return static_cast<RowPair>(first) | static_cast<RowPair>(second) << 32;
}
constexpr Index first_row(RowPair pair) { return static_cast<Index>(pair & 0xffffffff); }
constexpr Index second_row(RowPair pair) { return static_cast<Index>(pair >> 32); }

// Rotations in the order of application, in the form of givens.hpp.
template <class T> struct Rotations {
  int count;
  const RowPair* rows;         // per rotation: those to read, those to write
  const T* factors;            // per rotation: alpha, beta
  int n_scaled;
  const std::int32_t* scaled;  // rows that are multiplied in the end ...
  const T* scales;             // ... by these
};

enum class Kind { reflectors, rotations, cosine, dense };

// One factor of a transform. Which fields are set depends on the kind.
template <class T> struct Stage {
  Kind kind;
  int count;                            // groups or axes
  const ReflectorGroup<T>* groups;      // reflectors, in the order u_1 ... u_m
  Rotations<T> forward, inverse;        // rotations
  const CosineAxis<T>* axes;            // cosine
  const T* matrix;                      // dense: U, row-major
  const T* transposed;                  // dense: U^T, or null where BLAS does the product
};

// U = U_first ... U_last as a list of stages: forward applies them in order, inverse
// applies their inverses in reverse order.
template <class T> struct Program {
  int n;
  int n_stages;
  const Stage<T>* stages;
};

// One of several transforms, beyond the base that they share. Where it is rotations alone, it
// leaves some coefficients of the base as they are: then it works on a board of 2 n rows, reads
// the base's coefficients from the first n and writes those that it changes to the others.
template <class T> struct BankMember {
  Program<T> program;
  bool rotates;                // rotations alone
  Rotations<T> rotations;      // on the board
  const RowPair* places;       // per varying feature: the row of its coefficient, and itself
  const T* scales;             // per varying feature: a factor of its coefficient
};

// Several transforms of the same signals. Features that no member changes are common, the others
// varying.
template <class T> struct BankProgram {
  Program<T> base;
  int count;
  const BankMember<T>* members;
  int n_varying, n_common;
  const RowPair* common;  // per common feature, as in BankMember
  const T* ones;          // per common feature
};

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
  T* rows;     // batch x n, the signals whose codes are added up (statistic only)
  Codes<T> codes;  // of one batch (statistic only)
  int batch;       // signals per batch, a multiple of the width (statistic only)
  std::int32_t* heads;  // n (statistic only)
  Link* links;          // batch x s (statistic only)
  Gemm<T> gemm;
};

// The atoms of a general dictionary, in rows, and what pursuit needs to know of them.
template <class T> struct Atoms {
  int n;
  int count;
  int pitch;         // entries from one row of `gram` to the next, a multiple of PITCH
  const T* rows;     // count x n
  T* gram;           // count x pitch, inner products of the atoms, zeros beyond count; may be null
                     // where entries are missing
  bool* known;       // count, the rows of `gram` that are there already; null if all are
  const T* scales;   // pitch, correlations are multiplied by them before they are compared;
                     // null compares them as they are
  const T* squares;  // count x n, squared entries, where norms over observed entries are
                     // wanted, or null
};

// Which signals use which atom: entries begins[k] to begins[k + 1] - 1 belong to atom k.
template <class T> struct AtomUses {
  const std::int64_t* begins;
  const std::int32_t* rows;    // the signal of each entry
  const std::int64_t* places;  // where its coefficient stands among the values
  T* values;
};

// What the rows of the inner products are padded to: several of the longest vectors.
constexpr int PITCH = 32;

// Signals that are pursued side by side at most.
constexpr int PURSUITS = 8;

// Memory of one thread for pursuit, for `tile` signals at a time. What is wanted per signal is
// wanted for those `together`, or, where entries are missing, for the whole tile; the lower part
// is for missing entries alone.
template <class T> struct PursuitMemory {
  int tile;
  int together;     // signals that are pursued side by side
  double tol;       // stop where the squared residual is no larger; negative never stops early
  T* rows;          // tile x n, signals or residuals
  T* correlations;  // tile x pitch, zeros beyond count
  T* alpha;         // pitch per signal
  double* factor;   // s x s per signal, see omp.hpp
  double* c;        // s per signal, coordinates of the signal along the orthogonalised atoms
  double* x;        // s per signal, coefficients, or a row of the factor
  T* factors;       // s per signal, such a row
  T* directions;    // per signal: s x pitch, correlations with orthogonalised atoms; or s x n,
                    // these themselves, where entries are missing
  T* observed;      // tile x n, one where observed and zero elsewhere
  T* scales;        // tile x pitch, one over the norms of the observed parts, or null
  double* left;     // tile, squared residuals
  Gemm<T> gemm;     // null where it is not worth while
};

// The patches of a picture: one at each pair of a top and a left.
template <class T> struct PatchGrid {
  const T* image;
  const T* pilot;      // an estimate of the same size, or null
  Index pitch;         // pixels from one row to the next, in all pictures
  int height, width;   // of a patch
  const std::int32_t* tops;
  const std::int32_t* lefts;
  int n_lefts;
};

// A picture put together from weighted patches: the sums are divided by the weights in the end.
template <class T> struct Overlay {
  T* sums;
  T* weights;
};

// Memory of one thread to filter patches in.
template <class T> struct FilterMemory {
  T* line;    // pixels of a row of the picture
  T* lanes;   // 2 x width
  T* guide;   // n x width
};

// The same for a bank, beyond that.
template <class T> struct BankFilterMemory {
  T* sum;           // n x width, in the domain of the base
  T* coefficients;  // n x width for each member
  T* guides;        // n x width for each member
  T* beliefs;       // width for each member: what it counts for a patch
  T* weights;       // width
};

// Up to this many coefficients of a signal are selected in registers (see select.hpp).
constexpr int MOST_FEW = 8;

// Memory of one thread for a bank, for WIDTH signals (see simd.hpp) after another.
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

// LAPACK's dstemr: eigenpairs of a symmetric tridiagonal matrix.
using Stemr = void (*)(char*, char*, int*, double*, double*, double*, double*, int*, int*, int*,
                       double*, double*, int*, int*, int*, int*, double*, int*, int*, int*, int*);

// Memory of a Lanczos run of at most `steps` steps on vectors of n entries.
struct LanczosMemory {
  int steps;
  double* basis;              // steps x n
  double* next;               // n
  double *diagonal, *off_diagonal, *diagonal_copy, *off_diagonal_copy;  // steps each
  double *ritz_values, *ritz_vector, *overlaps;                         // steps each
  double* real_work;          // 18 (steps + 1)
  int* integer_work;          // 10 (steps + 1)
  int* support;               // 2
  Stemr stemr;
};

// Memory of one sweep over reflectors.
struct SweepMemory {
  double* r;     // n x n
  double* z;     // n x n
  double* line;  // n
  LanczosMemory lanczos;
};

// Memory of one sweep over rotations.
struct RotationMemory {
  double *r, *rt, *scores;  // n x n each
  double *diagonal, *best;  // n each
  std::int32_t* partner;    // n
};

// What a pass over signals adds up: M = X Y^T (row-major) and ||X||_F^2.
struct Statistic {
  double* matrix;
  double energy;
};

// A matrix in compressed sparse row format, read only.
template <class T> struct SparseRows {
  const T* values;
  const std::int32_t* indices;
  const std::int64_t* indptr;
};

}  // namespace fost
