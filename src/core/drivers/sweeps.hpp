// Drivers of the learning updates on n x n statistics: they allocate working memory.
#pragma once

#include "types/transforms.hpp"

namespace fost {

// Updates the rows of `vectors` (m x n) in the given order for the statistic (n x n), which may be
// rounded to float32 if `single` is set.
void sweep_reflectors(const double* statistic, int n, double* vectors, int m,
                      const std::int32_t* order, const std::int32_t* begins, bool single);

// Replaces the rows of `vectors` (m x n) by the eigenvectors of the lowest negative eigenvalues of
// M + M^T, the lowest last, or by zeros. Convergence is faster from close vectors.
void lowest_eigenvectors(const double* statistic, int n, double* vectors, int m);

// The orthonormal matrix Q (n x n) that is best for the statistic; among several, the one nearest
// to the current one. Returns false if the statistic is too close to singular for this algorithm.
bool solve_procrustes(const double* statistic, const double* current, int n, double* found);

// Updates g rotations (pairs and blocks) in place until one gains no more than `least`; returns the
// number of updated rotations.
int sweep_rotations(const double* statistic, int n, std::int32_t* pairs, double* blocks,
                    double* gains, int g, double least);

}  // namespace fost
