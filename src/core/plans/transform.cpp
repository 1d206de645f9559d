// Tables of reflectors (compact WY), rotations (layers, scaled form), cosine and dense stages.
#include "plans/transform.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace fost {
namespace {

constexpr int GROUP = 12;  // reflectors per compact WY block (see householder.hpp)
// Largest number of features for which the dense matrix fits in the second-level cache; up to
// there, the kernel is faster than BLAS with its packing (benchmarks/bench_encode.py).
constexpr int DENSE_IN_LANES = 256;
constexpr int MAX_LAYERS = 32;  // of rotations in a stage

// T of I - V T V^T = H_1 ... H_k with H_l = I - 2 v_l v_l^T: upper triangular with 2 on the
// diagonal; column l is -2 T_(l-1) V_(l-1)^T v_l above it.
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

// The layer of each rotation: the earliest one after all previous rotations on the same features.
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
PlaneRotation plane_rotation(const std::int32_t* pair, const double* block, bool transposed) {
  return {
      pair[0], pair[1], {block[0], block[transposed ? 2 : 1], block[transposed ? 1 : 2], block[3]}};
}

}  // namespace

template <class T> T* TransformTables<T>::allocate(std::size_t size) {
  return numbers_.emplace_back(size).data();
}

template <class T> Stage<T>& TransformTables<T>::add_stage(StageKind kind, int count) {
  Stage<T> stage{};
  stage.kind = kind;
  stage.count = count;
  return stages_.emplace_back(stage);
}

template <class T> void TransformTables<T>::add_reflectors(const double* vectors, int count) {
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
  add_stage(StageKind::reflectors, static_cast<int>(groups.size())).groups = groups.data();
}

// Converts to the form of kernels/transforms/givens.hpp: y_i = d_i p, where d_i absorbs the larger
// entry of the block's row.
template <class T> Rotations<T> TransformTables<T>::compile(
    const std::vector<PlaneRotation>& rotations) {
  std::vector<double> d(n_, 1.0);
  auto& rows = rows_.emplace_back();
  T* factors = allocate(2 * rotations.size());
  Rotations<T> made{static_cast<int>(rotations.size()), nullptr, factors, 0, nullptr, nullptr};
  for (const PlaneRotation& rotation : rotations) {
    const bool straight = std::abs(rotation.block[0]) >= std::abs(rotation.block[1]);
    const std::int32_t p = straight ? rotation.i : rotation.j,
                       q = straight ? rotation.j : rotation.i;
    const double* b = rotation.block;
    const double di = straight ? b[0] : b[1], dj = straight ? b[3] : b[2];
    *factors++ = static_cast<T>((straight ? b[1] : b[0]) * d[q] / (di * d[p]));
    *factors++ = static_cast<T>((straight ? b[2] : b[3]) * d[p] / (dj * d[q]));
    rows.insert(rows.end(), {row_pair(p, q), row_pair(rotation.i, rotation.j)});
    const double before = d[p];
    d[rotation.j] = dj * d[q];
    d[rotation.i] = di * before;
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

// Rotations on disjoint pairs are adjacent, so that they do not wait for each other's results. A
// stage has a limited number of layers, since a layer may enlarge the scaled numbers by sqrt(2).
template <class T>
void TransformTables<T>::add_rotations(const std::int32_t* pairs, const double* blocks, int count) {
  const std::vector<int> layer = layers(pairs, count, n_);
  std::vector<int> order(count);
  for (int k = 0; k < count; ++k) order[k] = k;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return layer[a] < layer[b]; });
  for (int end = count; end > 0;) {  // G_g is applied first
    const int last = layer[order[end - 1]];
    int begin = end;
    while (begin > 0 && last - layer[order[begin - 1]] < MAX_LAYERS) --begin;
    std::vector<PlaneRotation> forward, inverse;
    for (int k = begin; k < end; ++k) {
      const std::int32_t* pair = pairs + 2 * order[k];
      const double* block = blocks + 4 * Index(order[k]);
      forward.push_back(plane_rotation(pair, block, true));
      inverse.push_back(plane_rotation(pair, block, false));
    }
    std::reverse(forward.begin(), forward.end());
    Stage<T>& stage = add_stage(StageKind::rotations, 0);
    stage.forward = compile(forward);
    stage.inverse = compile(inverse);
    end = begin;
  }
}

template <class T> void TransformTables<T>::add_dense(const double* matrix) {
  T* rounded = allocate(std::size_t(n_) * n_);
  std::copy(matrix, matrix + Index(n_) * n_, rounded);
  T* transposed = nullptr;
  if (n_ <= DENSE_IN_LANES) {
    transposed = allocate(std::size_t(n_) * n_);
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < n_; ++j) transposed[j * Index(n_) + i] = rounded[i * Index(n_) + j];
  }
  Stage<T>& stage = add_stage(StageKind::dense, 1);
  stage.matrix = rounded;
  stage.transposed = transposed;
}

template <class T> void TransformTables<T>::add_cosine(const std::vector<int>& shape) {
  auto& axes = axes_.emplace_back();
  Index stride = n_;
  for (int length : shape) {
    stride /= length;
    axes.push_back(cosines_.axis(length, stride));
  }
  add_stage(StageKind::cosine, static_cast<int>(axes.size())).axes = axes.data();
}

template <class T> void TransformTables<T>::add_stages(const TransformTables& other,
                                                       bool transposed) {
  const Program<T> program = other.program();
  for (int k = 0; k < program.n_stages; ++k) {
    Stage<T> stage = program.stages[transposed ? program.n_stages - 1 - k : k];
    stage.is_transposed ^= transposed;
    stages_.push_back(stage);
  }
}

template class TransformTables<float>;
template class TransformTables<double>;

void TransformPlan::add_reflectors(const double* vectors, int count) {
  single.add_reflectors(vectors, count);
  full.add_reflectors(vectors, count);
  operations += 4.0 * n * count;
}

void TransformPlan::add_rotations(const std::int32_t* pairs, const double* blocks, int count) {
  single.add_rotations(pairs, blocks, count);
  full.add_rotations(pairs, blocks, count);
  operations += 6.0 * count;
}

void TransformPlan::add_cosine(const std::vector<int>& shape) {
  single.add_cosine(shape);
  full.add_cosine(shape);
  for (int length : shape) operations += n / length * cosine_operations(length);
}

void TransformPlan::add_dense(const double* matrix) {
  single.add_dense(matrix);
  full.add_dense(matrix);
  operations += 2.0 * n * n;
  has_dense = true;
  uses_blas = n > DENSE_IN_LANES;
}

void TransformPlan::add_plan(const TransformPlan& other, bool transposed) {
  single.add_stages(other.single, transposed);
  full.add_stages(other.full, transposed);
  operations += other.operations;
  has_dense |= other.has_dense;
  uses_blas |= other.uses_blas;
}

}  // namespace fost
