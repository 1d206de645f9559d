// Working memory of the learning updates (sweeps) on n x n statistics: plain data.
#pragma once

#include <cstdint>

#include "types/transforms.hpp"

namespace fost {

// LAPACK's dstemr: eigenpairs of a symmetric tridiagonal matrix.
using Stemr = void (*)(char*, char*, int*, double*, double*, double*, double*, int*, int*, int*,
                       double*, double*, int*, int*, int*, int*, double*, int*, int*, int*, int*);

// Memory of a Lanczos run of at most `steps` steps on vectors of n entries.
struct LanczosMemory {
  int steps;
  double* basis;                                                        // steps x n
  double* next;                                                         // n
  double *diagonal, *off_diagonal, *diagonal_copy, *off_diagonal_copy;  // steps each
  double *ritz_values, *ritz_vector, *overlaps;                         // steps each
  double* real_work;                                                    // 18 (steps + 1)
  int* integer_work;                                                    // 10 (steps + 1)
  int* support;                                                         // 2
  Stemr stemr;
};

// A loop on `threads` threads: run(count, threads, task, context) calls task(context, k) for k in
// 0 .. count - 1, in any order.
struct ParallelLoop {
  void (*run)(Index count, int threads, void (*task)(const void*, Index), const void* context);
  int threads;
};

// Rows of M per partial sum of M^T x, and the number of partial sums.
constexpr int SWEEP_ROWS = 256;
constexpr int sweep_ranges(int n) { return (n + SWEEP_ROWS - 1) / SWEEP_ROWS; }

// Working memory of one sweep over reflectors.
struct SweepMemory {
  double* r;      // n x n
  double* z;      // n x n
  double* lines;  // (3 + sweep_ranges(n)) n
  LanczosMemory lanczos;
  ParallelLoop parallel;
};

// Working memory of the Newton iteration for a polar factor. Matrices have `rows` rows, `pitch`
// entries apart, both at least n and multiples of a vector; entries beyond n are zero.
struct PolarMemory {
  Index rows, pitch;
  double *x, *inverse;           // rows x pitch each
  double* panel;                 // LANES x rows, transposed columns of a matrix
  double* lines;                 // LANES x pitch, rows of the matrix
  double* lengths;               // n
  std::int32_t *order, *unused;  // n each
};

// Working memory of one sweep over rotations. Rows of matrices are `pitch` apart.
struct RotationMemory {
  Index pitch;
  double *r, *rt, *scores;  // n x n each
  double *diagonal, *best;  // n each
  std::int32_t* partner;    // n
};

// A square matrix whose rows are `pitch` entries apart. An odd multiple of a cache line keeps the
// entries of a column in different sets of the cache.
struct PaddedMatrix {
  double* data;
  int n;
  Index pitch;

  double* row(int i) const { return data + i * pitch; }
};

// A chain of g rotations J_1 ... J_g: pairs of features, cosines and sines, and their gains.
struct RotationChain {
  std::int32_t* pairs;  // g x 2
  double* angles;       // g x 2
  double* gains;        // g
  int g;
};

// Working memory of greedy rotations: n each.
struct GreedyMemory {
  double *scores, *other_scores, *third_scores, *best, *diagonal;
  std::int32_t* partner;
};

// Working memory of the search for insertions: n each. `products` is the diagonal of A D.
struct InsertionMemory {
  double *a_diagonal, *d_diagonal, *products, *scores;
};

}  // namespace fost
