// Computes rotation schedules:
//
//   1. Classify each rotation by how many of its results are final correlations of atoms.
//   2. Order the rotations whose results are stored, in chains of two where possible.
//   3. Append the rotations with one, then with two final results, then the stored coefficients.
#include "plans/rotation_schedule.hpp"

#include <algorithm>
#include <cmath>

namespace fost {
namespace {

// Rotations in the form of kernels/transforms/givens.hpp enlarge numbers by the reciprocals of
// their scales. This bound keeps signals within the numeric range.
constexpr double MIN_SCALE = 0x1p-60;

enum class RotationKind { stored, first, both };  // see ScheduledMember

bool add_rotations(const Stage<double>& stage, MemberRotations& member) {
  if (stage.kind != StageKind::rotations) return false;
  const Rotations<double>& rotations = stage.is_transposed ? stage.inverse : stage.forward;
  std::vector<double>& d = member.scales;
  for (int k = 0; k < rotations.count; ++k) {
    const RowPair from = rotations.rows[2 * k], to = rotations.rows[2 * k + 1];
    const Index p = first_row(from), q = second_row(from), i = first_row(to), j = second_row(to);
    const double dp = d[p], dq = d[q];
    member.rotations.push_back({static_cast<std::int32_t>(p), static_cast<std::int32_t>(q),
                                static_cast<std::int32_t>(i), static_cast<std::int32_t>(j),
                                rotations.factors[2 * k] * dq / dp,
                                rotations.factors[2 * k + 1] * dp / dq});
    d[i] = dp;
    d[j] = dq;
  }
  for (int k = 0; k < rotations.n_scaled; ++k) d[rotations.scaled[k]] *= rotations.scales[k];
  for (const double scale : d)
    if (std::abs(scale) < MIN_SCALE) return false;
  return true;
}

// The kind of each rotation. A result that a stored result depends on is stored too, so that
// rotations of one kind can be grouped. `numbers` says which features have an atom of the union.
std::vector<RotationKind> kinds_of(const MemberRotations& member,
                                   const std::vector<std::int32_t>& numbers) {
  const int count = static_cast<int>(member.rotations.size());
  std::vector<RotationKind> kinds(count);
  std::vector<int> next(numbers.size(), -1);  // the next rotation on a feature
  for (int k = count - 1; k >= 0; --k) {
    const ScaledRotation& rotation = member.rotations[k];
    int atoms = 0;
    bool is_stored = false;
    for (const std::int32_t feature : {rotation.i, rotation.j}) {
      if (next[feature] < 0)
        atoms += numbers[feature] >= 0;
      else
        is_stored |= kinds[next[feature]] == RotationKind::stored;
    }
    kinds[k] = is_stored || atoms == 0 ? RotationKind::stored
               : atoms == 1            ? RotationKind::first
                                       : RotationKind::both;
    next[rotation.i] = next[rotation.j] = k;
  }
  return kinds;
}

// The last rotation of each feature.
std::vector<int> last_rotations(const MemberRotations& member) {
  std::vector<int> last(member.scales.size(), -1);
  for (std::size_t k = 0; k < member.rotations.size(); ++k)
    last[member.rotations[k].i] = last[member.rotations[k].j] = static_cast<int>(k);
  return last;
}

// One of the two coefficients of a rotation: the first or the second.
struct Side {
  int rotation;
  bool first;
};

// An order of the rotations whose results are stored, in chains of two where the second rotation of
// a coefficient can directly follow the first.
class StoredOrder {
 public:
  StoredOrder(const MemberRotations& member, const std::vector<RotationKind>& kinds)
      : nodes_(kinds.size()) {
    std::vector<int> last(member.scales.size(), -1);
    const int count = static_cast<int>(kinds.size());
    for (int k = 0; k < count; ++k) {
      if (kinds[k] != RotationKind::stored) continue;
      const ScaledRotation& rotation = member.rotations[k];
      for (const bool first : {true, false}) {
        const std::int32_t feature = first ? rotation.p : rotation.q;
        const int before = last[feature];
        if (before < 0) continue;
        ++nodes_[k].waits;
        nodes_[before].next[member.rotations[before].i == feature] = {k, first};
      }
      last[rotation.i] = last[rotation.j] = k;
    }
    for (int k = 0; k < count; ++k)
      if (kinds[k] == RotationKind::stored && nodes_[k].waits == 0) ready_.push_back(k);
  }

  // The next chain of two, or one rotation, or none at the end, with the coefficient they share.
  std::vector<Side> next() {
    for (const int rotation : ready_)
      for (const bool first : {true, false}) {
        const Side then = nodes_[rotation].next[first];
        if (then.rotation < 0) continue;
        // Whether it is the next rotation of both coefficients.
        const bool twice = nodes_[rotation].next[!first].rotation == then.rotation;
        if (nodes_[then.rotation].waits == (twice ? 2 : 1)) return done({{rotation, first}, then});
      }
    if (ready_.empty()) return {};
    return done({{ready_.front(), true}});
  }

 private:
  struct Node {
    int waits = 0;  // inputs that are not computed yet
    // The next rotations of the second and the first result.
    Side next[2] = {{-1, false}, {-1, false}};
  };

  std::vector<Side> done(std::vector<Side> sides) {
    for (const Side& side : sides) {
      ready_.erase(std::find(ready_.begin(), ready_.end(), side.rotation));
      for (const Side& next : nodes_[side.rotation].next)
        if (next.rotation >= 0 && --nodes_[next.rotation].waits == 0)
          ready_.push_back(next.rotation);
    }
    return sides;
  }

  std::vector<Node> nodes_;
  std::vector<int> ready_;
};

}  // namespace

std::vector<MemberRotations> rotations_of(const std::vector<const TransformPlan*>& members) {
  std::vector<MemberRotations> all;
  for (const TransformPlan* member : members) {
    const Program<double> program = member->program<double>().base;
    MemberRotations& rotations = all.emplace_back();
    rotations.scales.assign(program.n, 1.0);
    for (int k = 0; k < program.n_stages; ++k)
      if (!add_rotations(program.stages[k], rotations)) return {};
  }
  return all;
}

template <class T>
RotationScheduleTables<T>::RotationScheduleTables(const std::vector<std::int32_t>& places,
                                                  const std::vector<MemberRotations>& members,
                                                  const std::vector<std::int32_t>& indices) {
  const int n = static_cast<int>(places.size());
  std::size_t next = 0;
  for (std::size_t b = 0; b < members.size(); ++b) {
    std::vector<std::int32_t> numbers(n, -1);
    for (; next < indices.size() && indices[next] / n == static_cast<int>(b); ++next)
      numbers[indices[next] % n] = static_cast<std::int32_t>(next);
    add(members[b], numbers, places);
  }
}

template <class T>
void RotationScheduleTables<T>::add(const MemberRotations& member,
                                    const std::vector<std::int32_t>& numbers,
                                    const std::vector<std::int32_t>& initial_rows) {
  const int n = static_cast<int>(numbers.size());
  const std::vector<RotationKind> kinds = kinds_of(member, numbers);
  const std::vector<int> last = last_rotations(member);
  const auto is_atom = [&](std::int32_t feature, int k) {
    return last[feature] == k && numbers[feature] >= 0;
  };
  // The coefficient row of each feature.
  std::vector<std::int32_t> now = initial_rows;
  int n_written = 0;
  ScheduledMember<T> made{};
  std::vector<RowPair> rows[3];
  std::vector<T> factors[3];
  std::vector<std::int32_t> atoms[3];
  const auto row_of = [&](std::int32_t feature) {  // to write to
    if (now[feature] < n) now[feature] = n + n_written++;
    return now[feature];
  };
  auto& run_lengths = run_lengths_.emplace_back();
  StoredOrder order(member, kinds);
  for (std::vector<Side> sides = order.next(); !sides.empty(); sides = order.next()) {
    const bool alone = sides.size() == 1;
    if (run_lengths.empty() || (!alone && run_lengths.back() > 0))
      run_lengths.insert(run_lengths.end(), {0, 0});
    ++run_lengths[run_lengths.size() - (alone ? 1 : 2)];
    const ScaledRotation& begin = member.rotations[sides[0].rotation];
    const std::int32_t read = now[sides[0].first ? begin.p : begin.q];
    const std::size_t ends = rows[0].size();
    rows[0].push_back({});
    std::int32_t common = 0;
    for (const Side& side : sides) {
      const ScaledRotation& rotation = member.rotations[side.rotation];
      const T alpha = static_cast<T>(rotation.alpha), beta = static_cast<T>(rotation.beta);
      const std::int32_t other = now[side.first ? rotation.q : rotation.p];
      rows[0].push_back(row_pair(other, row_of(side.first ? rotation.j : rotation.i)));
      factors[0].insert(factors[0].end(), {side.first ? alpha : beta, side.first ? beta : alpha});
      common = side.first ? rotation.i : rotation.j;
    }
    rows[0][ends] = row_pair(read, row_of(common));
  }
  made.runs = static_cast<int>(run_lengths.size() / 2);
  made.run_lengths = run_lengths.data();
  for (int k = 0; k < static_cast<int>(member.rotations.size()); ++k) {
    const ScaledRotation& rotation = member.rotations[k];
    const int kind = static_cast<int>(kinds[k]);
    const RowPair from = row_pair(now[rotation.p], now[rotation.q]),
                  swapped = row_pair(now[rotation.q], now[rotation.p]);
    const double di = member.scales[rotation.i], dj = member.scales[rotation.j];
    const T one[] = {static_cast<T>(di), static_cast<T>(di * rotation.alpha)};
    const T other[] = {static_cast<T>(dj), static_cast<T>(dj * rotation.beta)};
    auto& to_rows = rows[kind];
    auto& to_factors = factors[kind];
    switch (kinds[k]) {
      case RotationKind::stored: break;
      case RotationKind::first:
        if (is_atom(rotation.i, k)) {
          to_rows.insert(to_rows.end(), {from, row_pair(row_of(rotation.j), 0)});
          to_factors.insert(to_factors.end(), {one[0], one[1], static_cast<T>(rotation.beta)});
          atoms[kind].push_back(numbers[rotation.i]);
        } else {
          to_rows.insert(to_rows.end(), {swapped, row_pair(row_of(rotation.i), 0)});
          to_factors.insert(to_factors.end(), {other[0], other[1], static_cast<T>(rotation.alpha)});
          atoms[kind].push_back(numbers[rotation.j]);
        }
        ++made.first;
        break;
      case RotationKind::both:
        to_rows.push_back(from);
        to_factors.insert(to_factors.end(), {one[0], one[1], other[0], other[1]});
        atoms[kind].insert(atoms[kind].end(), {numbers[rotation.i], numbers[rotation.j]});
        ++made.both;
        break;
    }
  }
  auto& all_rows = rows_.emplace_back();
  auto& all_factors = numbers_.emplace_back();
  for (int kind = 0; kind < 3; ++kind) {
    all_rows.insert(all_rows.end(), rows[kind].begin(), rows[kind].end());
    all_factors.insert(all_factors.end(), factors[kind].begin(), factors[kind].end());
    atoms_.insert(atoms_.end(), atoms[kind].begin(), atoms[kind].end());
  }
  auto& places = places_.emplace_back();
  auto& scales = numbers_.emplace_back();
  for (int i = 0; i < n; ++i)
    if (numbers[i] >= 0 && (last[i] < 0 || kinds[last[i]] == RotationKind::stored)) {
      places.push_back(now[i]);
      scales.push_back(static_cast<T>(member.scales[i]));
      atoms_.push_back(numbers[i]);
    }
  made.rows = all_rows.data();
  made.factors = all_factors.data();
  made.n_stored = static_cast<int>(places.size());
  made.places = places.data();
  made.scales = scales.data();
  members_.push_back(made);
}

template class RotationScheduleTables<float>;
template class RotationScheduleTables<double>;

}  // namespace fost
