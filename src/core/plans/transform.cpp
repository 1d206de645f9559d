#include "plans/transform.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace fost {
namespace {

constexpr int GROUP = 12;        // reflectors per compact WY block (see householder.hpp)
// Most features of a dense matrix that stays in the second-level cache, where fost's own
// product is faster than BLAS with its packing (benchmarks/bench_encode.py).
constexpr int DENSE_IN_LANES = 256;
constexpr int MOST_LAYERS = 32;  // of rotations in a stage

// T of I - V T V^T = H_1 ... H_k with H_l = I - 2 v_l v_l^T: upper triangular, 2 on the
// diagonal, and column l is -2 T_(l-1) V_(l-1)^T v_l above it.
void compact_wy(const double* vectors, int n, int size, double* triangle) {
  for (int l = 0; l < size; ++l) {
    double dots[GROUP] = {};
    for (int k = 0; k < l; ++k)
      for (int i = 0; i < n; ++i) dots[k] += vectors[k * Index(n) + i] * vectors[l * Index(n) + i];
    for (int k = 0; k < size; ++k) {
      double sum = 0;
      for (int q = k; q < l; ++q) sum += triangle[k * size + q] * dots[q];
      triangle[k * size + l] = k < l ? -2 * sum : (k == l ? 2 : 0);
    }
  }
}

// The layer of each rotation: as early as the rotations before it on the same features allow.
std::vector<int> layers(const std::int32_t* pairs, int count, int n) {
  std::vector<int> layer(count), depth(n, 0);
  for (int k = 0; k < count; ++k) {
    int& i = depth[pairs[2 * k]];
    int& j = depth[pairs[2 * k + 1]];
    layer[k] = std::max(i, j);
    i = j = layer[k] + 1;
  }
  return layer;
}

// (y_i, y_j) <- B^T (y_i, y_j), or by B.
Turn turn(const std::int32_t* pair, const double* block, bool transposed) {
  return {pair[0], pair[1], {block[0], block[transposed ? 2 : 1], block[transposed ? 1 : 2], block[3]}};
}

}  // namespace

template <class T> T* Tables<T>::allocate(std::size_t size) {
  return numbers_.emplace_back(size).data();
}

template <class T> Stage<T>& Tables<T>::add_stage(Kind kind, int count) {
  Stage<T> stage{};
  stage.kind = kind;
  stage.count = count;
  return stages_.emplace_back(stage);
}

template <class T> void Tables<T>::add_reflectors(const double* vectors, int count) {
  auto& groups = groups_.emplace_back();
  for (int first = 0; first < count; first += GROUP) {
    const int size = std::min(GROUP, count - first);
    const double* block = vectors + first * Index(n_);
    T* entries = allocate(size * std::size_t(n_));
    int begin = n_;
    for (int i = n_ - 1; i >= 0; --i)
      for (int k = 0; k < size; ++k) {
        const double entry = block[k * Index(n_) + i];
        entries[i * Index(size) + k] = static_cast<T>(entry);
        if (entry != 0) begin = i;
      }
    double triangle[GROUP * GROUP];
    compact_wy(block, n_, size, triangle);
    T* rounded = allocate(size * size);
    std::copy(triangle, triangle + size * size, rounded);
    groups.push_back({size, begin, entries, rounded});
  }
  add_stage(Kind::reflectors, static_cast<int>(groups.size())).groups = groups.data();
}

// Into the form of givens.hpp: y_i = d_i p with the larger entry of the block's row taken out.
template <class T> Rotations<T> Tables<T>::compile(const std::vector<Turn>& turns) {
  std::vector<double> d(n_, 1.0);
  auto& rows = rows_.emplace_back();
  T* factors = allocate(2 * turns.size());
  Rotations<T> made{static_cast<int>(turns.size()), nullptr, factors, 0, nullptr, nullptr};
  for (const Turn& turn : turns) {
    const bool straight = std::abs(turn.block[0]) >= std::abs(turn.block[1]);
    const std::int32_t p = straight ? turn.i : turn.j, q = straight ? turn.j : turn.i;
    const double* b = turn.block;
    const double di = straight ? b[0] : b[1], dj = straight ? b[3] : b[2];
    *factors++ = static_cast<T>((straight ? b[1] : b[0]) * d[q] / (di * d[p]));
    *factors++ = static_cast<T>((straight ? b[2] : b[3]) * d[p] / (dj * d[q]));
    rows.insert(rows.end(), {row_pair(p, q), row_pair(turn.i, turn.j)});
    const double before = d[p];
    d[turn.j] = dj * d[q];
    d[turn.i] = di * before;
  }
  made.rows = rows.data();
  auto& scaled = scaled_.emplace_back();
  for (int i = 0; i < n_; ++i)
    if (d[i] != 1) scaled.push_back(i);
  T* scales = allocate(scaled.size());
  for (std::size_t k = 0; k < scaled.size(); ++k) scales[k] = static_cast<T>(d[scaled[k]]);
  made.n_scaled = static_cast<int>(scaled.size());
  made.scaled = scaled.data();
  made.scales = scales;
  return made;
}

// Rotations on disjoint pairs come together, so that neighbours do not wait for each other's
// results. A stage has few layers, as a layer may make numbers sqrt(2) times as large.
template <class T>
void Tables<T>::add_rotations(const std::int32_t* pairs, const double* blocks, int count) {
  const std::vector<int> layer = layers(pairs, count, n_);
  std::vector<int> order(count);
  for (int k = 0; k < count; ++k) order[k] = k;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return layer[a] < layer[b]; });
  for (int end = count; end > 0;) {  // G_g is applied first
    const int last = layer[order[end - 1]];
    int begin = end;
    while (begin > 0 && last - layer[order[begin - 1]] < MOST_LAYERS) --begin;
    std::vector<Turn> forward, inverse;
    for (int k = begin; k < end; ++k) {
      const std::int32_t* pair = pairs + 2 * order[k];
      const double* block = blocks + 4 * Index(order[k]);
      forward.push_back(turn(pair, block, true));
      inverse.push_back(turn(pair, block, false));
    }
    std::reverse(forward.begin(), forward.end());
    Stage<T>& stage = add_stage(Kind::rotations, 0);
    stage.forward = compile(forward);
    stage.inverse = compile(inverse);
    end = begin;
  }
}

template <class T> void Tables<T>::add_dense(const double* matrix) {
  T* rounded = allocate(std::size_t(n_) * n_);
  std::copy(matrix, matrix + Index(n_) * n_, rounded);
  T* transposed = nullptr;
  if (n_ <= DENSE_IN_LANES) {
    transposed = allocate(std::size_t(n_) * n_);
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < n_; ++j) transposed[j * Index(n_) + i] = rounded[i * Index(n_) + j];
  }
  Stage<T>& stage = add_stage(Kind::dense, 1);
  stage.matrix = rounded;
  stage.transposed = transposed;
}

template <class T> void Tables<T>::add_cosine(const std::vector<int>& shape) {
  auto& axes = axes_.emplace_back();
  Index stride = n_;
  for (int length : shape) {
    stride /= length;
    axes.push_back(cosines_.axis(length, stride));
  }
  add_stage(Kind::cosine, static_cast<int>(axes.size())).axes = axes.data();
}

template <class T> void Tables<T>::add_stages(const Tables& other, bool transposed) {
  const Program<T> program = other.program();
  for (int k = 0; k < program.n_stages; ++k) {
    Stage<T> stage = program.stages[transposed ? program.n_stages - 1 - k : k];
    stage.backwards ^= transposed;
    stages_.push_back(stage);
  }
}

template class Tables<float>;
template class Tables<double>;

void Plan::add_reflectors(const double* vectors, int count) {
  single.add_reflectors(vectors, count);
  full.add_reflectors(vectors, count);
  operations += 4.0 * n * count;
}

void Plan::add_rotations(const std::int32_t* pairs, const double* blocks, int count) {
  single.add_rotations(pairs, blocks, count);
  full.add_rotations(pairs, blocks, count);
  operations += 6.0 * count;
}

void Plan::add_cosine(const std::vector<int>& shape) {
  single.add_cosine(shape);
  full.add_cosine(shape);
  for (int length : shape) operations += n / length * cosine_operations(length);
}

void Plan::add_dense(const double* matrix) {
  single.add_dense(matrix);
  full.add_dense(matrix);
  operations += 2.0 * n * n;
  has_dense = true;
  uses_blas = n > DENSE_IN_LANES;
}

void Plan::add_plan(const Plan& other, bool transposed) {
  single.add_stages(other.single, transposed);
  full.add_stages(other.full, transposed);
  operations += other.operations;
  has_dense |= other.has_dense;
  uses_blas |= other.uses_blas;
}

}  // namespace fost
