// The rotations of the members of a union in the order of ScreenMember.
#pragma once

#include <deque>
#include <vector>

#include "plans/transform.hpp"
#include "types/pursuit.hpp"

namespace fost {

// Coefficients i and j become p + alpha q and q + beta p.
struct Turned {
  std::int32_t p, q, i, j;
  double alpha, beta;
};

// What is rotations alone, and the factors of its coefficients in the end.
struct MemberTurns {
  std::vector<Turned> turns;
  std::vector<double> scales;
};

// Those of all members; none where some are not rotations alone.
std::vector<MemberTurns> turns_of(const std::vector<const Plan*>& members);

template <class T> class ScreenTables {
 public:
  // `indices` as in Union; `places` has the row of the board of each feature.
  ScreenTables(const std::vector<std::int32_t>& places, const std::vector<MemberTurns>& members,
               const std::vector<std::int32_t>& indices);
  ScreenTables(const ScreenTables&) = delete;
  ScreenTables& operator=(const ScreenTables&) = delete;

  Screen<T> screen() const {
    return {static_cast<int>(members_.size()), members_.data(), atoms_.data()};
  }

 private:
  void add(const MemberTurns& member, const std::vector<std::int32_t>& numbers,
           const std::vector<std::int32_t>& places);

  std::vector<ScreenMember<T>> members_;
  std::vector<std::int32_t> atoms_;
  std::deque<std::vector<RowPair>> rows_;
  std::deque<std::vector<T>> numbers_;
  std::deque<std::vector<std::int32_t>> places_, kept_;
};

}  // namespace fost
