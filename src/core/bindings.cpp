// The module fost._core: types and shapes are checked here, everything else in Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "blas.hpp"
#include "dispatch.hpp"
#include "engine.hpp"
#include "parallel.hpp"
#include "picture.hpp"
#include "pursuit.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace fost {
namespace {

template <class T> using Input = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T> using Output = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;
template <class T, class... Shape>
using Packed = nb::ndarray<T, nb::c_contig, nb::device::cpu, Shape...>;
using Line = nb::ndim<1>;

void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

template <class T, class Array> View<T> view(const Array& array) {
  return {array.data(), Index(array.shape(0)), Index(array.shape(1)), Index(array.stride(0)),
          Index(array.stride(1))};
}

template <class T>
bool apply_array(const Plan& plan, const Input<T>& y, const Output<T>& x, bool inverse) {
  require(Index(y.shape(1)) == plan.n && y.shape(0) == x.shape(0) && y.shape(1) == x.shape(1),
          "shapes do not agree");
  nb::gil_scoped_release release;
  return apply<T>(plan, inverse, view<const T>(y), view<T>(x));
}

// Of a Plan or a Bank.
template <class Coder, class T, class I>
Index encode_array(const Coder& coder, const Input<T>& y, int s, const Packed<T, Line>& values,
                   const Packed<std::int32_t, Line>& indices, const Packed<I, Line>& indptr) {
  require(Index(y.shape(1)) == coder.n && s >= 1 && s <= coder.n, "shapes do not agree");
  require(values.shape(0) >= y.shape(0) * s && indices.shape(0) >= y.shape(0) * s &&
              indptr.shape(0) == y.shape(0) + 1, "not enough room for the codes");
  nb::gil_scoped_release release;
  return encode<T, I>(coder, view<const T>(y), s, values.data(), indices.data(), indptr.data());
}

template <class T>
SparseRows<T> sparse_rows(const Packed<const T, Line>& values,
                          const Packed<const std::int32_t, Line>& indices,
                          const Packed<const std::int64_t, Line>& indptr, const Output<T>& x) {
  require(indptr.shape(0) == x.shape(0) + 1 && values.shape(0) == indices.shape(0),
          "shapes do not agree");
  return {values.data(), indices.data(), indptr.data()};
}

template <class T>
void decode_array(const Plan& plan, const Packed<const T, Line>& values,
                  const Packed<const std::int32_t, Line>& indices,
                  const Packed<const std::int64_t, Line>& indptr, const Output<T>& x) {
  const SparseRows<T> codes = sparse_rows<T>(values, indices, indptr, x);
  require(Index(x.shape(1)) == plan.n, "shapes do not agree");
  nb::gil_scoped_release release;
  decode<T>(plan, codes, view<T>(x));
}

template <class T>
void sum_atoms_array(const Packed<const T, nb::ndim<2>>& atoms, const Packed<const T, Line>& values,
                     const Packed<const std::int32_t, Line>& indices,
                     const Packed<const std::int64_t, Line>& indptr, const Output<T>& x) {
  const SparseRows<T> codes = sparse_rows<T>(values, indices, indptr, x);
  require(atoms.shape(1) == x.shape(1) && (x.size() < 2 || x.shape(1) < 2 || x.stride(1) == 1),
          "shapes do not agree");
  nb::gil_scoped_release release;
  sum_atoms<T>(atoms.data(), codes, view<T>(x));
}

Index n_atoms(const Plan& plan) { return plan.n; }
Index n_atoms(const Bank& bank) { return Index(bank.n) * bank.count; }

template <class Coder, class T>
double accumulate_array(const Coder& coder, const Input<T>& y, int s,
                        const Packed<double, nb::ndim<2>>& matrix) {
  require(Index(y.shape(1)) == coder.n && s >= 1 && s <= coder.n, "shapes do not agree");
  require(Index(matrix.shape(0)) == n_atoms(coder) && Index(matrix.shape(1)) == coder.n,
          "shapes do not agree");
  nb::gil_scoped_release release;
  return accumulate<T>(coder, view<const T>(y), s, matrix.data());
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

template <class T> using Lines = Packed<const T, nb::ndim<2>>;

// An optional array: None is a null pointer.
template <class Array> auto pointer(const std::optional<Array>& array) {
  return array ? array->data() : nullptr;
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
void squared_norms_array(const Lines<T>& rows, const Packed<double, Line>& out) {
  require(out.shape(0) == rows.shape(0), "shapes do not agree");
  nb::gil_scoped_release release;
  kernels<T>().squared_norms(rows.data(), Index(rows.shape(1)), Index(rows.shape(0)), out.data());
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

// The sharpness matters to a bank only.
template <class Coder, class T>
void shrink_array(const Coder& coder, const Packed<const T, nb::ndim<2>>& image,
                  const std::optional<Packed<const T, nb::ndim<2>>>& pilot, int height, int width,
                  const Packed<const std::int32_t, Line>& tops,
                  const Packed<const std::int32_t, Line>& lefts, T level,
                  [[maybe_unused]] T sharpness, const Packed<T, nb::ndim<2>>& sums,
                  const Packed<T, nb::ndim<2>>& weights) {
  const auto same = [&](const auto& other) {
    return other.shape(0) == image.shape(0) && other.shape(1) == image.shape(1);
  };
  require(height * width == coder.n && same(sums) && same(weights) && (!pilot || same(*pilot)),
          "shapes do not agree");
  const PatchGrid<T> grid = {image.data(), pointer(pilot), Index(image.shape(1)), height, width,
                             tops.data(), lefts.data(), static_cast<int>(lefts.shape(0))};
  const Overlay<T> out = {sums.data(), weights.data()};
  nb::gil_scoped_release release;
  if constexpr (std::is_same_v<Coder, Bank>)
    shrink<T>(coder, grid, Index(tops.shape(0)), level, sharpness, out);
  else
    shrink<T>(coder, grid, Index(tops.shape(0)), level, out);
}

// The function behind a capsule of scipy.linalg.cython_blas or cython_lapack.
template <class Function> Function function_of(nb::capsule capsule) {
  void* pointer = PyCapsule_GetPointer(capsule.ptr(), PyCapsule_GetName(capsule.ptr()));
  if (!pointer) throw nb::python_error();
  return reinterpret_cast<Function>(pointer);
}

template <class Coder> Index n_atoms_of(const Coder& coder) { return n_atoms(coder); }

template <class Coder, class T> void bind_coding(nb::class_<Coder>& coder) {
  coder.def("encode", &encode_array<Coder, T, std::int32_t>, "y"_a.noconvert(), "s"_a,
            "values"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert());
  coder.def("encode", &encode_array<Coder, T, std::int64_t>, "y"_a.noconvert(), "s"_a,
            "values"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert());
  coder.def("accumulate", &accumulate_array<Coder, T>, "y"_a.noconvert(), "s"_a,
            "matrix"_a.noconvert());
  coder.def("shrink", &shrink_array<Coder, T>, "image"_a.noconvert(), "pilot"_a.noconvert().none(),
            "height"_a, "width"_a, "tops"_a.noconvert(), "lefts"_a.noconvert(), "level"_a,
            "sharpness"_a, "sums"_a.noconvert(), "weights"_a.noconvert());
}

template <class T> void bind_passes(nb::module_& m, nb::class_<Plan>& plan) {
  plan.def("apply", &apply_array<T>, "y"_a.noconvert(), "out"_a.noconvert(), "inverse"_a);
  plan.def("decode", &decode_array<T>, "values"_a.noconvert(), "indices"_a.noconvert(),
           "indptr"_a.noconvert(), "out"_a.noconvert());
  m.def("pursue", &pursue_array<T, std::int32_t>, "atoms"_a.noconvert(), "gram"_a.noconvert().none(),
        "scales"_a.noconvert().none(), "squares"_a.noconvert().none(), "y"_a.noconvert(),
        "missing"_a.noconvert().none(), "s"_a, "tol"_a, "values"_a.noconvert(),
        "indices"_a.noconvert(), "indptr"_a.noconvert());
  m.def("pursue", &pursue_array<T, std::int64_t>, "atoms"_a.noconvert(), "gram"_a.noconvert().none(),
        "scales"_a.noconvert().none(), "squares"_a.noconvert().none(), "y"_a.noconvert(),
        "missing"_a.noconvert().none(), "s"_a, "tol"_a, "values"_a.noconvert(),
        "indices"_a.noconvert(), "indptr"_a.noconvert());
  m.def("squared_norms", &squared_norms_array<T>, "rows"_a.noconvert(), "out"_a.noconvert());
  m.def("inner_products", &inner_products_array<T>, "atoms"_a.noconvert(), "gram"_a.noconvert());
  m.def("sweep_atoms", &sweep_atoms_array<T>, "atoms"_a.noconvert(), "residual"_a.noconvert(),
        "values"_a.noconvert(), "begins"_a.noconvert(), "rows"_a.noconvert(),
        "places"_a.noconvert(), "order"_a.noconvert());
  m.def("sum_atoms", &sum_atoms_array<T>, "atoms"_a.noconvert(), "values"_a.noconvert(),
        "indices"_a.noconvert(), "indptr"_a.noconvert(), "out"_a.noconvert());
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

  nb::class_<Plan> plan(m, "Plan");
  plan.def(nb::init<int>(), "n_features"_a);
  plan.def_ro("uses_blas", &Plan::uses_blas);
  plan.def_prop_ro("n_atoms", &n_atoms_of<Plan>);
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
  bind_coding<Plan, float>(plan);
  bind_coding<Plan, double>(plan);
  bind_passes<float>(m, plan);
  bind_passes<double>(m, plan);

  nb::class_<Bank> bank(m, "Bank");
  // Keeps its plans alive.
  bank.def(nb::init<const Plan&, const std::vector<const Plan*>&>(), "base"_a, "members"_a,
           nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
  bank.def_ro("uses_blas", &Bank::uses_blas);
  bank.def_prop_ro("n_atoms", &n_atoms_of<Bank>);
  bind_coding<Bank, float>(bank);
  bind_coding<Bank, double>(bank);

  m.def("set_gemm", [](nb::capsule single, nb::capsule full) {
    set_gemm(function_of<Gemm<float>>(single), function_of<Gemm<double>>(full));
  }, "single"_a, "full"_a);
  m.def("set_stemr", [](nb::capsule stemr) { set_stemr(function_of<Stemr>(stemr)); }, "stemr"_a);
  m.def("sweep_reflectors", &sweep_reflectors_array, "statistic"_a.noconvert(),
        "vectors"_a.noconvert(), "order"_a.noconvert(), "begins"_a.noconvert());
  m.def("lowest_eigenvectors", &lowest_eigenvectors_array, "statistic"_a.noconvert(),
        "vectors"_a.noconvert());
  m.def("sweep_rotations", &sweep_rotations_array, "statistic"_a.noconvert(),
        "pairs"_a.noconvert(), "blocks"_a.noconvert(), "gains"_a.noconvert(), "least"_a);
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
