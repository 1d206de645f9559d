// Learning updates on n x n statistics.
#include "bindings/arrays.hpp"

#include "drivers/sweeps.hpp"

namespace fost {
namespace {

void sweep_reflectors_array(const Packed<const double, nb::ndim<2>>& statistic,
                            const Packed<double, nb::ndim<2>>& vectors,
                            const Packed<const std::int32_t, Line>& order,
                            const Packed<const std::int32_t, Line>& begins, bool single) {
  const std::size_t m = vectors.shape(0), n = vectors.shape(1);
  require(statistic.shape(0) == n && statistic.shape(1) == n && order.shape(0) == m &&
              begins.shape(0) == m,
          "shapes do not agree");
  const ReleasedGil released;
  sweep_reflectors(statistic.data(), static_cast<int>(n), vectors.data(), static_cast<int>(m),
                   order.data(), begins.data(), single);
}

void lowest_eigenvectors_array(const Packed<const double, nb::ndim<2>>& statistic,
                               const Packed<double, nb::ndim<2>>& vectors) {
  const std::size_t m = vectors.shape(0), n = vectors.shape(1);
  require(statistic.shape(0) == n && statistic.shape(1) == n, "shapes do not agree");
  const ReleasedGil released;
  lowest_eigenvectors(statistic.data(), static_cast<int>(n), vectors.data(), static_cast<int>(m));
}

bool solve_procrustes_array(const Packed<const double, nb::ndim<2>>& statistic,
                            const Packed<const double, nb::ndim<2>>& current,
                            const Packed<double, nb::ndim<2>>& found) {
  const std::size_t n = statistic.shape(0);
  require(statistic.shape(1) == n && current.shape(0) == n && current.shape(1) == n &&
              found.shape(0) == n && found.shape(1) == n,
          "shapes do not agree");
  const ReleasedGil released;
  return solve_procrustes(statistic.data(), current.data(), static_cast<int>(n), found.data());
}

int sweep_rotations_array(const Packed<const double, nb::ndim<2>>& statistic,
                          const Packed<std::int32_t, nb::shape<-1, 2>>& pairs,
                          const Packed<double, nb::shape<-1, 2, 2>>& blocks,
                          const Packed<double, Line>& gains, double least) {
  const std::size_t n = statistic.shape(0), g = pairs.shape(0);
  require(statistic.shape(1) == n && n >= 2 && blocks.shape(0) == g && gains.shape(0) == g,
          "shapes do not agree");
  const ReleasedGil released;
  return sweep_rotations(statistic.data(), static_cast<int>(n), pairs.data(), blocks.data(),
                         gains.data(), static_cast<int>(g), least);
}

}  // namespace

void bind_learning(nb::module_& m) {
  m.def("sweep_reflectors", &sweep_reflectors_array, "statistic"_a.noconvert(),
        "vectors"_a.noconvert(), "order"_a.noconvert(), "begins"_a.noconvert(), "single"_a = false);
  m.def("lowest_eigenvectors", &lowest_eigenvectors_array, "statistic"_a.noconvert(),
        "vectors"_a.noconvert());
  m.def("solve_procrustes", &solve_procrustes_array, "statistic"_a.noconvert(),
        "current"_a.noconvert(), "found"_a.noconvert());
  m.def("sweep_rotations", &sweep_rotations_array, "statistic"_a.noconvert(), "pairs"_a.noconvert(),
        "blocks"_a.noconvert(), "gains"_a.noconvert(), "least"_a);
}

}  // namespace fost
