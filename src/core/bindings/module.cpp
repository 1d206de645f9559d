// The module fost._core: types and shapes are checked here, everything else in Python.
#include "bindings/arrays.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "runtime/blas.hpp"
#include "runtime/buffer.hpp"
#include "drivers/conditional_gaussian.hpp"
#include "runtime/dispatch.hpp"
#include "drivers/coding.hpp"
#include "runtime/content_hash.hpp"
#include "runtime/parallel.hpp"
#include "drivers/omp.hpp"
#include "drivers/sweeps.hpp"

namespace fost {
namespace {

template <class T, class I>
int sum_atoms_array(const Packed<const T, nb::ndim<2>>& atoms, const Packed<const T, Line>& values,
                    const Packed<const std::int32_t, Line>& indices,
                    const Packed<const I, Line>& indptr, const Output<T>& x) {
  const auto codes = sparse_rows<T, I>(values, indices, indptr, atoms.shape(0), x);
  require(atoms.shape(1) == x.shape(1) && (x.size() < 2 || x.shape(1) < 2 || x.stride(1) == 1),
          "shapes do not agree");
  nb::gil_scoped_release release;
  return static_cast<int>(sum_atoms<T, I>(atoms.data(), codes, view<T>(x)));
}

template <class T>
void mark_signals_array(const Input<T>& y, const Packed<std::uint64_t, Line>& marks) {
  require(y.shape(0) == marks.shape(0), "shapes do not agree");
  nb::gil_scoped_release release;
  mark_signals(view<const T>(y), marks.data());
}

void sweep_reflectors_array(const Packed<const double, nb::ndim<2>>& statistic,
                            const Packed<double, nb::ndim<2>>& vectors,
                            const Packed<const std::int32_t, Line>& order,
                            const Packed<const std::int32_t, Line>& begins) {
  const std::size_t m = vectors.shape(0), n = vectors.shape(1);
  require(statistic.shape(0) == n && statistic.shape(1) == n && order.shape(0) == m &&
              begins.shape(0) == m, "shapes do not agree");
  nb::gil_scoped_release release;
  sweep_reflectors(statistic.data(), static_cast<int>(n), vectors.data(), static_cast<int>(m),
                   order.data(), begins.data());
}

void lowest_eigenvectors_array(const Packed<const double, nb::ndim<2>>& statistic,
                               const Packed<double, nb::ndim<2>>& vectors) {
  const std::size_t m = vectors.shape(0), n = vectors.shape(1);
  require(statistic.shape(0) == n && statistic.shape(1) == n, "shapes do not agree");
  nb::gil_scoped_release release;
  lowest_eigenvectors(statistic.data(), static_cast<int>(n), vectors.data(), static_cast<int>(m));
}

bool solve_procrustes_array(const Packed<const double, nb::ndim<2>>& statistic,
                            const Packed<const double, nb::ndim<2>>& current,
                            const Packed<double, nb::ndim<2>>& found) {
  const std::size_t n = statistic.shape(0);
  require(statistic.shape(1) == n && current.shape(0) == n && current.shape(1) == n &&
              found.shape(0) == n && found.shape(1) == n, "shapes do not agree");
  nb::gil_scoped_release release;
  return solve_procrustes(statistic.data(), current.data(), static_cast<int>(n), found.data());
}

int sweep_rotations_array(const Packed<const double, nb::ndim<2>>& statistic,
                          const Packed<std::int32_t, nb::shape<-1, 2>>& pairs,
                          const Packed<double, nb::shape<-1, 2, 2>>& blocks,
                          const Packed<double, Line>& gains, double least) {
  const std::size_t n = statistic.shape(0), g = pairs.shape(0);
  require(statistic.shape(1) == n && n >= 2 && blocks.shape(0) == g && gains.shape(0) == g,
          "shapes do not agree");
  nb::gil_scoped_release release;
  return sweep_rotations(statistic.data(), static_cast<int>(n), pairs.data(), blocks.data(),
                         gains.data(), static_cast<int>(g), least);
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
  require(!squares || (squares->shape(0) == count && squares->shape(1) == n), "shapes do not agree");
  require(!missing || (missing->shape(0) == y.shape(0) && missing->shape(1) == n),
          "shapes do not agree");
  require(values.shape(0) >= y.shape(0) * s && indices.shape(0) >= y.shape(0) * s &&
              indptr.shape(0) == y.shape(0) + 1, "not enough room for the codes");
  const Atoms<T> dictionary = {static_cast<int>(n), static_cast<int>(count),
                               static_cast<int>(pitch), atoms.data(),
                               const_cast<T*>(pointer(gram)), nullptr, pointer(scales),
                               pointer(squares)};
  View<const bool> gaps{};
  if (missing) gaps = view<const bool>(*missing);
  nb::gil_scoped_release release;
  return pursue<T, I>(dictionary, view<const T>(y), missing ? &gaps : nullptr, s, tol,
                      values.data(), indices.data(), indptr.data());
}

template <class T>
std::pair<double, double> squared_norms_array(const Lines<T>& rows) {
  nb::gil_scoped_release release;
  return squared_norms<T>(rows.data(), Index(rows.shape(1)), Index(rows.shape(0)));
}

template <class T>
void inner_products_array(const Lines<T>& atoms, const Packed<T, nb::ndim<2>>& gram) {
  require(gram.shape(0) == atoms.shape(0) && gram.shape(1) >= atoms.shape(0) &&
              gram.shape(1) % PITCH == 0, "shapes do not agree");
  nb::gil_scoped_release release;
  inner_products<T>(atoms.data(), static_cast<int>(atoms.shape(1)),
                    static_cast<int>(atoms.shape(0)), static_cast<int>(gram.shape(1)), gram.data());
}

template <class T>
void sweep_atoms_array(const Packed<T, nb::ndim<2>>& atoms, const Packed<T, nb::ndim<2>>& residual,
                       const Packed<T, Line>& values,
                       const Packed<const std::int64_t, Line>& begins,
                       const Packed<const std::int32_t, Line>& rows,
                       const Packed<const std::int64_t, Line>& places,
                       const Packed<const std::int32_t, Line>& order) {
  require(atoms.shape(1) == residual.shape(1) && begins.shape(0) == atoms.shape(0) + 1 &&
              rows.shape(0) == values.shape(0) && places.shape(0) == values.shape(0),
          "shapes do not agree");
  nb::gil_scoped_release release;
  sweep_atoms<T>({begins.data(), rows.data(), places.data(), values.data()},
                 static_cast<int>(atoms.shape(1)), order.data(), static_cast<int>(order.shape(0)),
                 atoms.data(), residual.data());
}

void condition_array(const Packed<const double, Line>& mean,
                     const Packed<const double, nb::ndim<2>>& covariance,
                     const Packed<const double, nb::ndim<2>>& precision, double log_determinant,
                     const Packed<double, nb::ndim<2>>& rows, const Packed<const bool, nb::ndim<2>>& missing,
                     const std::optional<Packed<const double, Line>>& weights,
                     const std::optional<Packed<double, Line>>& densities,
                     const std::optional<Packed<double, nb::ndim<2>>>& variances,
                     const std::optional<Packed<double, nb::ndim<2>>>& sum, Index every) {
  const std::size_t n = mean.shape(0), count = rows.shape(0);
  const auto square = [&](const auto& matrix) { return matrix.shape(0) == n && matrix.shape(1) == n; };
  require(n >= 1 && square(covariance) && square(precision) && rows.shape(1) == n &&
              missing.shape(0) == count && missing.shape(1) == n, "shapes do not agree");
  require((!weights || weights->shape(0) == count) && (!densities || densities->shape(0) == count) &&
              (!variances || (variances->shape(0) == count && variances->shape(1) == n)) &&
              (!sum || square(*sum)) && every >= 1, "shapes do not agree");
  const Gaussian gaussian = {static_cast<int>(n), mean.data(), covariance.data(), precision.data(),
                             log_determinant};
  const GappedRows signals = {rows.data(), missing.data(), nullptr, pointer(weights), pointer(densities),
                              pointer(variances), every};
  nb::gil_scoped_release release;
  condition_rows({{gaussian, signals, Index(count), pointer(sum)}});
}

using Matrices = std::vector<Packed<const double, nb::ndim<2>>>;

// Signals `used` of rows, begins[k]:begins[k + 1] of them by member k.
void condition_members_array(const std::vector<Packed<const double, Line>>& means,
                             const Matrices& covariances, const Matrices& precisions,
                             const std::vector<double>& log_determinants,
                             const Packed<const double, nb::ndim<2>>& rows,
                             const Packed<const bool, nb::ndim<2>>& missing,
                             const Packed<const std::int64_t, Line>& used,
                             const Packed<const std::int64_t, Line>& begins,
                             const std::optional<Packed<const double, Line>>& weights,
                             const std::optional<Packed<double, nb::ndim<2>>>& filled,
                             const std::optional<Packed<double, Line>>& densities,
                             const std::optional<Packed<double, nb::ndim<2>>>& variances,
                             const std::optional<Packed<double, nb::ndim<3>>>& sums) {
  const std::size_t n = rows.shape(1), count = means.size(), total = used.shape(0);
  const auto fits = [&](const auto& array) { return !array || array->shape(0) == total; };
  require(n >= 1 && covariances.size() == count && precisions.size() == count &&
              log_determinants.size() == count && begins.shape(0) == count + 1 &&
              missing.shape(0) == rows.shape(0) && missing.shape(1) == n && fits(weights) &&
              fits(filled) && fits(densities) && fits(variances) && (!filled || filled->shape(1) == n) &&
              (!variances || variances->shape(1) == n) && (filled || !(densities || variances)) &&
              (!sums || (sums->shape(0) == count && sums->shape(1) == n && sums->shape(2) == n)),
          "shapes do not agree");
  for (std::size_t k = 0; k < count; ++k)
    require(means[k].shape(0) == n && covariances[k].shape(0) == n && covariances[k].shape(1) == n &&
                precisions[k].shape(0) == n && precisions[k].shape(1) == n, "shapes do not agree");
  const std::int64_t *places = used.data(), *begin = begins.data();
  for (std::size_t k = 0; k < count; ++k) require(begin[k] <= begin[k + 1], "begins must ascend");
  require(begin[0] == 0 && begin[count] == std::int64_t(total), "begins must be those of all");
  for (std::size_t r = 0; r < total; ++r)
    require(places[r] >= 0 && places[r] < std::int64_t(rows.shape(0)), "there is no such signal");
  const auto from = [](const auto& array, std::size_t offset) {
    return array ? array->data() + offset : nullptr;
  };
  std::vector<GapTask> tasks;
  nb::gil_scoped_release release;
  const Buffer<bool> gaps(Index(total * n));
  for (std::size_t r = 0; r < total; ++r) {
    std::copy_n(missing.data() + places[r] * n, n, gaps.get() + r * n);
    if (filled) std::copy_n(rows.data() + places[r] * n, n, filled->data() + r * n);
  }
  for (std::size_t k = 0; k < count; ++k) {
    const Gaussian gaussian = {static_cast<int>(n), means[k].data(), covariances[k].data(),
                               precisions[k].data(), log_determinants[k]};
    const std::size_t first = begin[k];
    const GappedRows signals = {from(filled, first * n), gaps.get() + first * n, nullptr,
                                from(weights, first), from(densities, first),
                                from(variances, first * n)};
    tasks.push_back({gaussian, signals, begin[k + 1] - begin[k], from(sums, k * n * n)});
  }
  condition_rows(std::move(tasks));
}

void invert_covariances_array(const Matrices& covariances,
                              const std::vector<Packed<double, nb::ndim<2>>>& inverses,
                              const Packed<double, Line>& log_determinants) {
  const std::size_t count = covariances.size(), n = count ? covariances[0].shape(0) : 1;
  require(inverses.size() == count && log_determinants.shape(0) == count, "shapes do not agree");
  std::vector<const double*> from;
  std::vector<double*> to;
  for (std::size_t k = 0; k < count; ++k) {
    require(covariances[k].shape(0) == n && covariances[k].shape(1) == n &&
                inverses[k].shape(0) == n && inverses[k].shape(1) == n, "shapes do not agree");
    from.push_back(covariances[k].data());
    to.push_back(inverses[k].data());
  }
  nb::gil_scoped_release release;
  invert_covariances(from, static_cast<int>(n), to, log_determinants.data());
}

void find_energies_array(const Lines<float>& rows, const Lines<float>& means,
                         const Packed<const float, nb::ndim<3>>& precisions,
                         const Packed<float, nb::ndim<2>>& energies) {
  const std::size_t n = rows.shape(1), count = means.shape(0);
  require(means.shape(1) == n && precisions.shape(0) == count && precisions.shape(1) == n &&
              precisions.shape(2) == n && energies.shape(0) == rows.shape(0) &&
              energies.shape(1) == count, "shapes do not agree");
  nb::gil_scoped_release release;
  find_energies({static_cast<int>(n), static_cast<int>(count), rows.data(), means.data(),
                 precisions.data(), energies.data()}, Index(rows.shape(0)));
}

// The function behind a capsule of scipy.linalg.cython_blas or cython_lapack.
template <class Function> Function function_of(nb::capsule capsule) {
  void* pointer = PyCapsule_GetPointer(capsule.ptr(), PyCapsule_GetName(capsule.ptr()));
  if (!pointer) throw nb::python_error();
  return reinterpret_cast<Function>(pointer);
}

template <class T> void bind_passes(nb::module_& m) {
  m.def("pursue", &pursue_array<T, std::int32_t>, "atoms"_a.noconvert(), "gram"_a.noconvert().none(),
        "scales"_a.noconvert().none(), "squares"_a.noconvert().none(), "y"_a.noconvert(),
        "missing"_a.noconvert().none(), "s"_a, "tol"_a, "values"_a.noconvert(),
        "indices"_a.noconvert(), "indptr"_a.noconvert());
  m.def("pursue", &pursue_array<T, std::int64_t>, "atoms"_a.noconvert(), "gram"_a.noconvert().none(),
        "scales"_a.noconvert().none(), "squares"_a.noconvert().none(), "y"_a.noconvert(),
        "missing"_a.noconvert().none(), "s"_a, "tol"_a, "values"_a.noconvert(),
        "indices"_a.noconvert(), "indptr"_a.noconvert());
  m.def("mark_signals", &mark_signals_array<T>, "y"_a.noconvert(), "marks"_a.noconvert());
  m.def("squared_norms", &squared_norms_array<T>, "rows"_a.noconvert());
  m.def("inner_products", &inner_products_array<T>, "atoms"_a.noconvert(), "gram"_a.noconvert());
  m.def("sweep_atoms", &sweep_atoms_array<T>, "atoms"_a.noconvert(), "residual"_a.noconvert(),
        "values"_a.noconvert(), "begins"_a.noconvert(), "rows"_a.noconvert(),
        "places"_a.noconvert(), "order"_a.noconvert());
  m.def("sum_atoms", &sum_atoms_array<T, std::int32_t>, "atoms"_a.noconvert(),
        "values"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(),
        "out"_a.noconvert());
  m.def("sum_atoms", &sum_atoms_array<T, std::int64_t>, "atoms"_a.noconvert(),
        "values"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(),
        "out"_a.noconvert());
}

}  // namespace
}  // namespace fost

NB_MODULE(_core, m) {
  using namespace fost;
  // A transform in a global variable may outlive the interpreter's last clean-up, which is no
  // reason to print warnings at a user's exit.
  nb::set_leak_warnings(false);
  // Environment variables are read, and complained about, on import.
  get_isa();
  get_num_threads();

  bind_coders(m);
  bind_groups(m);
  bind_passes<float>(m);
  bind_passes<double>(m);

  m.def("set_gemm", [](nb::capsule single, nb::capsule full) {
    set_gemm(function_of<Gemm<float>>(single), function_of<Gemm<double>>(full));
  }, "single"_a, "full"_a);
  m.def("set_stemr", [](nb::capsule stemr) { set_stemr(function_of<Stemr>(stemr)); }, "stemr"_a);
  m.def("sweep_reflectors", &sweep_reflectors_array, "statistic"_a.noconvert(),
        "vectors"_a.noconvert(), "order"_a.noconvert(), "begins"_a.noconvert());
  m.def("lowest_eigenvectors", &lowest_eigenvectors_array, "statistic"_a.noconvert(),
        "vectors"_a.noconvert());
  m.def("solve_procrustes", &solve_procrustes_array, "statistic"_a.noconvert(),
        "current"_a.noconvert(), "found"_a.noconvert());
  m.def("sweep_rotations", &sweep_rotations_array, "statistic"_a.noconvert(),
        "pairs"_a.noconvert(), "blocks"_a.noconvert(), "gains"_a.noconvert(), "least"_a);
  m.attr("NOT_FINITE") = static_cast<int>(Decoded::not_finite);
  m.def("condition", &condition_array, "mean"_a.noconvert(), "covariance"_a.noconvert(),
        "precision"_a.noconvert(), "log_determinant"_a, "rows"_a.noconvert(),
        "missing"_a.noconvert(), "weights"_a.noconvert().none(), "densities"_a.noconvert().none(),
        "variances"_a.noconvert().none(), "sum"_a.noconvert().none(), "every"_a = 1);
  m.def("condition_members", &condition_members_array, "means"_a.noconvert(),
        "covariances"_a.noconvert(), "precisions"_a.noconvert(), "log_determinants"_a,
        "rows"_a.noconvert(), "missing"_a.noconvert(), "used"_a.noconvert(), "begins"_a.noconvert(),
        "weights"_a.noconvert().none(), "filled"_a.noconvert().none(),
        "densities"_a.noconvert().none(), "variances"_a.noconvert().none(),
        "sums"_a.noconvert().none());
  m.def("invert_covariances", &invert_covariances_array, "covariances"_a.noconvert(),
        "inverses"_a.noconvert(), "log_determinants"_a.noconvert());
  m.def("find_energies", &find_energies_array, "rows"_a.noconvert(), "means"_a.noconvert(),
        "precisions"_a.noconvert(), "energies"_a.noconvert());
  m.attr("PITCH") = PITCH;
  m.attr("FEW_SIGNALS") = FEW_SIGNALS;
  m.def("registers_clean", &registers_clean);
  m.def("available_isas", &available_isas);
  m.def("get_isa", &get_isa);
  m.def("set_isa", &set_isa, "name"_a);
  m.def("get_num_threads", &get_num_threads);
  m.def("set_num_threads", &set_num_threads, "n_threads"_a);
  m.def("limit_threads", &limit_threads, "n_threads"_a);
}
