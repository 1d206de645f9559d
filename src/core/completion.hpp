// What is missing of signals, guessed from what is observed of them.
#pragma once

#include "types.hpp"

namespace fost {

// Fills the entries of each row that are missing with C_mo C_oo^-1 y_o = -P_mm^-1 P_mo y_o, where m
// is what is missing, o what is observed, C a positive definite matrix and P its inverse. A row of
// which nothing is observed becomes zero. Rows have nothing to do with each other, so that neither
// threads nor other rows change a bit of them.
void complete_rows(const double* covariance, const double* precision, int n, const bool* missing,
                   Index count, double* rows);

}  // namespace fost
