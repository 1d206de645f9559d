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

// Working memory of one sweep over reflectors.
struct SweepMemory {
  double* r;     // n x n
  double* z;     // n x n
  double* line;  // n
  LanczosMemory lanczos;
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

}  // namespace fost
