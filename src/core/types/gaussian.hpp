// Gaussian distributions and incomplete signals: plain data.
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

// Incomplete signals (rows of n) and results about them. All fields but `missing` and `order` may
// be null if they are not wanted; without `rows`, only conditional covariances are computed.
struct IncompleteRows {
  double* rows;  // missing entries are replaced by their conditional mean
  const bool* missing;
  const Index* order;  // order of processing: signals with equal masks are adjacent
  const double* weights;
  double* densities;  // log-density of the observed entries
  double* variances;  // conditional variances of missing entries; zero elsewhere (rows of n)
  Index every = 1;    // one of this many groups of the order contributes to the sum of covariances
};

// Upper bounds over all instruction sets: signals per vector, and the block size to which matrix
// sizes are rounded up.
constexpr int MAX_LANES = 8, MAX_BLOCK = 4;

// Whether the signal at a position of the order contributes its conditional covariance, if only
// some do. Whole groups of MAX_LANES contribute, which is the same choice for all instruction sets.
constexpr bool contributes(Index place, Index every) { return place / MAX_LANES % every == 0; }

// The largest number m of missing entries for which the conditional covariance is computed from the
// precision as P_mm^-1 (m^3 / 2 operations). Beyond it the o observed entries are used (o^3 / 6 + n
// m o / 2 operations).
constexpr int max_missing_by_precision(int n) { return 5 * n / 8; }

// Working memory of one thread for MAX_LANES signals at once. The last three fields may be null if
// neither covariances nor variances are wanted.
struct ConditioningMemory {
  Index pitch;             // of rows of `factor`, with room for whole blocks
  Index wide;              // of rows of `solved`: n, with room for whole blocks
  std::int32_t* missing;   // n per lane: indices of missing entries
  std::int32_t* observed;  // n per lane: indices of observed entries
  std::int32_t* kept;      // pitch, interleaved: indices of the rows of `factor`
  double* factor;          // pitch x pitch
  double* reciprocals;     // pitch
  double* least;           // pitch
  double* right;           // pitch
  double* difference;      // n
  double* product;         // n
  double* solved;          // pitch x wide
  double* rows;            // MAX_BLOCK x wide
  double* variances;       // wide
};

// Working memory for the inverses of MAX_LANES matrices at once.
struct InverseMemory {
  Index pitch;          // of rows of matrices, with room for whole blocks
  double* factor;       // pitch x pitch
  double* solved;       // pitch x pitch
  double* scales;       // pitch
  double* least;        // pitch
  double* reciprocals;  // pitch
};

// Signals (rows of n) and Gaussians; only the lower triangles of the precisions are read.
struct MahalanobisTask {
  int n, members;
  const float* rows;
  const float* means;       // members x n
  const float* precisions;  // members x n x n
  float* energies;          // squared Mahalanobis distance per signal and member
};

// Floats of working memory per feature.
constexpr int MAHALANOBIS_MEMORY = 64;

}  // namespace fost
