// Gaussians and signals with gaps, as plain data.
#pragma once

#include "types/transforms.hpp"

namespace fost {

// A Gaussian of n features; matrices are n x n and symmetric.
struct Gaussian {
  int n;
  const double* mean;
  const double* covariance;
  const double* precision;  // its inverse
  double log_determinant;   // of the covariance
};

// Signals with gaps (rows of n), and what is found about them. All but `missing` and `order` may be
// null, where it is not asked for; without `rows`, conditional covariances are.
struct GappedRows {
  double* rows;         // what is missing is replaced by its conditional mean
  const bool* missing;
  const Index* order;   // in which signals are worked on: those with like gaps side by side
  const double* weights;
  double* densities;    // logarithms of the density of what is observed
  double* variances;    // conditional ones of what is missing; zero elsewhere (rows of n)
  Index every = 1;      // of so many groups of the order one has its conditional covariances added up
};

// What the kernels of any instruction set need at most: signals side by side, and the size of the
// blocks that sizes of matrices are rounded up to.
constexpr int MOST_LANES = 8, LARGEST_BLOCK = 4;

// Whether the conditional covariance of the signal at a place of the order counts, where only some
// are added up: groups of MOST_LANES of them do or do not, for all instruction sets alike.
constexpr bool is_counted(Index place, Index every) { return place / MOST_LANES % every == 0; }

// The most missing entries of a signal whose conditional covariance is found by its inverse, P_mm,
// which takes m^3 / 2 operations, and not by what is observed, which takes o^3 / 6 + n m o / 2.
constexpr int most_by_precision(int n) { return 5 * n / 8; }

// Memory of one thread, for MOST_LANES signals at once; the last three may be null where
// neither covariances nor variances are asked for.
struct GapMemory {
  Index pitch;             // of rows of `factor`, with room for blocks
  Index wide;              // of rows of `solved`: n, with room for blocks
  std::int32_t* missing;   // n for each lane: places of what is missing
  std::int32_t* observed;  // n for each lane
  std::int32_t* kept;      // pitch, side by side: places of rows of `factor`
  double* factor;          // pitch x pitch
  double* reciprocals;     // pitch
  double* least;           // pitch
  double* right;           // pitch
  double* difference;      // n
  double* product;         // n
  double* solved;          // pitch x wide
  double* rows;            // LARGEST_BLOCK x wide
  double* variances;       // wide
};

// Memory for the inverses of MOST_LANES matrices at once.
struct InverseMemory {
  Index pitch;          // of rows of matrices, with room for blocks
  double* factor;       // pitch x pitch
  double* solved;       // pitch x pitch
  double* scales;       // pitch
  double* least;        // pitch
  double* reciprocals;  // pitch
};

// Signals (rows of n) and Gaussians, whose inverse covariances have their lower triangles read.
struct Distances {
  int n, members;
  const float* rows;
  const float* means;       // members x n
  const float* precisions;  // members x n x n
  float* energies;          // one for each signal and member
};

// Floats that `energies` needs for a feature of its tiles.
constexpr int MOST_ENERGIES = 64;

}  // namespace fost
