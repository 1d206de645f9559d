// Signals with gaps under a Gaussian: memory, ranges and threads around the kernel.
#pragma once

#include "gaps_types.hpp"

namespace fost {

// Fills the gaps of `count` signals by their conditional means, with what else is asked for.
// Where `sum` (n x n) is not null, their weighted conditional covariances are added to it.
void condition_rows(const Gaussian& gaussian, GappedRows signals, Index count, double* sum);

}  // namespace fost
