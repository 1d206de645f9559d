// Coder, Plan and Bank: transform, encode, decode and accumulate; content hashes.
#include "bindings/arrays.hpp"

#include <nanobind/stl/vector.h>

#include "drivers/coding.hpp"
#include "drivers/variable_length.hpp"
#include "plans/bank.hpp"
#include "runtime/content_hash.hpp"

namespace fost {
namespace {

template <class T, class I>
Index encode_array(const Coder& coder, const Signals& y, int s, const Packed<T, Line>& values,
                   const Packed<std::int32_t, Line>& indices, const Packed<I, Line>& indptr) {
  require(Index(y.shape(1)) == coder.n && s >= 1 && s <= coder.n, "shapes do not agree");
  require(values.shape(0) >= y.shape(0) * s && indices.shape(0) >= y.shape(0) * s &&
              indptr.shape(0) == y.shape(0) + 1,
          "not enough room for the codes");
  const View<const T> from = signals<T>(y);
  const ReleasedGil released;
  return encode<T, I>(coder, from, s, values.data(), indices.data(), indptr.data());
}

// A NumPy array that takes ownership of the memory.
template <class T> nb::object array_of(std::unique_ptr<T[]> numbers, Index size) {
  T* data = numbers.release();
  const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  const std::size_t shape[] = {static_cast<std::size_t>(size)};
  return nb::cast(nb::ndarray<nb::numpy, T, Line>(data, 1, shape, owner));
}

// Values, indices and indptr, or None if a coefficient is not finite.
template <class T>
nb::object encode_variable_length_array(const Coder& coder, const Input<T>& y, int s, double tol,
                                        double threshold) {
  require(Index(y.shape(1)) == coder.n && s >= 1 && s <= coder.n, "shapes do not agree");
  require((tol >= 0) != (threshold >= 0), "exactly one of tol and threshold must be nonnegative");
  std::optional<OwnedRows<T>> rows;
  {
    const ReleasedGil released;
    rows = encode_variable_length<T>(coder, view<const T>(y), {s, tol, threshold});
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
  const ReleasedGil released;
  return accumulate<T>(coder, view<const T>(y), s, matrix.data());
}

template <class T>
bool apply_array(const TransformPlan& plan, const Signals& y, const Output<T>& x, bool inverse) {
  require(Index(y.shape(1)) == plan.n && y.shape(0) == x.shape(0) && y.shape(1) == x.shape(1),
          "shapes do not agree");
  const View<const T> from = signals<T>(y);
  const ReleasedGil released;
  return apply<T>(plan, inverse, from, view<T>(x));
}

template <class T, class I>
int decode_array(const TransformPlan& plan, const Packed<const T, Line>& values,
                 const Packed<const std::int32_t, Line>& indices,
                 const Packed<const I, Line>& indptr, const Output<T>& x) {
  const auto codes = sparse_rows<T, I>(values, indices, indptr, plan.n, x);
  require(Index(x.shape(1)) == plan.n, "shapes do not agree");
  const ReleasedGil released;
  return static_cast<int>(decode<T, I>(plan, codes, view<T>(x)));
}

template <class T, class I>
int sum_atoms_array(const Packed<const T, nb::ndim<2>>& atoms, const Packed<const T, Line>& values,
                    const Packed<const std::int32_t, Line>& indices,
                    const Packed<const I, Line>& indptr, const Output<T>& x) {
  const auto codes = sparse_rows<T, I>(values, indices, indptr, atoms.shape(0), x);
  require(atoms.shape(1) == x.shape(1) && (x.size() < 2 || x.shape(1) < 2 || x.stride(1) == 1),
          "shapes do not agree");
  const ReleasedGil released;
  return static_cast<int>(sum_atoms<T, I>(atoms.data(), codes, view<T>(x)));
}

template <class T>
void hash_signals_array(const Input<T>& y, const Packed<std::uint64_t, Line>& hashes) {
  require(y.shape(0) == hashes.shape(0), "shapes do not agree");
  const ReleasedGil released;
  hash_signals(view<const T>(y), hashes.data());
}

template <class T> void bind_coding(nb::class_<Coder>& coder) {
  coder.def("encode", &encode_array<T, std::int32_t>, "y"_a.noconvert(), "s"_a,
            "values"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert());
  coder.def("encode", &encode_array<T, std::int64_t>, "y"_a.noconvert(), "s"_a,
            "values"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert());
  coder.def("encode_within", &encode_variable_length_array<T>, "y"_a.noconvert(), "s"_a, "tol"_a,
            "threshold"_a);
  coder.def("accumulate", &accumulate_array<T>, "y"_a.noconvert(), "s"_a, "matrix"_a.noconvert());
}

template <class T> void bind_transform(nb::class_<TransformPlan, Coder>& plan) {
  plan.def("apply", &apply_array<T>, "y"_a.noconvert(), "out"_a.noconvert(), "inverse"_a);
  plan.def("decode", &decode_array<T, std::int32_t>, "values"_a.noconvert(),
           "indices"_a.noconvert(), "indptr"_a.noconvert(), "out"_a.noconvert());
  plan.def("decode", &decode_array<T, std::int64_t>, "values"_a.noconvert(),
           "indices"_a.noconvert(), "indptr"_a.noconvert(), "out"_a.noconvert());
}

template <class T> void bind_rows(nb::module_& m) {
  m.def("mark_signals", &hash_signals_array<T>, "y"_a.noconvert(), "marks"_a.noconvert());
  m.def("sum_atoms", &sum_atoms_array<T, std::int32_t>, "atoms"_a.noconvert(),
        "values"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(),
        "out"_a.noconvert());
  m.def("sum_atoms", &sum_atoms_array<T, std::int64_t>, "atoms"_a.noconvert(),
        "values"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(),
        "out"_a.noconvert());
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
  bind_patches(m, coder);

  nb::class_<TransformPlan, Coder> plan(m, "Plan");
  plan.def(nb::init<int>(), "n_features"_a);
  plan.def(
      "add_reflectors",
      [](TransformPlan& self, const Packed<const double, nb::ndim<2>>& vectors) {
        require(Index(vectors.shape(1)) == self.n, "shapes do not agree");
        self.add_reflectors(vectors.data(), static_cast<int>(vectors.shape(0)));
      },
      "vectors"_a.noconvert());
  plan.def(
      "add_rotations",
      [](TransformPlan& self, const Packed<const std::int32_t, nb::shape<-1, 2>>& pairs,
         const Packed<const double, nb::shape<-1, 2, 2>>& blocks) {
        require(pairs.shape(0) == blocks.shape(0), "shapes do not agree");
        self.add_rotations(pairs.data(), blocks.data(), static_cast<int>(pairs.shape(0)));
      },
      "pairs"_a.noconvert(), "blocks"_a.noconvert());
  plan.def(
      "add_cosine",
      [](TransformPlan& self, const std::vector<int>& shape) { self.add_cosine(shape); },
      "shape"_a);
  plan.def(
      "add_dense",
      [](TransformPlan& self, const Packed<const double, nb::ndim<2>>& matrix) {
        require(Index(matrix.shape(0)) == self.n && Index(matrix.shape(1)) == self.n,
                "shapes do not agree");
        self.add_dense(matrix.data());
      },
      "matrix"_a.noconvert());
  // The plan refers to the other one, which is kept alive.
  plan.def(
      "add_plan",
      [](TransformPlan& self, const TransformPlan& other, bool transposed) {
        require(other.n == self.n && &other != &self, "plans do not agree");
        self.add_plan(other, transposed);
      },
      "other"_a, "transposed"_a = false, nb::keep_alive<1, 2>());
  bind_transform<float>(plan);
  bind_transform<double>(plan);

  // The bank refers to its plans, which are kept alive.
  nb::class_<Bank, Coder>(m, "Bank").def(
      nb::init<const TransformPlan&, const std::vector<const TransformPlan*>&>(), "base"_a,
      "members"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
  bind_rows<float>(m);
  bind_rows<double>(m);
}

}  // namespace fost
