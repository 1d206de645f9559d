// Tables of a union, and the choice between pursuit with residuals and with the Gram matrix.
#include "plans/union.hpp"

#include <algorithm>

#include "runtime/dispatch.hpp"

namespace fost {
template <class T>
UnionTables<T>::UnionTables(const CoderProgram<T>& bank, const std::vector<std::int32_t>& indices,
                            const std::vector<MemberRotations>& member_rotations,
                            const std::vector<std::int32_t>& rows, const double* atoms)
    : members_(bank.count),
      schedule_(rows, member_rotations, indices),
      program_{bank,
               nullptr,
               indices.data(),
               schedule_.schedule(),
               rows.data(),
               {},
               static_cast<int>(round_up(bank.base.n, RESIDUAL_PITCH))} {
  add_blocks(atoms, indices.size(), rows);
  const int n = bank.base.n;
  std::size_t next = 0;
  for (int b = 0; b < bank.count; ++b) {
    // Rows and factors of the coefficients of all features.
    std::vector<std::int32_t> rows(n);
    std::vector<T> factors(n, T(1));
    for (int k = 0; k < bank.n_common; ++k)
      rows[second_row(bank.common[k])] = static_cast<std::int32_t>(first_row(bank.common[k]));
    for (int k = 0; k < bank.n_varying; ++k) {
      const RowPair place = bank.members[b].places[k];
      rows[second_row(place)] = static_cast<std::int32_t>(first_row(place));
      factors[second_row(place)] = bank.members[b].scales[k];
    }
    auto& places = places_.emplace_back();
    auto& scales = scales_.emplace_back();
    const int first = static_cast<int>(next);
    for (; next < indices.size() && indices[next] / n == b; ++next) {
      places.push_back(rows[indices[next] % n]);
      scales.push_back(factors[indices[next] % n]);
    }
    members_[b] = {first, static_cast<int>(places.size()), places.data(), scales.data()};
  }
  program_.members = members_.data();
}

template <class T>
void UnionTables<T>::add_blocks(const double* atoms, std::size_t count,
                                const std::vector<std::int32_t>& rows) {
  const std::size_t n = rows.size(), each = program_.pitch / ATOM_BLOCK;
  std::vector<double> atom(program_.pitch, 0.0);
  std::vector<T> values(ATOM_BLOCK, T(0));
  std::int32_t* places = blocks_.emplace(count * each).get();
  for (std::size_t k = 0; k < count; ++k, atoms += n) {
    for (std::size_t i = 0; i < n; ++i) atom[rows[i]] = atoms[i];
    for (auto block = atom.begin(); block < atom.end(); block += ATOM_BLOCK) {
      const bool zero =
          std::all_of(block, block + ATOM_BLOCK, [](double entry) { return entry == 0; });
      *places++ = zero ? 0 : static_cast<std::int32_t>(values.size());
      if (!zero) values.insert(values.end(), block, block + ATOM_BLOCK);
    }
  }
  std::copy(values.begin(), values.end(), entries_.emplace(values.size()).get());
  program_.atoms = {static_cast<int>(each), blocks_->get(), entries_->get()};
}

namespace {

// Features sorted by the number of atoms that use them, so that atoms are zero in whole blocks; the
// position of each feature.
std::vector<std::int32_t> by_use(const double* atoms, std::size_t count, int n) {
  std::vector<std::int32_t> uses(n, 0), order(n), places(n);
  for (std::size_t k = 0; k < count; ++k)
    for (int i = 0; i < n; ++i) uses[i] += atoms[k * n + i] != 0;
  for (int i = 0; i < n; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](int i, int j) { return uses[i] > uses[j]; });
  for (int i = 0; i < n; ++i) places[order[i]] = i;
  return places;
}

}  // namespace

Union::Union(const TransformPlan& base, const std::vector<const TransformPlan*>& members,
             std::vector<std::int32_t> indices, const double* atoms)
    : bank(base, members),
      indices(std::move(indices)),
      member_rotations(rotations_of(members)),
      rows(by_use(atoms, this->indices.size(), base.n)),
      single(bank.program<float>(), this->indices, member_rotations, rows, atoms),
      full(bank.program<double>(), this->indices, member_rotations, rows, atoms) {}

// Nanoseconds per signal measured by benchmarks/bench_unions.py in float32 with AVX-512 and AVX2.
// In float64, and with shorter vectors, both algorithms slow down by about the same factor, except
// that the baseline is slower with residuals. Longer vectors help when data are in the cache.
bool Union::by_residuals(Index rows, int s, bool variable_length) const {
  if (!has_schedule() || rows <= FEW_SIGNALS) return false;  // lanes would be empty
  double rotations = 0;
  for (const MemberRotations& member : member_rotations)
    rotations += static_cast<double>(member.rotations.size());
  const double n = bank.n, count = static_cast<double>(indices.size());
  // Variable-length codes are mostly short, but signals in a batch wait for the longest one.
  const double steps = variable_length ? std::min<double>(s, n / 8 + 1) : s,
               waiting = variable_length ? 2 : 1;
  const int width = kernels<float>().width;
  const bool wide = width >= 32;
  const double search = wide ? 0.065 * rotations + 0.04 * count : 0.10 * rotations + 0.06 * count;
  const double others = wide ? 35 + 0.03 * n * (steps + 1) : 45 + 0.07 * n * (steps + 1);
  const double residuals = (width < 16 ? 1.7 : 1.0) * waiting * steps * (search + others);
  const double products =
      0.10 * rotations + 0.13 * count + 60 * steps + 0.04 * steps * (steps - 1) * count;
  return residuals < products;
}

template class UnionTables<float>;
template class UnionTables<double>;

}  // namespace fost
