// The algebra of learning on n x n statistics: memory around the kernels.
#pragma once

#include "types/transforms.hpp"

namespace fost {

// Updates the rows of `vectors` (m x n) in the given order for the statistic (n x n).
void sweep_reflectors(const double* statistic, int n, double* vectors, int m,
                      const std::int32_t* order, const std::int32_t* begins);

// Replaces the rows of `vectors` (m x n) by the eigenvectors of the lowest negative eigenvalues
// of M + M^T, the lowest last, or zeros; faster the closer they are already.
void lowest_eigenvectors(const double* statistic, int n, double* vectors, int m);

// The orthonormal matrix Q (n x n) that is best for the statistic, of several the nearest to the
// current one. False where the statistic is too near to a singular one for this way.
bool solve_procrustes(const double* statistic, const double* current, int n, double* found);

// Updates the rotations (g pairs and blocks) in place until one gains no more than `least`;
// returns how many were updated.
int sweep_rotations(const double* statistic, int n, std::int32_t* pairs, double* blocks,
                    double* gains, int g, double least);

}  // namespace fost
