#include "completion.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "parallel.hpp"

namespace fost {
namespace {

// Signals that a thread takes at once.
constexpr Index STEP = 64;

// Memory of one thread.
struct Room {
  explicit Room(int n) : factor(Index(n) * n), column(n), solution(n), gaps(n), known(n) {}
  std::vector<double> factor, column, solution;
  std::vector<std::int32_t> gaps, known;
};

// x <- A^-1 x for A = a[places, places], by its Cholesky factor. Of that, one column after another is
// taken out of what is right of it, a row at a time.
void solve(const double* a, int n, const std::int32_t* places, int count, Room& room, double* x) {
  double *factor = room.factor.data(), *column = room.column.data();
  for (int i = 0; i < count; ++i)
    for (int j = 0; j <= i; ++j) factor[i * Index(n) + j] = a[places[i] * Index(n) + places[j]];
  for (int k = 0; k < count; ++k) {
    const double root = std::sqrt(factor[k * Index(n) + k]);
    factor[k * Index(n) + k] = root;
    for (int i = k + 1; i < count; ++i) column[i] = factor[i * Index(n) + k] /= root;
    for (int i = k + 1; i < count; ++i) {
      double* row = factor + i * Index(n);
      const double own = column[i];
      for (int j = k + 1; j <= i; ++j) row[j] -= own * column[j];
    }
  }
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < i; ++j) x[i] -= factor[i * Index(n) + j] * x[j];
    x[i] /= factor[i * Index(n) + i];
  }
  for (int i = count - 1; i >= 0; --i) {
    x[i] /= factor[i * Index(n) + i];
    for (int j = 0; j < i; ++j) x[j] -= factor[i * Index(n) + j] * x[i];
  }
}

void complete_row(const double* covariance, const double* precision, int n, const bool* missing,
                  Room& room, double* y) {
  std::int32_t *gaps = room.gaps.data(), *known = room.known.data();
  int n_gaps = 0, n_known = 0;
  for (int i = 0; i < n; ++i) (missing[i] ? gaps[n_gaps++] : known[n_known++]) = i;
  double* x = room.solution.data();
  // Sums over known entries of a row of a matrix.
  const auto sum = [&](const double* row, const double* values, bool packed) {
    double total = 0;
    for (int j = 0; j < n_known; ++j) total += row[known[j]] * values[packed ? j : known[j]];
    return total;
  };
  if (!n_gaps) return;
  if (n_gaps <= n_known) {
    for (int i = 0; i < n_gaps; ++i) x[i] = -sum(precision + gaps[i] * Index(n), y, false);
    solve(precision, n, gaps, n_gaps, room, x);
    for (int i = 0; i < n_gaps; ++i) y[gaps[i]] = x[i];
  } else {
    for (int j = 0; j < n_known; ++j) x[j] = y[known[j]];
    solve(covariance, n, known, n_known, room, x);
    for (int i = 0; i < n_gaps; ++i) y[gaps[i]] = sum(covariance + gaps[i] * Index(n), x, true);
  }
}

}  // namespace

void complete_rows(const double* covariance, const double* precision, int n, const bool* missing,
                   Index count, double* rows) {
  // A factor of half of the features.
  const int threads = threads_for(double(count) * n * n * (n / 48.0 + 1));
  const Index ranges = (count + STEP - 1) / STEP;
  std::vector<Room> rooms;
  for (int k = 0; k < threads; ++k) rooms.emplace_back(n);
  parallel_for(ranges, threads, [&](Index k, int thread) {
    for (Index row = k * STEP; row < std::min(count, (k + 1) * STEP); ++row)
      complete_row(covariance, precision, n, missing + row * n, rooms[thread], rows + row * n);
  });
}

}  // namespace fost
