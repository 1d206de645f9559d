// Conversions of NumPy arrays to the plain structs of types/, and the parts of the module.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>

#include "types/coding.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace fost {

template <class T> using Input = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T> using Output = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;
template <class T, class... Shape>
using Packed = nb::ndarray<T, nb::c_contig, nb::device::cpu, Shape...>;
using Line = nb::ndim<1>;
template <class T> using Lines = Packed<const T, nb::ndim<2>>;

// Releases the GIL for the lifetime of this object, as nb::gil_scoped_release does. When the
// interpreter ends, Python before 3.14 ends every other thread that asks for the GIL by
// pthread_exit. That unwinds the stack, which aborts the process at the first function that is
// noexcept, as those of nanobind are. Such a thread waits here instead, until the process ends.
class ReleasedGil {
 public:
  ReleasedGil() : state_(PyEval_SaveThread()) {}
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;
  ~ReleasedGil() noexcept(false) {
    UnwindGuard guard;
    PyEval_RestoreThread(state_);
    guard.restored = true;
  }

 private:
  struct UnwindGuard {
    bool restored = false;
    ~UnwindGuard() {
      while (!restored) std::this_thread::sleep_for(std::chrono::hours(1));
    }
  };
  PyThreadState* state_;
};

inline void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

template <class T, class Array> View<T> view(const Array& array) {
  return {array.data(), Index(array.shape(0)), Index(array.shape(1)), Index(array.stride(0)),
          Index(array.stride(1))};
}

// The data of an optional array; None becomes a null pointer.
template <class Array> auto pointer(const std::optional<Array>& array) {
  return array ? array->data() : nullptr;
}

// Signals of any type that can be converted to T on load.
using Signals = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;

inline SourceType source_type_of(const nb::dlpack::dtype& type, bool single) {
  using Code = nb::dlpack::dtype_code;
  const auto is = [&](Code code, int bits) {
    return type.code == static_cast<std::uint8_t>(code) && type.bits == bits && type.lanes == 1;
  };
  if (is(Code::Float, single ? 32 : 64)) return SourceType::same;
  if (single && is(Code::Int, 8)) return SourceType::int8;
  if (single && (is(Code::UInt, 8) || is(Code::Bool, 8))) return SourceType::uint8;
  if (single && is(Code::Int, 16)) return SourceType::int16;
  if (single && is(Code::UInt, 16)) return SourceType::uint16;
  if (single && is(Code::Float, 16)) return SourceType::float16;
  throw nb::type_error("y has an unsupported dtype");
}

template <class T> View<const T> signals(const Signals& y) {
  return {static_cast<const T*>(y.data()),
          Index(y.shape(0)),
          Index(y.shape(1)),
          Index(y.stride(0)),
          Index(y.stride(1)),
          source_type_of(y.dtype(), sizeof(T) == 4)};
}

template <class T, class I>
SparseRows<T, I> sparse_rows(const Packed<const T, Line>& values,
                             const Packed<const std::int32_t, Line>& indices,
                             const Packed<const I, Line>& indptr, std::size_t n_atoms,
                             const Output<T>& x) {
  require(indptr.shape(0) == x.shape(0) + 1 && n_atoms <= INT32_MAX, "shapes do not agree");
  return {values.data(), indices.data(), indptr.data(),
          Index(std::min(values.shape(0), indices.shape(0))), static_cast<std::int32_t>(n_atoms)};
}

// One function per topic; each is in the file of the same name.
class Coder;
void bind_approximation(nb::module_& m);
void bind_coders(nb::module_& m);
void bind_gaussian(nb::module_& m);
void bind_learning(nb::module_& m);
void bind_patches(nb::module_& m, nb::class_<Coder>& coder);
void bind_pursuit(nb::module_& m);

}  // namespace fost
