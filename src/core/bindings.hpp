// Arrays as the bindings take them, and the parts of the module.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <stdexcept>

#include "pass_types.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace fost {

template <class T> using Input = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T> using Output = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;
template <class T, class... Shape>
using Packed = nb::ndarray<T, nb::c_contig, nb::device::cpu, Shape...>;
using Line = nb::ndim<1>;
template <class T> using Lines = Packed<const T, nb::ndim<2>>;

inline void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

template <class T, class Array> View<T> view(const Array& array) {
  return {array.data(), Index(array.shape(0)), Index(array.shape(1)), Index(array.stride(0)),
          Index(array.stride(1))};
}

// An optional array: None is a null pointer.
template <class Array> auto pointer(const std::optional<Array>& array) {
  return array ? array->data() : nullptr;
}

template <class T>
SparseRows<T> sparse_rows(const Packed<const T, Line>& values,
                          const Packed<const std::int32_t, Line>& indices,
                          const Packed<const std::int64_t, Line>& indptr, const Output<T>& x) {
  require(indptr.shape(0) == x.shape(0) + 1 && values.shape(0) == indices.shape(0),
          "shapes do not agree");
  return {values.data(), indices.data(), indptr.data()};
}

// Coder, Plan and Bank.
void bind_coders(nb::module_& m);

}  // namespace fost
