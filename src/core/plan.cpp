#include "plan.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace fost {
namespace {

constexpr int GROUP = 8;         // reflectors per compact WY block (see householder.hpp)
constexpr int CODELET = 32;      // longest unrolled cosine transform (see dct.hpp)
constexpr int DIRECT_DCT4 = 16;  // longest DCT-IV by the whole matrix
// Most features of a dense matrix that stays in the second-level cache, where fost's own
// product is faster than BLAS with its packing (benchmarks/bench_encode.py).
constexpr int DENSE_IN_LANES = 256;
const double PI = std::acos(-1.0);

bool is_power_of_two(int n) { return (n & (n - 1)) == 0; }

// Entry (k, j) of the orthonormal DCT-II and DCT-IV of the given size. The angle is reduced
// exactly, in integers, before the cosine is taken.
double dct2_entry(int size, Index k, Index j) {
  const double scale = std::sqrt((k ? 2.0 : 1.0) / size);
  return scale * std::cos(PI * static_cast<double>((2 * j + 1) * k % (4 * size)) / (2.0 * size));
}
double dct4_entry(int size, Index k, Index j) {
  const double angle = static_cast<double>((2 * j + 1) * (2 * k + 1) % (8 * size));
  return std::sqrt(2.0 / size) * std::cos(PI * angle / (4.0 * size));
}

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

// An order in which rotations on disjoint pairs come together, so that neighbours do not wait
// for each other's results: each as early as the rotations before it on the same features
// allow. Only rotations that commute change places, and the results stay the same to the bit.
std::vector<int> by_layers(const std::int32_t* pairs, int count, int n) {
  std::vector<int> layer(count), depth(n, 0), order(count);
  for (int k = 0; k < count; ++k) {
    int& i = depth[pairs[2 * k]];
    int& j = depth[pairs[2 * k + 1]];
    layer[k] = std::max(i, j);
    i = j = layer[k] + 1;
    order[k] = k;
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return layer[a] < layer[b]; });
  return order;
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

template <class T>
void Tables<T>::add_rotations(const std::int32_t* pairs, const double* blocks, int count) {
  T* rounded = allocate(4 * std::size_t(count));
  auto& ordered = pairs_.emplace_back(2 * std::size_t(count));
  const std::vector<int> order = by_layers(pairs, count, n_);
  for (int k = 0; k < count; ++k) {
    std::copy(pairs + 2 * order[k], pairs + 2 * order[k] + 2, &ordered[2 * k]);
    std::copy(blocks + 4 * order[k], blocks + 4 * order[k] + 4, rounded + 4 * Index(k));
  }
  Stage<T>& stage = add_stage(Kind::rotations, count);
  stage.pairs = ordered.data();
  stage.blocks = rounded;
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

// The lengths that the recursion visits: length, length / 2, ... down to a codelet or an
// odd number. Lengths above the last need no table of their own but the rotations.
template <class T> const CosineLevel<T>* Tables<T>::cosine_levels(int length) {
  auto& levels = levels_.emplace_back();
  for (int size = length;; size /= 2) {
    CosineLevel<T> level{size, nullptr, nullptr, nullptr, nullptr};
    if (is_power_of_two(size) && size <= CODELET) {
      T* out = allocate(size * std::size_t(size));
      level.codelet = out;
      double scale = 1;
      for (int half = size / 2; half >= 1; half /= 2) {
        scale *= std::sqrt(0.5);
        for (int k = 0; k < half; ++k)
          for (int j = 0; j < half; ++j) *out++ = static_cast<T>(scale * dct4_entry(half, k, j));
      }
      *out = static_cast<T>(scale);
    } else if (size % 2) {
      T* out = allocate(size * std::size_t(size));
      level.dct2 = out;
      for (int k = 0; k < size; ++k)
        for (int j = 0; j < size; ++j) *out++ = static_cast<T>(dct2_entry(size, k, j));
    }
    if (size == length) {
      // The DCT-IV only arises below the top.
    } else if (size % 2 || size <= DIRECT_DCT4) {
      T* out = allocate(size * std::size_t(size));
      level.dct4 = out;
      for (int k = 0; k < size; ++k)
        for (int j = 0; j < size; ++j) *out++ = static_cast<T>(dct4_entry(size, k, j));
    } else {
      T* out = allocate(size);
      level.rotations = out;
      for (int j = 0; j < size / 2; ++j) {
        const double angle = PI * (2 * j + 1) / (4.0 * size);
        *out++ = static_cast<T>(std::cos(angle));
        *out++ = static_cast<T>(std::sin(angle));
      }
    }
    levels.push_back(level);
    const bool leaf = level.codelet && (size == length || level.dct4);
    if (size % 2 || leaf) return levels.data();
  }
}

template <class T> void Tables<T>::add_cosine(const std::vector<int>& shape) {
  auto& axes = axes_.emplace_back();
  Index stride = n_;
  for (int length : shape) {
    stride /= length;
    axes.push_back({length, stride, cosine_levels(length)});
  }
  add_stage(Kind::cosine, static_cast<int>(axes.size())).axes = axes.data();
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
  for (int length : shape) operations += n * 2.5 * std::log2(length + 1.0);
}

void Plan::add_dense(const double* matrix) {
  single.add_dense(matrix);
  full.add_dense(matrix);
  operations += 2.0 * n * n;
  has_dense = true;
  uses_blas = n > DENSE_IN_LANES;
}

Bank::Bank(const Plan& base, std::vector<const Plan*> plans)
    : Demands(base), base(&base), members(std::move(plans)) {
  for (const Plan* member : members) {
    has_dense |= member->has_dense;
    uses_blas |= member->uses_blas;
    // Copying the signals, and finding the largest coefficients once more.
    operations += member->operations + 20.0 * n;
  }
}

}  // namespace fost
