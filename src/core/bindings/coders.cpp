#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "plans/bank.hpp"
#include "bindings/arrays.hpp"
#include "drivers/coding.hpp"
#include "drivers/variable_length.hpp"
#include "plans/union.hpp"
#include "drivers/patches.hpp"

namespace fost {
namespace {

template <class T, class I>
Index encode_array(const Coder& coder, const Signals& y, int s, const Packed<T, Line>& values,
                   const Packed<std::int32_t, Line>& indices, const Packed<I, Line>& indptr) {
  require(Index(y.shape(1)) == coder.n && s >= 1 && s <= coder.n, "shapes do not agree");
  require(values.shape(0) >= y.shape(0) * s && indices.shape(0) >= y.shape(0) * s &&
              indptr.shape(0) == y.shape(0) + 1, "not enough room for the codes");
  const View<const T> from = signals<T>(y);
  nb::gil_scoped_release release;
  return encode<T, I>(coder, from, s, values.data(), indices.data(), indptr.data());
}

// Hands memory over to NumPy.
template <class T> nb::object array_of(std::unique_ptr<T[]> numbers, Index size) {
  T* data = numbers.release();
  const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  const std::size_t shape[] = {static_cast<std::size_t>(size)};
  return nb::cast(nb::ndarray<nb::numpy, T, Line>(data, 1, shape, owner));
}

// Values, indices and indptr, or None where a coefficient is not finite.
template <class T>
nb::object encode_within_array(const Coder& coder, const Input<T>& y, int s, double tol,
                               double threshold) {
  require(Index(y.shape(1)) == coder.n && s >= 1 && s <= coder.n, "shapes do not agree");
  require((tol >= 0) != (threshold >= 0), "a rule has a tolerance or a threshold");
  std::optional<OwnedRows<T>> rows;
  {
    nb::gil_scoped_release release;
    rows = encode_within<T>(coder, view<const T>(y), {s, tol, threshold});
  }
  if (!rows) return nb::none();
  return nb::make_tuple(array_of(std::move(rows->values), rows->n_entries),
                        array_of(std::move(rows->indices), rows->n_entries),
                        array_of(std::move(rows->indptr), rows->n_rows + 1));
}

template <class T>
double accumulate_array(const Coder& coder, const Input<T>& y, int s,
                        const Packed<double, nb::ndim<2>>& matrix) {
  require(Index(y.shape(1)) == coder.n && s >= 1 && s <= coder.n, "shapes do not agree");
  require(Index(matrix.shape(0)) == coder.n_atoms() && Index(matrix.shape(1)) == coder.n,
          "shapes do not agree");
  nb::gil_scoped_release release;
  return accumulate<T>(coder, view<const T>(y), s, matrix.data());
}

Places places(const Packed<const std::int32_t, Line>& starts) {
  return {starts.data(), static_cast<int>(starts.shape(0))};
}

template <class T>
void advance_array(const Packed<T>& estimate, const Packed<T>& velocity, const Packed<T>& sums,
                   const Packed<T>& weights, const Packed<const bool>& missing, T relaxation,
                   T momentum) {
  const std::size_t count = estimate.size();
  require(velocity.size() == count && sums.size() == count && weights.size() == count &&
              missing.size() == count, "shapes do not agree");
  nb::gil_scoped_release release;
  advance<T>({estimate.data(), velocity.data(), missing.data(), relaxation, momentum, nullptr},
             {sums.data(), weights.data()}, Index(count));
}

template <class T>
void shrink_array(const Coder& coder, const Packed<const T, nb::ndim<3>>& volume,
                  const std::optional<Packed<const T, nb::ndim<3>>>& pilot, int depth, int height,
                  int width, const Packed<const std::int32_t, Line>& fronts,
                  const Packed<const std::int32_t, Line>& tops,
                  const Packed<const std::int32_t, Line>& lefts, T level, T sharpness,
                  const Packed<T, nb::ndim<3>>& sums, const Packed<T, nb::ndim<3>>& weights) {
  const auto same = [&](const auto& other) {
    return other.shape(0) == volume.shape(0) && other.shape(1) == volume.shape(1) &&
           other.shape(2) == volume.shape(2);
  };
  const Index pitch = volume.shape(2);
  const BlockGrid<T> grid = {volume.data(), pointer(pilot), Index(volume.shape(1)) * pitch, pitch,
                             depth, height, width, places(fronts), places(tops), places(lefts)};
  require(grid.size() == coder.n && same(sums) && same(weights) && (!pilot || same(*pilot)),
          "shapes do not agree");
  const Overlay<T> out = {sums.data(), weights.data()};
  nb::gil_scoped_release release;
  shrink<T>(coder, grid, level, sharpness, out);
}

template <class T>
void shrink_on_array(const Coder& coder, const Packed<T, nb::ndim<3>>& estimate,
                     const Packed<T, nb::ndim<3>>& velocity,
                     const Packed<const bool, nb::ndim<3>>& missing, int depth, int height, int width,
                     const Packed<const std::int32_t, Line>& fronts,
                     const Packed<const std::int32_t, Line>& tops,
                     const Packed<const std::int32_t, Line>& lefts, T level, T sharpness,
                     T relaxation, T momentum, const Packed<T, nb::ndim<3>>& sums,
                     const Packed<T, nb::ndim<3>>& weights) {
  const auto same = [&](const auto& other) {
    return other.shape(0) == estimate.shape(0) && other.shape(1) == estimate.shape(1) &&
           other.shape(2) == estimate.shape(2);
  };
  const Index rows = Index(estimate.shape(0)) * Index(estimate.shape(1)), pitch = estimate.shape(2);
  const BlockGrid<T> grid = {estimate.data(), nullptr, Index(estimate.shape(1)) * pitch, pitch,
                             depth, height, width, places(fronts), places(tops), places(lefts)};
  require(grid.size() == coder.n && same(velocity) && same(missing) && same(sums) && same(weights),
          "shapes do not agree");
  const Motion<T> motion = {estimate.data(), velocity.data(), missing.data(), relaxation, momentum,
                            nullptr};
  nb::gil_scoped_release release;
  shrink_on<T>(coder, grid, level, sharpness, {sums.data(), weights.data()}, motion, rows);
}

template <class T>
bool apply_array(const Plan& plan, const Signals& y, const Output<T>& x, bool inverse) {
  require(Index(y.shape(1)) == plan.n && y.shape(0) == x.shape(0) && y.shape(1) == x.shape(1),
          "shapes do not agree");
  const View<const T> from = signals<T>(y);
  nb::gil_scoped_release release;
  return apply<T>(plan, inverse, from, view<T>(x));
}

template <class T, class I>
int decode_array(const Plan& plan, const Packed<const T, Line>& values,
                 const Packed<const std::int32_t, Line>& indices,
                 const Packed<const I, Line>& indptr, const Output<T>& x) {
  const auto codes = sparse_rows<T, I>(values, indices, indptr, plan.n, x);
  require(Index(x.shape(1)) == plan.n, "shapes do not agree");
  nb::gil_scoped_release release;
  return static_cast<int>(decode<T, I>(plan, codes, view<T>(x)));
}

template <class T> void bind_coding(nb::class_<Coder>& coder) {
  coder.def("encode", &encode_array<T, std::int32_t>, "y"_a.noconvert(), "s"_a,
            "values"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert());
  coder.def("encode", &encode_array<T, std::int64_t>, "y"_a.noconvert(), "s"_a,
            "values"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert());
  coder.def("encode_within", &encode_within_array<T>, "y"_a.noconvert(), "s"_a, "tol"_a,
            "threshold"_a);
  coder.def("accumulate", &accumulate_array<T>, "y"_a.noconvert(), "s"_a, "matrix"_a.noconvert());
  coder.def("shrink", &shrink_array<T>, "volume"_a.noconvert(), "pilot"_a.noconvert().none(),
            "depth"_a, "height"_a, "width"_a, "fronts"_a.noconvert(), "tops"_a.noconvert(),
            "lefts"_a.noconvert(), "level"_a, "sharpness"_a, "sums"_a.noconvert(),
            "weights"_a.noconvert());
  coder.def("shrink_on", &shrink_on_array<T>, "estimate"_a.noconvert(), "velocity"_a.noconvert(),
            "missing"_a.noconvert(), "depth"_a, "height"_a, "width"_a, "fronts"_a.noconvert(),
            "tops"_a.noconvert(), "lefts"_a.noconvert(), "level"_a, "sharpness"_a, "relaxation"_a,
            "momentum"_a, "sums"_a.noconvert(), "weights"_a.noconvert());
}

template <class T> void bind_transform(nb::class_<Plan, Coder>& plan) {
  plan.def("apply", &apply_array<T>, "y"_a.noconvert(), "out"_a.noconvert(), "inverse"_a);
  plan.def("decode", &decode_array<T, std::int32_t>, "values"_a.noconvert(),
           "indices"_a.noconvert(), "indptr"_a.noconvert(), "out"_a.noconvert());
  plan.def("decode", &decode_array<T, std::int64_t>, "values"_a.noconvert(),
           "indices"_a.noconvert(), "indptr"_a.noconvert(), "out"_a.noconvert());
}

template <class T, class I>
Index pursue_union_array(const Union& all, const Lines<T>& gram, const Input<T>& y, int s, double tol,
                         bool residuals, const Packed<T, Line>& values, const Packed<std::int32_t, Line>& indices,
                         const Packed<I, Line>& indptr) {
  const std::size_t count = all.indices.size(), pitch = (count + PITCH - 1) / PITCH * PITCH;
  require(Index(y.shape(1)) == all.bank.n && s >= 1 && std::size_t(s) <= count &&
              gram.shape(0) == count && gram.shape(1) == pitch, "shapes do not agree");
  require(!residuals || all.can_screen(), "there are members that are not rotations");
  require(values.shape(0) >= y.shape(0) * s && indices.shape(0) >= y.shape(0) * s &&
              indptr.shape(0) == y.shape(0) + 1, "not enough room for the codes");
  nb::gil_scoped_release release;
  return pursue<T, I>(all, residuals, gram.data(), view<const T>(y), s, tol, values.data(), indices.data(),
                      indptr.data());
}

template <class T>
void code_sums_array(const Packed<const T, Line>& values, const Packed<const std::int32_t, Line>& indices,
                     const Packed<const std::int64_t, Line>& indptr, const Input<T>& y,
                     const Packed<double, nb::ndim<2>>& matrix,
                     const Packed<double, nb::ndim<2>>& products) {
  const std::size_t atoms = matrix.shape(0);
  require(indptr.shape(0) == y.shape(0) + 1 && values.shape(0) == indices.shape(0) &&
              matrix.shape(1) == y.shape(1) && products.shape(0) == atoms &&
              products.shape(1) == atoms, "shapes do not agree");
  const SparseRows<T, std::int64_t> codes = {values.data(), indices.data(), indptr.data(),
                                             Index(values.shape(0)), static_cast<std::int32_t>(atoms)};
  nb::gil_scoped_release release;
  code_sums<T>(codes, Index(atoms), view<const T>(y), matrix.data(), products.data());
}

template <class T> void bind_union(nb::module_& m, nb::class_<Union>& all) {
  all.def("pursue", &pursue_union_array<T, std::int32_t>, "gram"_a.noconvert(), "y"_a.noconvert(),
          "s"_a, "tol"_a, "residuals"_a, "values"_a.noconvert(), "indices"_a.noconvert(),
          "indptr"_a.noconvert());
  all.def("pursue", &pursue_union_array<T, std::int64_t>, "gram"_a.noconvert(), "y"_a.noconvert(),
          "s"_a, "tol"_a, "residuals"_a, "values"_a.noconvert(), "indices"_a.noconvert(),
          "indptr"_a.noconvert());
  m.def("advance", &advance_array<T>, "estimate"_a.noconvert(), "velocity"_a.noconvert(),
        "sums"_a.noconvert(), "weights"_a.noconvert(), "missing"_a.noconvert(), "relaxation"_a,
        "momentum"_a);
  m.def("code_sums", &code_sums_array<T>, "values"_a.noconvert(), "indices"_a.noconvert(),
        "indptr"_a.noconvert(), "y"_a.noconvert(), "matrix"_a.noconvert(), "products"_a.noconvert());
}

// Atoms of a bank's members, ascending.
std::vector<std::int32_t> checked_atoms(const Packed<const std::int32_t, Line>& atoms, Index count) {
  std::vector<std::int32_t> indices(atoms.data(), atoms.data() + atoms.shape(0));
  for (std::size_t k = 0; k < indices.size(); ++k)
    require(indices[k] < count && indices[k] >= (k ? indices[k - 1] + 1 : 0), "atoms must ascend");
  require(!indices.empty(), "there must be atoms");
  return indices;
}

}  // namespace

void bind_coders(nb::module_& m) {
  nb::class_<Coder> coder(m, "Coder");
  coder.def_ro("n_features", &Coder::n);
  coder.def_prop_ro("n_atoms", &Coder::n_atoms);
  coder.def_ro("uses_blas", &Coder::uses_blas);
  coder.def_ro("operations", &Coder::operations);
  bind_coding<float>(coder);
  bind_coding<double>(coder);

  nb::class_<Plan, Coder> plan(m, "Plan");
  plan.def(nb::init<int>(), "n_features"_a);
  plan.def("add_reflectors", [](Plan& self, const Packed<const double, nb::ndim<2>>& vectors) {
    require(Index(vectors.shape(1)) == self.n, "shapes do not agree");
    self.add_reflectors(vectors.data(), static_cast<int>(vectors.shape(0)));
  }, "vectors"_a.noconvert());
  plan.def("add_rotations", [](Plan& self, const Packed<const std::int32_t, nb::shape<-1, 2>>& pairs,
                               const Packed<const double, nb::shape<-1, 2, 2>>& blocks) {
    require(pairs.shape(0) == blocks.shape(0), "shapes do not agree");
    self.add_rotations(pairs.data(), blocks.data(), static_cast<int>(pairs.shape(0)));
  }, "pairs"_a.noconvert(), "blocks"_a.noconvert());
  plan.def("add_cosine", [](Plan& self, const std::vector<int>& shape) { self.add_cosine(shape); },
           "shape"_a);
  plan.def("add_dense", [](Plan& self, const Packed<const double, nb::ndim<2>>& matrix) {
    require(Index(matrix.shape(0)) == self.n && Index(matrix.shape(1)) == self.n,
            "shapes do not agree");
    self.add_dense(matrix.data());
  }, "matrix"_a.noconvert());
  // Keeps the other alive.
  plan.def("add_plan", [](Plan& self, const Plan& other, bool transposed) {
    require(other.n == self.n && &other != &self, "plans do not agree");
    self.add_plan(other, transposed);
  }, "other"_a, "transposed"_a = false, nb::keep_alive<1, 2>());
  bind_transform<float>(plan);
  bind_transform<double>(plan);

  // Keeps its plans alive.
  nb::class_<Bank, Coder>(m, "Bank")
      .def(nb::init<const Plan&, const std::vector<const Plan*>&>(), "base"_a, "members"_a,
           nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());

  nb::class_<Union> all(m, "Union");
  all.def("__init__", [](Union* self, const Plan& base, const std::vector<const Plan*>& members,
                         const Packed<const std::int32_t, Line>& indices,
                         const Packed<const double, nb::ndim<2>>& atoms) {
    const Index count = Index(base.n) * static_cast<Index>(members.size());
    require(atoms.shape(0) == indices.shape(0) && Index(atoms.shape(1)) == base.n,
            "shapes do not agree");
    new (self) Union(base, members, checked_atoms(indices, count), atoms.data());
  }, "base"_a, "members"_a, "indices"_a.noconvert(), "atoms"_a.noconvert(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
  all.def_prop_ro("can_screen", &Union::can_screen);
  all.def("by_residuals", &Union::by_residuals, "rows"_a, "s"_a, "within"_a);
  all.def_prop_ro("uses_blas", [](const Union& self) { return self.bank.uses_blas; });
  bind_union<float>(m, all);
  bind_union<double>(m, all);
}

}  // namespace fost
