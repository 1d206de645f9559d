// The module fost._core. Types and shapes are checked in the bindings, everything else in Python.
#include "bindings/arrays.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "runtime/blas.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/parallel.hpp"

namespace fost {
namespace {

// The function behind a capsule of scipy.linalg.cython_blas or cython_lapack.
template <class Function> Function function_of(nb::capsule capsule) {
  void* pointer = PyCapsule_GetPointer(capsule.ptr(), PyCapsule_GetName(capsule.ptr()));
  if (!pointer) throw nb::python_error();
  return reinterpret_cast<Function>(pointer);
}

}  // namespace
}  // namespace fost

NB_MODULE(_core, m) {
  using namespace fost;
  // A transform in a global variable may outlive the interpreter; that must not print a warning at
  // exit.
  nb::set_leak_warnings(false);
  // Reads the environment variables, so that errors in them are raised on import.
  get_isa();
  get_num_threads();

  bind_approximation(m);
  bind_coders(m);
  bind_learning(m);
  bind_pursuit(m);
  bind_gaussian(m);

  m.def(
      "set_gemm",
      [](nb::capsule single, nb::capsule full) {
        set_gemm(function_of<Gemm<float>>(single), function_of<Gemm<double>>(full));
      },
      "single"_a, "full"_a);
  m.def("set_stemr", [](nb::capsule stemr) { set_stemr(function_of<Stemr>(stemr)); }, "stemr"_a);
  m.attr("NOT_FINITE") = static_cast<int>(DecodeStatus::not_finite);
  m.def("registers_clean", &registers_clean);
  m.def("available_isas", &available_isas);
  m.def("get_isa", &get_isa);
  m.def("set_isa", &set_isa, "name"_a);
  m.def("get_num_threads", &get_num_threads);
  m.def("set_num_threads", &set_num_threads, "n_threads"_a);
  m.def("limit_threads", &limit_threads, "n_threads"_a);
}
