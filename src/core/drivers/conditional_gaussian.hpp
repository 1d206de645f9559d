// Drivers of Gaussian conditioning: imputation of missing entries, batched inverses, distances.
#pragma once

#include <vector>

#include "types/gaussian.hpp"

namespace fost {

// `count` incomplete signals under one Gaussian. If `sum` (n x n) is not null, their weighted
// conditional covariances are added to it.
struct ConditioningTask {
  Gaussian gaussian;
  IncompleteRows signals;
  Index count;
  double* sum;
};

// Replaces missing entries by their conditional means and computes the other requested results, for
// several Gaussians in one parallel loop.
void condition_rows(std::vector<ConditioningTask> tasks);

// The inverses of covariances (n x n) and the logarithms of their determinants, NaN for numerically
// singular ones.
void invert_covariances(const std::vector<const double*>& covariances, int n,
                        const std::vector<double*>& inverses, double* logarithms);

// d^T P d for `count` signals and each member.
void mahalanobis_distances(const MahalanobisTask& task, Index count);

}  // namespace fost
