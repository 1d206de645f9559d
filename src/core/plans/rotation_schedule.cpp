#include "plans/rotation_schedule.hpp"

#include <algorithm>
#include <cmath>

namespace fost {
namespace {

// Rotations in the form of givens.hpp make numbers larger by one over their scales: not by more
// than signals within reach allow.
constexpr double LEAST_SCALE = 0x1p-60;

enum class Way { kept, first, both };  // see ScreenMember

bool add_turns(const Stage<double>& stage, MemberTurns& member) {
  if (stage.kind != Kind::rotations) return false;
  const Rotations<double>& rotations = stage.backwards ? stage.inverse : stage.forward;
  std::vector<double>& d = member.scales;
  for (int k = 0; k < rotations.count; ++k) {
    const RowPair from = rotations.rows[2 * k], to = rotations.rows[2 * k + 1];
    const Index p = first_row(from), q = second_row(from), i = first_row(to), j = second_row(to);
    const double dp = d[p], dq = d[q];
    member.turns.push_back({static_cast<std::int32_t>(p), static_cast<std::int32_t>(q),
                            static_cast<std::int32_t>(i), static_cast<std::int32_t>(j),
                            rotations.factors[2 * k] * dq / dp, rotations.factors[2 * k + 1] * dp / dq});
    d[i] = dp;
    d[j] = dq;
  }
  for (int k = 0; k < rotations.n_scaled; ++k) d[rotations.scaled[k]] *= rotations.scales[k];
  for (const double scale : d)
    if (std::abs(scale) < LEAST_SCALE) return false;
  return true;
}

// How each rotation is done: what something that is kept depends on is kept too, so that those of
// one way can come together. `numbers` says which features have an atom that counts.
std::vector<Way> ways_of(const MemberTurns& member, const std::vector<std::int32_t>& numbers) {
  const int count = static_cast<int>(member.turns.size());
  std::vector<Way> ways(count);
  std::vector<int> next(numbers.size(), -1);  // the rotation after this one on a feature
  for (int k = count - 1; k >= 0; --k) {
    const Turned& turn = member.turns[k];
    int atoms = 0;
    bool kept = false;
    for (const std::int32_t feature : {turn.i, turn.j}) {
      if (next[feature] < 0)
        atoms += numbers[feature] >= 0;
      else
        kept |= ways[next[feature]] == Way::kept;
    }
    ways[k] = kept || atoms == 0 ? Way::kept : atoms == 1 ? Way::first : Way::both;
    next[turn.i] = next[turn.j] = k;
  }
  return ways;
}

// The last rotation of each feature.
std::vector<int> last_turns(const MemberTurns& member) {
  std::vector<int> last(member.scales.size(), -1);
  for (std::size_t k = 0; k < member.turns.size(); ++k)
    last[member.turns[k].i] = last[member.turns[k].j] = static_cast<int>(k);
  return last;
}

// One of the two coefficients of a rotation: the first or the second.
struct Side {
  int turn;
  bool first;
};

// An order of the rotations that are kept, in pairs where the second rotation of a coefficient can follow the
// first at once.
class KeptOrder {
 public:
  KeptOrder(const MemberTurns& member, const std::vector<Way>& ways) : turns_(ways.size()) {
    std::vector<int> last(member.scales.size(), -1);
    const int count = static_cast<int>(ways.size());
    for (int k = 0; k < count; ++k) {
      if (ways[k] != Way::kept) continue;
      const Turned& turn = member.turns[k];
      for (const bool first : {true, false}) {
        const std::int32_t feature = first ? turn.p : turn.q;
        const int before = last[feature];
        if (before < 0) continue;
        ++turns_[k].waits;
        turns_[before].next[member.turns[before].i == feature] = {k, first};
      }
      last[turn.i] = last[turn.j] = k;
    }
    for (int k = 0; k < count; ++k)
      if (ways[k] == Way::kept && turns_[k].waits == 0) ready_.push_back(k);
  }

  // Two, one, or in the end none, with the coefficient that they have in common.
  std::vector<Side> next() {
    for (const int turn : ready_)
      for (const bool first : {true, false}) {
        const Side then = turns_[turn].next[first];
        if (then.turn < 0) continue;
        const bool twice = turns_[turn].next[!first].turn == then.turn;  // the next of both coefficients
        if (turns_[then.turn].waits == (twice ? 2 : 1)) return done({{turn, first}, then});
      }
    if (ready_.empty()) return {};
    return done({{ready_.front(), true}});
  }

 private:
  struct Turn {
    int waits = 0;                           // coefficients that are not computed yet
    Side next[2] = {{-1, false}, {-1, false}};  // where the second and the first one go
  };

  std::vector<Side> done(std::vector<Side> sides) {
    for (const Side& side : sides) {
      ready_.erase(std::find(ready_.begin(), ready_.end(), side.turn));
      for (const Side& next : turns_[side.turn].next)
        if (next.turn >= 0 && --turns_[next.turn].waits == 0) ready_.push_back(next.turn);
    }
    return sides;
  }

  std::vector<Turn> turns_;
  std::vector<int> ready_;
};

}  // namespace

std::vector<MemberTurns> turns_of(const std::vector<const Plan*>& members) {
  std::vector<MemberTurns> all;
  for (const Plan* member : members) {
    const Program<double> program = member->program<double>().base;
    MemberTurns& turns = all.emplace_back();
    turns.scales.assign(program.n, 1.0);
    for (int k = 0; k < program.n_stages; ++k)
      if (!add_turns(program.stages[k], turns)) return {};
  }
  return all;
}

template <class T>
ScreenTables<T>::ScreenTables(const std::vector<std::int32_t>& places, const std::vector<MemberTurns>& members,
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
void ScreenTables<T>::add(const MemberTurns& member, const std::vector<std::int32_t>& numbers,
                          const std::vector<std::int32_t>& board) {
  const int n = static_cast<int>(numbers.size());
  const std::vector<Way> ways = ways_of(member, numbers);
  const std::vector<int> last = last_turns(member);
  const auto is_atom = [&](std::int32_t feature, int k) { return last[feature] == k && numbers[feature] >= 0; };
  // Where the coefficients of all features are on the board.
  std::vector<std::int32_t> now = board;
  int touched = 0;
  ScreenMember<T> made{};
  std::vector<RowPair> rows[3];
  std::vector<T> factors[3];
  std::vector<std::int32_t> atoms[3];
  const auto row_of = [&](std::int32_t feature) {  // to write to
    if (now[feature] < n) now[feature] = n + touched++;
    return now[feature];
  };
  auto& kept = kept_.emplace_back();
  KeptOrder order(member, ways);
  for (std::vector<Side> sides = order.next(); !sides.empty(); sides = order.next()) {
    const bool alone = sides.size() == 1;
    if (kept.empty() || (!alone && kept.back() > 0)) kept.insert(kept.end(), {0, 0});
    ++kept[kept.size() - (alone ? 1 : 2)];
    const Turned& begin = member.turns[sides[0].turn];
    const std::int32_t read = now[sides[0].first ? begin.p : begin.q];
    const std::size_t ends = rows[0].size();
    rows[0].push_back({});
    std::int32_t common = 0;
    for (const Side& side : sides) {
      const Turned& turn = member.turns[side.turn];
      const T alpha = static_cast<T>(turn.alpha), beta = static_cast<T>(turn.beta);
      const std::int32_t other = now[side.first ? turn.q : turn.p];
      rows[0].push_back(row_pair(other, row_of(side.first ? turn.j : turn.i)));
      factors[0].insert(factors[0].end(), {side.first ? alpha : beta, side.first ? beta : alpha});
      common = side.first ? turn.i : turn.j;
    }
    rows[0][ends] = row_pair(read, row_of(common));
  }
  made.turns = static_cast<int>(kept.size() / 2);
  made.kept = kept.data();
  for (int k = 0; k < static_cast<int>(member.turns.size()); ++k) {
    const Turned& turn = member.turns[k];
    const int way = static_cast<int>(ways[k]);
    const RowPair from = row_pair(now[turn.p], now[turn.q]), swapped = row_pair(now[turn.q], now[turn.p]);
    const double di = member.scales[turn.i], dj = member.scales[turn.j];
    const T one[] = {static_cast<T>(di), static_cast<T>(di * turn.alpha)};
    const T other[] = {static_cast<T>(dj), static_cast<T>(dj * turn.beta)};
    auto& to_rows = rows[way];
    auto& to_factors = factors[way];
    switch (ways[k]) {
      case Way::kept:
        break;
      case Way::first:
        if (is_atom(turn.i, k)) {
          to_rows.insert(to_rows.end(), {from, row_pair(row_of(turn.j), 0)});
          to_factors.insert(to_factors.end(), {one[0], one[1], static_cast<T>(turn.beta)});
          atoms[way].push_back(numbers[turn.i]);
        } else {
          to_rows.insert(to_rows.end(), {swapped, row_pair(row_of(turn.i), 0)});
          to_factors.insert(to_factors.end(), {other[0], other[1], static_cast<T>(turn.alpha)});
          atoms[way].push_back(numbers[turn.j]);
        }
        ++made.first;
        break;
      case Way::both:
        to_rows.push_back(from);
        to_factors.insert(to_factors.end(), {one[0], one[1], other[0], other[1]});
        atoms[way].insert(atoms[way].end(), {numbers[turn.i], numbers[turn.j]});
        ++made.both;
        break;
    }
  }
  auto& all_rows = rows_.emplace_back();
  auto& all_factors = numbers_.emplace_back();
  for (int way = 0; way < 3; ++way) {
    all_rows.insert(all_rows.end(), rows[way].begin(), rows[way].end());
    all_factors.insert(all_factors.end(), factors[way].begin(), factors[way].end());
    atoms_.insert(atoms_.end(), atoms[way].begin(), atoms[way].end());
  }
  auto& places = places_.emplace_back();
  auto& scales = numbers_.emplace_back();
  for (int i = 0; i < n; ++i)
    if (numbers[i] >= 0 && (last[i] < 0 || ways[last[i]] == Way::kept)) {
      places.push_back(now[i]);
      scales.push_back(static_cast<T>(member.scales[i]));
      atoms_.push_back(numbers[i]);
    }
  made.rows = all_rows.data();
  made.factors = all_factors.data();
  made.stored = static_cast<int>(places.size());
  made.places = places.data();
  made.scales = scales.data();
  members_.push_back(made);
}

template class ScreenTables<float>;
template class ScreenTables<double>;

}  // namespace fost
