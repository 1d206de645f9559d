// Gaussians and signals with gaps, as plain data.
#pragma once

#include "types.hpp"

namespace fost {

// A Gaussian of n features; matrices are n x n and symmetric.
struct Gaussian {
  int n;
  const double* mean;
  const double* covariance;
  const double* precision;  // its inverse
  double log_determinant;   // of the covariance
};

// Signals with gaps (rows of n), and what is found about them. All but `rows` and `missing` may
// be null, where it is not asked for.
struct GappedRows {
  double* rows;         // what is missing is replaced by its conditional mean
  const bool* missing;
  const double* weights;
  double* densities;    // logarithms of the density of what is observed
  double* variances;    // conditional ones of what is missing; zero elsewhere (rows of n)
};

// Memory of one thread; rows are `pitch` apart, a multiple of the widest vector.
struct GapMemory {
  Index pitch;
  std::int32_t* missing;   // n, places of what is missing
  std::int32_t* observed;  // n
  double* factor;          // n rows
  double* solved;          // n rows
  double* difference;      // one row
  double* right;           // one row
  double* row;             // one row
};

}  // namespace fost
