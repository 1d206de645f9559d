// Signals with gaps under a Gaussian: memory, ranges and threads around the kernel.
#pragma once

#include <vector>

#include "types/gaussian.hpp"

namespace fost {

// Signals with gaps under one Gaussian, of which there are `count`. Where `sum` (n x n) is not null,
// their weighted conditional covariances are added to it.
struct GapTask {
  Gaussian gaussian;
  GappedRows signals;
  Index count;
  double* sum;
};

// Fills the gaps of signals by their conditional means, with what else is asked for; those of
// several Gaussians side by side.
void condition_rows(std::vector<GapTask> tasks);

// The inverses of covariances (n x n), and the logarithms of their determinants, NaN for those of
// which rounding has left nothing.
void invert_covariances(const std::vector<const double*>& covariances, int n,
                        const std::vector<double*>& inverses, double* logarithms);

// d^T P d for `count` signals and each member.
void find_energies(const Distances& task, Index count);

}  // namespace fost
