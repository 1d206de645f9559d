// Orthogonal matching pursuit in general dictionaries and in unions, and K-SVD updates.
#include "bindings/arrays.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "drivers/omp.hpp"
#include "drivers/union_pursuit.hpp"

namespace fost {
namespace {

// Whether the arrays of the codes have room for s entries per signal.
template <class T, class I>
void require_room(std::size_t rows, int s, const Packed<T, Line>& values,
                  const Packed<std::int32_t, Line>& indices, const Packed<I, Line>& indptr) {
  require(
      values.shape(0) >= rows * s && indices.shape(0) >= rows * s && indptr.shape(0) == rows + 1,
      "not enough room for the codes");
}

template <class T, class I>
Index pursue_array(const Lines<T>& atoms, const std::optional<Lines<T>>& gram,
                   const std::optional<Packed<const T, Line>>& scales,
                   const std::optional<Lines<T>>& squares, const Input<T>& y,
                   const std::optional<Input<bool>>& missing, int s, double tol,
                   const Packed<T, Line>& values, const Packed<std::int32_t, Line>& indices,
                   const Packed<I, Line>& indptr) {
  const std::size_t count = atoms.shape(0), n = atoms.shape(1);
  const std::size_t pitch = (count + PITCH - 1) / PITCH * PITCH;
  require(y.shape(1) == n && s >= 1 && std::size_t(s) <= count, "shapes do not agree");
  require(!gram || (gram->shape(0) == count && gram->shape(1) == pitch), "shapes do not agree");
  require(!scales || scales->shape(0) == pitch, "shapes do not agree");
  require(!squares || (squares->shape(0) == count && squares->shape(1) == n),
          "shapes do not agree");
  require(!missing || (missing->shape(0) == y.shape(0) && missing->shape(1) == n),
          "shapes do not agree");
  require_room(y.shape(0), s, values, indices, indptr);
  const Atoms<T> dictionary = {static_cast<int>(n),
                               static_cast<int>(count),
                               static_cast<int>(pitch),
                               atoms.data(),
                               const_cast<T*>(pointer(gram)),
                               nullptr,
                               pointer(scales),
                               pointer(squares)};
  View<const bool> mask{};
  if (missing) mask = view<const bool>(*missing);
  const ReleasedGil released;
  return pursue<T, I>(dictionary, view<const T>(y), missing ? &mask : nullptr, s, tol,
                      values.data(), indices.data(), indptr.data());
}

template <class T>
std::pair<double, double> squared_norms_array(const Lines<T>& rows) {
  const ReleasedGil released;
  return squared_norms<T>(rows.data(), Index(rows.shape(1)), Index(rows.shape(0)));
}

template <class T>
void inner_products_array(const Lines<T>& atoms, const Packed<T, nb::ndim<2>>& gram) {
  require(gram.shape(0) == atoms.shape(0) && gram.shape(1) >= atoms.shape(0) &&
              gram.shape(1) % PITCH == 0,
          "shapes do not agree");
  const ReleasedGil released;
  inner_products<T>(atoms.data(), static_cast<int>(atoms.shape(1)),
                    static_cast<int>(atoms.shape(0)), static_cast<int>(gram.shape(1)), gram.data());
}

template <class T>
void sweep_atoms_array(const Packed<T, nb::ndim<2>>& atoms, const Packed<T, nb::ndim<2>>& residual,
                       const Packed<T, Line>& values,
                       const Packed<const std::int64_t, Line>& begins,
                       const Packed<const std::int32_t, Line>& rows,
                       const Packed<const std::int64_t, Line>& places,
                       const Packed<const std::int32_t, Line>& order, int entries) {
  require(atoms.shape(1) == residual.shape(1) && begins.shape(0) == atoms.shape(0) + 1 &&
              rows.shape(0) == values.shape(0) && places.shape(0) == values.shape(0),
          "shapes do not agree");
  const ReleasedGil released;
  sweep_atoms<T>({begins.data(), rows.data(), places.data(), values.data()},
                 static_cast<int>(atoms.shape(1)), entries, order.data(),
                 static_cast<int>(order.shape(0)), atoms.data(), residual.data());
}

template <class T, class I>
Index pursue_sparse_array(const TransformPlan& base, const Lines<T>& entries,
                          const Lines<std::int32_t>& places, const Lines<T>& gram,
                          const Input<T>& y, int s, double tol, const Packed<T, Line>& values,
                          const Packed<std::int32_t, Line>& indices,
                          const Packed<I, Line>& indptr) {
  const std::size_t count = entries.shape(0), each = entries.shape(1);
  require(places.shape(0) == count && places.shape(1) == each && Index(y.shape(1)) == base.n &&
              s >= 1 && std::size_t(s) <= count && gram.shape(0) == count &&
              Index(gram.shape(1)) == round_up(Index(count), PITCH),
          "shapes do not agree");
  for (std::size_t k = 0; k < count * each; ++k)
    require(places.data()[k] >= 0 && places.data()[k] < base.n, "an index is out of range");
  require_room(y.shape(0), s, values, indices, indptr);
  const ReleasedGil released;
  return pursue_sparse<T, I>(base, {static_cast<int>(each), entries.data(), places.data()},
                             static_cast<int>(count), gram.data(), view<const T>(y), s, tol,
                             values.data(), indices.data(), indptr.data());
}

template <class T, class I>
Index pursue_union_array(const Union& all, const Lines<T>& gram, const Input<T>& y, int s,
                         double tol, bool residuals, const Packed<T, Line>& values,
                         const Packed<std::int32_t, Line>& indices, const Packed<I, Line>& indptr) {
  const std::size_t count = all.indices.size(), pitch = (count + PITCH - 1) / PITCH * PITCH;
  require(Index(y.shape(1)) == all.bank.n && s >= 1 && std::size_t(s) <= count &&
              gram.shape(0) == count && gram.shape(1) == pitch,
          "shapes do not agree");
  require(!residuals || all.has_schedule(), "residuals need members made of rotations only");
  require_room(y.shape(0), s, values, indices, indptr);
  const ReleasedGil released;
  return pursue<T, I>(all, residuals, gram.data(), view<const T>(y), s, tol, values.data(),
                      indices.data(), indptr.data());
}

template <class T>
void code_sums_array(const Packed<const T, Line>& values,
                     const Packed<const std::int32_t, Line>& indices,
                     const Packed<const std::int64_t, Line>& indptr, const Input<T>& y,
                     const Packed<double, nb::ndim<2>>& matrix,
                     const Packed<double, nb::ndim<2>>& products) {
  const std::size_t atoms = matrix.shape(0);
  require(indptr.shape(0) == y.shape(0) + 1 && values.shape(0) == indices.shape(0) &&
              matrix.shape(1) == y.shape(1) && products.shape(0) == atoms &&
              products.shape(1) == atoms,
          "shapes do not agree");
  const SparseRows<T, std::int64_t> codes = {values.data(), indices.data(), indptr.data(),
                                             Index(values.shape(0)),
                                             static_cast<std::int32_t>(atoms)};
  const ReleasedGil released;
  code_sums<T>(codes, Index(atoms), view<const T>(y), matrix.data(), products.data());
}

// Indices of atoms, which must be strictly ascending and valid.
std::vector<std::int32_t> checked_atoms(const Packed<const std::int32_t, Line>& atoms,
                                        Index count) {
  std::vector<std::int32_t> indices(atoms.data(), atoms.data() + atoms.shape(0));
  for (std::size_t k = 0; k < indices.size(); ++k)
    require(indices[k] < count && indices[k] >= (k ? indices[k - 1] + 1 : 0),
            "indices must be strictly ascending");
  require(!indices.empty(), "indices must not be empty");
  return indices;
}

template <class T, class I> void bind_sparse(nb::module_& m) {
  m.def("pursue_sparse", &pursue_sparse_array<T, I>, "base"_a, "entries"_a.noconvert(),
        "places"_a.noconvert(), "gram"_a.noconvert(), "y"_a.noconvert(), "s"_a, "tol"_a,
        "values"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert());
}

template <class T> void bind_dictionaries(nb::module_& m) {
  m.def("pursue", &pursue_array<T, std::int32_t>, "atoms"_a.noconvert(),
        "gram"_a.noconvert().none(), "scales"_a.noconvert().none(), "squares"_a.noconvert().none(),
        "y"_a.noconvert(), "missing"_a.noconvert().none(), "s"_a, "tol"_a, "values"_a.noconvert(),
        "indices"_a.noconvert(), "indptr"_a.noconvert());
  m.def("pursue", &pursue_array<T, std::int64_t>, "atoms"_a.noconvert(),
        "gram"_a.noconvert().none(), "scales"_a.noconvert().none(), "squares"_a.noconvert().none(),
        "y"_a.noconvert(), "missing"_a.noconvert().none(), "s"_a, "tol"_a, "values"_a.noconvert(),
        "indices"_a.noconvert(), "indptr"_a.noconvert());
  m.def("squared_norms", &squared_norms_array<T>, "rows"_a.noconvert());
  m.def("inner_products", &inner_products_array<T>, "atoms"_a.noconvert(), "gram"_a.noconvert());
  m.def("sweep_atoms", &sweep_atoms_array<T>, "atoms"_a.noconvert(), "residual"_a.noconvert(),
        "values"_a.noconvert(), "begins"_a.noconvert(), "rows"_a.noconvert(),
        "places"_a.noconvert(), "order"_a.noconvert(), "entries"_a);
  bind_sparse<T, std::int32_t>(m);
  bind_sparse<T, std::int64_t>(m);
}

template <class T> void bind_union(nb::module_& m, nb::class_<Union>& all) {
  all.def("pursue", &pursue_union_array<T, std::int32_t>, "gram"_a.noconvert(), "y"_a.noconvert(),
          "s"_a, "tol"_a, "residuals"_a, "values"_a.noconvert(), "indices"_a.noconvert(),
          "indptr"_a.noconvert());
  all.def("pursue", &pursue_union_array<T, std::int64_t>, "gram"_a.noconvert(), "y"_a.noconvert(),
          "s"_a, "tol"_a, "residuals"_a, "values"_a.noconvert(), "indices"_a.noconvert(),
          "indptr"_a.noconvert());
  m.def("code_sums", &code_sums_array<T>, "values"_a.noconvert(), "indices"_a.noconvert(),
        "indptr"_a.noconvert(), "y"_a.noconvert(), "matrix"_a.noconvert(),
        "products"_a.noconvert());
}

}  // namespace

void bind_pursuit(nb::module_& m) {
  m.attr("PITCH") = PITCH;
  m.attr("FEW_SIGNALS") = FEW_SIGNALS;
  bind_dictionaries<float>(m);
  bind_dictionaries<double>(m);

  nb::class_<Union> all(m, "Union");
  all.def(
      "__init__",
      [](Union* self, const TransformPlan& base, const std::vector<const TransformPlan*>& members,
         const Packed<const std::int32_t, Line>& indices,
         const Packed<const double, nb::ndim<2>>& atoms) {
        const Index count = Index(base.n) * static_cast<Index>(members.size());
        require(atoms.shape(0) == indices.shape(0) && Index(atoms.shape(1)) == base.n,
                "shapes do not agree");
        new (self) Union(base, members, checked_atoms(indices, count), atoms.data());
      },
      "base"_a, "members"_a, "indices"_a.noconvert(), "atoms"_a.noconvert(), nb::keep_alive<1, 2>(),
      nb::keep_alive<1, 3>());
  all.def_prop_ro("can_screen", &Union::has_schedule);
  all.def("by_residuals", &Union::by_residuals, "rows"_a, "s"_a, "within"_a);
  all.def_prop_ro("uses_blas", [](const Union& self) { return self.bank.uses_blas; });
  bind_union<float>(m, all);
  bind_union<double>(m, all);
}

}  // namespace fost
