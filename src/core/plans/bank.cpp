// Tables of a bank: common and varying features, and rotations redirected to separate output rows.
#include "plans/bank.hpp"

namespace fost {
namespace {

template <class T> bool rotates(const Program<T>& program) {
  return program.n_stages == 0 ||
         (program.n_stages == 1 && program.stages[0].kind == StageKind::rotations);
}

}  // namespace

template <class T>
BankTables<T>::BankTables(const TransformPlan& base,
                          const std::vector<const TransformPlan*>& members)
    : program_{}, members_(members.size()) {
  const int n = base.n;
  std::vector<bool> varies(n, false);
  std::vector<std::vector<std::int32_t>> rows;  // rows of the coefficients, per member and feature
  for (std::size_t b = 0; b < members.size(); ++b) {
    members_[b].program = members[b]->program<T>().base;
    members_[b].rotates = rotates(members_[b].program);
    rows.push_back(redirect_rotations(members_[b]));
    for (int i = 0; i < n; ++i)
      if (!members_[b].rotates || rows[b][i] != i) varies[i] = true;
  }
  for (int i = 0; i < n; ++i)
    if (!varies[i]) common_.push_back(row_pair(i, i));
  ones_.assign(common_.size(), T(1));
  for (std::size_t b = 0; b < members.size(); ++b) {
    auto& places = places_.emplace_back();
    auto& scales = scales_.emplace_back();
    std::vector<T> factors(n, T(1));
    const Rotations<T>& rotations = members_[b].rotations;
    for (int k = 0; k < rotations.n_scaled; ++k) factors[rotations.scaled[k]] = rotations.scales[k];
    for (int i = 0; i < n; ++i)
      if (varies[i]) {
        places.push_back(row_pair(rows[b][i], i));
        scales.push_back(factors[i]);
      }
    members_[b].places = places.data();
    members_[b].scales = scales.data();
  }
  const int n_common = static_cast<int>(common_.size());
  program_ = {base.program<T>().base,
              static_cast<int>(members_.size()),
              members_.data(),
              n - n_common,
              n_common,
              common_.data(),
              ones_.data()};
}

// If the member consists of rotations only, redirects their outputs to rows n, n + 1, ... Returns
// the row of the coefficient of each feature.
template <class T> std::vector<std::int32_t> BankTables<T>::redirect_rotations(
    BankMember<T>& member) {
  const int n = member.program.n;
  std::vector<std::int32_t> now(n);
  for (int i = 0; i < n; ++i) now[i] = i;
  member.rotations = {};
  if (!member.rotates || member.program.n_stages == 0) return now;
  const Stage<T>& stage = member.program.stages[0];
  member.rotations = stage.is_transposed ? stage.inverse : stage.forward;
  int touched = 0;
  auto& rows = rows_.emplace_back();
  for (int k = 0; k < member.rotations.count; ++k) {
    const RowPair from = member.rotations.rows[2 * k], to = member.rotations.rows[2 * k + 1];
    rows.push_back(row_pair(now[first_row(from)], now[second_row(from)]));
    for (const Index row : {first_row(to), second_row(to)})
      if (now[row] < n) now[row] = n + touched++;
    rows.push_back(row_pair(now[first_row(to)], now[second_row(to)]));
  }
  member.rotations.rows = rows.data();
  return now;
}

template class BankTables<float>;
template class BankTables<double>;

Bank::Bank(const TransformPlan& base, const std::vector<const TransformPlan*>& members)
    : Coder(base), single(base, members), full(base, members) {
  n_members = static_cast<int>(members.size());
  for (const TransformPlan* member : members) {
    has_dense |= member->has_dense;
    uses_blas |= member->uses_blas;
    // The search for the largest coefficients is repeated per member.
    operations += member->operations + 10.0 * n;
  }
}

}  // namespace fost
