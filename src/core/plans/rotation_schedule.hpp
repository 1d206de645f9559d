// The rotation schedule of a union: the rotations of all members in the order of ScheduledMember.
#pragma once

#include <deque>
#include <vector>

#include "plans/transform.hpp"
#include "types/pursuit.hpp"

namespace fost {

// Coefficients i and j become p + alpha q and q + beta p.
struct ScaledRotation {
  std::int32_t p, q, i, j;
  double alpha, beta;
};

// The rotations of a member, and the final factors of its coefficients.
struct MemberRotations {
  std::vector<ScaledRotation> rotations;
  std::vector<double> scales;
};

// The rotations of all members; empty if some member is not made of rotations only.
std::vector<MemberRotations> rotations_of(const std::vector<const TransformPlan*>& members);

template <class T> class RotationScheduleTables {
 public:
  // `indices` as in Union; `places` has the coefficient row of each feature.
  RotationScheduleTables(const std::vector<std::int32_t>& places,
                         const std::vector<MemberRotations>& members,
                         const std::vector<std::int32_t>& indices);
  RotationScheduleTables(const RotationScheduleTables&) = delete;
  RotationScheduleTables& operator=(const RotationScheduleTables&) = delete;

  RotationSchedule<T> schedule() const {
    return {static_cast<int>(members_.size()), members_.data(), atoms_.data()};
  }

 private:
  void add(const MemberRotations& member, const std::vector<std::int32_t>& numbers,
           const std::vector<std::int32_t>& places);

  std::vector<ScheduledMember<T>> members_;
  std::vector<std::int32_t> atoms_;
  std::deque<std::vector<RowPair>> rows_;
  std::deque<std::vector<T>> numbers_;
  std::deque<std::vector<std::int32_t>> places_, run_lengths_;
};

}  // namespace fost
