#include "plans/union.hpp"

#include <algorithm>
#include <atomic>

#include "drivers/csr.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/parallel.hpp"
#include "drivers/pursuit_workspace.hpp"
#include "drivers/workspace.hpp"

namespace fost {
namespace {

// Sums of codes, each of its own range of signals: at least so many signals in one, and one for so many
// numbers that are added up in the end; and at most so much memory for all of them.
constexpr Index RANGE_SIGNALS = 2048;
constexpr Index NUMBERS_PER_SIGNAL = 32;
constexpr Index SUMS_BYTES = 32 * 1024 * 1024;

// To judge what threads are worth: the members, and a step after another of pursuit.
double nanoseconds(const Union& all, Index rows, int s) {
  const double atoms = static_cast<double>(all.indices.size());
  return nanoseconds(all.bank, rows) + static_cast<double>(rows) * s * (60.0 + atoms / 4);
}

}  // namespace

template <class T>
UnionTables<T>::UnionTables(const CoderProgram<T>& bank, const std::vector<std::int32_t>& indices,
                            const std::vector<MemberTurns>& turns, const std::vector<std::int32_t>& rows,
                            const double* atoms)
    : members_(bank.count),
      screen_(rows, turns, indices),
      program_{bank, nullptr, indices.data(), screen_.screen(), rows.data(), {},
               static_cast<int>(whole(bank.base.n, RESIDUAL_PITCH))} {
  add_blocks(atoms, indices.size(), rows);
  const int n = bank.base.n;
  std::size_t next = 0;
  for (int b = 0; b < bank.count; ++b) {
    // Where the coefficients of all features are, and up to which factors.
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
void UnionTables<T>::add_blocks(const double* atoms, std::size_t count, const std::vector<std::int32_t>& rows) {
  const std::size_t n = rows.size(), each = program_.pitch / ATOM_BLOCK;
  std::vector<double> atom(program_.pitch, 0.0);
  std::vector<T> values(ATOM_BLOCK, T(0));
  std::int32_t* places = blocks_.emplace(count * each).get();
  for (std::size_t k = 0; k < count; ++k, atoms += n) {
    for (std::size_t i = 0; i < n; ++i) atom[rows[i]] = atoms[i];
    for (auto block = atom.begin(); block < atom.end(); block += ATOM_BLOCK) {
      const bool zero = std::all_of(block, block + ATOM_BLOCK, [](double entry) { return entry == 0; });
      *places++ = zero ? 0 : static_cast<std::int32_t>(values.size());
      if (!zero) values.insert(values.end(), block, block + ATOM_BLOCK);
    }
  }
  std::copy(values.begin(), values.end(), entries_.emplace(values.size()).get());
  program_.atoms = {static_cast<int>(each), blocks_->get(), entries_->get()};
}

namespace {

// Features in the order of how many atoms have them, so that atoms are zero in whole blocks; of each
// its place in it.
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

Union::Union(const Plan& base, const std::vector<const Plan*>& members,
             std::vector<std::int32_t> indices, const double* atoms)
    : bank(base, members),
      indices(std::move(indices)),
      turns(turns_of(members)),
      rows(by_use(atoms, this->indices.size(), base.n)),
      single(bank.program<float>(), this->indices, turns, rows, atoms),
      full(bank.program<double>(), this->indices, turns, rows, atoms) {}

// Nanoseconds per signal as benchmarks/bench_unions.py has them in float32, with AVX-512 and with AVX2;
// of float64, and with shorter vectors, both ways take about the same multiple, but for the latter's
// factor. Longer vectors gain where nothing comes from far.
bool Union::by_residuals(Index rows, int s, bool within) const {
  if (!can_screen() || rows <= FEW_SIGNALS) return false;  // lanes would be empty
  double rotations = 0;
  for (const MemberTurns& member : turns) rotations += static_cast<double>(member.turns.size());
  const double n = bank.n, count = static_cast<double>(indices.size());
  // Codes within an error have different lengths. Most are short; and signals side by side wait for
  // the longest.
  const double steps = within ? std::min<double>(s, n / 8 + 1) : s, waiting = within ? 2 : 1;
  const int width = kernels<float>().width;
  const bool wide = width >= 32;
  const double screen = wide ? 0.065 * rotations + 0.04 * count : 0.10 * rotations + 0.06 * count;
  const double others = wide ? 35 + 0.03 * n * (steps + 1) : 45 + 0.07 * n * (steps + 1);
  const double residuals = (width < 16 ? 1.7 : 1.0) * waiting * steps * (screen + others);
  const double products = 0.10 * rotations + 0.13 * count + 60 * steps + 0.04 * steps * (steps - 1) * count;
  return residuals < products;
}

template <class T, class I>
Index pursue(const Union& all, bool residuals, const T* gram, const View<const T>& y, int s, double tol,
             T* values, std::int32_t* indices, I* indptr) {
  const Kernels<T>& kernels = fost::kernels<T>();
  const int count = static_cast<int>(all.indices.size()), pitch = static_cast<int>(whole(count, PITCH));
  const Atoms<T> atoms = {all.bank.n, count, pitch, nullptr, const_cast<T*>(gram), nullptr, nullptr, nullptr};
  const Index width = tile_width(all.bank, kernels.width, y.rows), tiles = (y.rows + width - 1) / width;
  const int threads = threads_for(nanoseconds(all, y.rows, s));
  std::vector<WorkBuffers<T>> work;
  std::vector<BankBuffers<T>> boards;
  std::vector<PursuitBuffers<T>> buffers;
  for (int k = 0; k < threads; ++k) {
    work.emplace_back(all.bank, kernels, y.rows);
    boards.emplace_back(all.bank, kernels, y.rows);
    if (residuals)
      buffers.push_back(PursuitBuffers<T>::for_residuals(atoms, kernels.width, s, tol));
    else
      buffers.emplace_back(atoms, width, y.rows, s, false, tol);
  }
  const Buffer<std::int32_t> counts(y.rows);
  const Codes<T> codes = {values, indices, counts.get(), s};
  std::atomic<bool> finite{true};
  const Index ranges = std::min<Index>(tiles, threads == 1 ? 1 : 8 * Index(threads));
  const auto kernel = residuals ? kernels.pursue_residuals : kernels.pursue_union;
  parallel_for(ranges, threads, [&](Index k, int thread) {
    const Index first = tiles * k / ranges * width;
    const Index last = std::min(y.rows, tiles * (k + 1) / ranges * width);
    if (!kernel(all.program<T>(), atoms, y, first, last, codes, buffers[thread].memory(),
                boards[thread].memory(), work[thread].workspace()))
      finite = false;
  });
  return finite ? compress(codes, y.rows, indptr) : -1;
}

namespace {

// Adds those of the rows first:last.
template <class T>
void add_sums(const SparseRows<T, std::int64_t>& codes, Index atoms, const View<const T>& y, Index first, Index last,
              double* matrix, double* products) {
  const Index n = y.columns;
  const Buffer<double> signal(n);
  double* row = signal.get();
  for (Index r = first; r < last; ++r) {
    for (Index i = 0; i < n; ++i) row[i] = y.data[r * y.row_stride + i * y.column_stride];
    const std::int64_t begin = codes.indptr[r], end = codes.indptr[r + 1];
    for (std::int64_t k = begin; k < end; ++k) {
      const double value = codes.values[k];
      double* sums = matrix + codes.indices[k] * n;
      for (Index i = 0; i < n; ++i) sums[i] += value * row[i];
      double* pairs = products + codes.indices[k] * atoms;
      for (std::int64_t j = begin; j < end; ++j) pairs[codes.indices[j]] += value * codes.values[j];
    }
  }
}

}  // namespace

template <class T>
void code_sums(const SparseRows<T, std::int64_t>& codes, Index atoms, const View<const T>& y, double* matrix,
               double* products) {
  const Index size = atoms * y.columns, squares = atoms * atoms, both = size + squares;
  // The ranges follow from the sizes alone, and their sums are added in order, so that the
  // number of threads cannot change a bit.
  const Index room = std::clamp<Index>(SUMS_BYTES / (both * Index(sizeof(double))), 1, 64);
  const Index least = std::max(RANGE_SIGNALS, both / NUMBERS_PER_SIGNAL);
  const Index ranges = std::clamp<Index>(y.rows / least, 1, room);
  const double entries = static_cast<double>(codes.indptr[y.rows]);
  const int threads = static_cast<int>(
      std::min<Index>(ranges, threads_for(entries * static_cast<double>(y.columns) / 4)));
  // The first range has the sums themselves.
  const Buffer<double> partial((ranges - 1) * both);
  const auto own = [&](Index k) { return partial.get() + (k - 1) * both; };
  parallel_for(ranges, threads, [&](Index k, int) {
    double *to = k ? own(k) : matrix, *pairs = k ? own(k) + size : products;
    std::fill_n(to, size, 0.0);
    std::fill_n(pairs, squares, 0.0);
    add_sums(codes, atoms, y, y.rows * k / ranges, y.rows * (k + 1) / ranges, to, pairs);
  });
  for (Index k = 1; k < ranges; ++k) {
    for (Index i = 0; i < size; ++i) matrix[i] += own(k)[i];
    for (Index i = 0; i < squares; ++i) products[i] += own(k)[size + i];
  }
}

#define FOST_INSTANTIATE(T)                                                                      \
  template class UnionTables<T>;                                                                 \
  template Index pursue<T, std::int32_t>(const Union&, bool, const T*, const View<const T>&, int, \
                                         double, T*, std::int32_t*, std::int32_t*);              \
  template Index pursue<T, std::int64_t>(const Union&, bool, const T*, const View<const T>&, int, \
                                         double, T*, std::int32_t*, std::int64_t*);              \
  template void code_sums<T>(const SparseRows<T, std::int64_t>&, Index, const View<const T>&, double*, double*);
FOST_INSTANTIATE(float)
FOST_INSTANTIATE(double)

}  // namespace fost
