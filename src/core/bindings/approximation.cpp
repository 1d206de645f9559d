// Chains of rotations for a given symmetric matrix. Matrices have n rows of more than n entries.
#include "bindings/arrays.hpp"

#include <nanobind/stl/optional.h>

#include "runtime/buffer.hpp"
#include "runtime/dispatch.hpp"

namespace fost {
namespace {

using Matrix = Packed<double, nb::ndim<2>>;
using Pairs = Packed<std::int32_t, nb::shape<-1, 2>>;
using Angles = Packed<double, nb::shape<-1, 2>>;

PaddedMatrix padded(const Matrix& matrix) {
  require(matrix.shape(0) >= 2 && matrix.shape(0) <= matrix.shape(1), "shapes do not agree");
  return {matrix.data(), static_cast<int>(matrix.shape(0)), Index(matrix.shape(1))};
}

PaddedMatrix padded(const Matrix& matrix, const Matrix& other) {
  require(matrix.shape(0) == other.shape(0) && matrix.shape(1) == other.shape(1),
          "shapes do not agree");
  return padded(matrix);
}

RotationChain rotation_chain(const Pairs& pairs, const Angles& angles, double* gains,
                             std::size_t count) {
  require(angles.shape(0) == pairs.shape(0) && count == pairs.shape(0), "shapes do not agree");
  return {pairs.data(), angles.data(), gains, static_cast<int>(count)};
}

int greedy_rotations_array(const Matrix& a,
                           const std::optional<Packed<const double, Line>>& weights,
                           const Pairs& pairs, const Angles& angles,
                           const Packed<double, Line>& gains, double least, double enough) {
  const PaddedMatrix matrix = padded(a);
  const RotationChain chain = rotation_chain(pairs, angles, gains.data(), gains.shape(0));
  require(!weights || weights->shape(0) == a.shape(0), "shapes do not agree");
  nb::gil_scoped_release release;
  const Index n = matrix.n;
  const Buffer<double> lines(5 * n);
  const Buffer<std::int32_t> partners(n);
  double* line = lines.get();
  const GreedyMemory memory = {line,         line + n,     line + 2 * n,
                               line + 3 * n, line + 4 * n, partners.get()};
  return algebra().greedy_rotations(matrix, pointer(weights), memory, chain, least, enough);
}

void sweep_angles_array(const Matrix& a, const Matrix& d, const Pairs& pairs, const Angles& angles,
                        const Packed<double, Line>& gains, bool backward) {
  const PaddedMatrix first = padded(a, d), second = padded(d);
  const RotationChain chain = rotation_chain(pairs, angles, gains.data(), gains.shape(0));
  nb::gil_scoped_release release;
  algebra().sweep_angles(first, second, chain, backward);
}

void propose_rotations_array(const Matrix& a, const Matrix& d, const Pairs& pairs,
                             const Angles& angles, const Pairs& partners, const Angles& scores) {
  const PaddedMatrix first = padded(a, d), second = padded(d);
  const RotationChain chain = rotation_chain(pairs, angles, nullptr, partners.shape(0));
  require(scores.shape(0) == partners.shape(0), "shapes do not agree");
  nb::gil_scoped_release release;
  const Index n = first.n;
  const Buffer<double> commutator(n * first.pitch), lines(4 * n);
  double* line = lines.get();
  const InsertionMemory memory = {line, line + n, line + 2 * n, line + 3 * n};
  algebra().propose_rotations(first, second, {commutator.get(), first.n, first.pitch}, memory,
                              chain, partners.data(), scores.data());
}

}  // namespace

void bind_approximation(nb::module_& m) {
  m.def("greedy_rotations", &greedy_rotations_array, "a"_a.noconvert(),
        "weights"_a.noconvert().none(), "pairs"_a.noconvert(), "angles"_a.noconvert(),
        "gains"_a.noconvert(), "least"_a, "enough"_a);
  m.def("sweep_angles", &sweep_angles_array, "a"_a.noconvert(), "d"_a.noconvert(),
        "pairs"_a.noconvert(), "angles"_a.noconvert(), "gains"_a.noconvert(), "backward"_a);
  m.def("propose_rotations", &propose_rotations_array, "a"_a.noconvert(), "d"_a.noconvert(),
        "pairs"_a.noconvert(), "angles"_a.noconvert(), "partners"_a.noconvert(),
        "scores"_a.noconvert());
}

}  // namespace fost
