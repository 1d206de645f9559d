// Conditional Gaussians: imputation, batched inverses and Mahalanobis distances.
#include "bindings/arrays.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "drivers/conditional_gaussian.hpp"
#include "runtime/buffer.hpp"

namespace fost {
namespace {

void condition_array(const Packed<const double, Line>& mean,
                     const Packed<const double, nb::ndim<2>>& covariance,
                     const Packed<const double, nb::ndim<2>>& precision, double log_determinant,
                     const Packed<double, nb::ndim<2>>& rows,
                     const Packed<const bool, nb::ndim<2>>& missing,
                     const std::optional<Packed<const double, Line>>& weights,
                     const std::optional<Packed<double, Line>>& densities,
                     const std::optional<Packed<double, nb::ndim<2>>>& variances,
                     const std::optional<Packed<double, nb::ndim<2>>>& sum, Index every) {
  const std::size_t n = mean.shape(0), count = rows.shape(0);
  const auto square = [&](const auto& matrix) {
    return matrix.shape(0) == n && matrix.shape(1) == n;
  };
  require(n >= 1 && square(covariance) && square(precision) && rows.shape(1) == n &&
              missing.shape(0) == count && missing.shape(1) == n,
          "shapes do not agree");
  require((!weights || weights->shape(0) == count) &&
              (!densities || densities->shape(0) == count) &&
              (!variances || (variances->shape(0) == count && variances->shape(1) == n)) &&
              (!sum || square(*sum)) && every >= 1,
          "shapes do not agree");
  const Gaussian gaussian = {static_cast<int>(n), mean.data(), covariance.data(), precision.data(),
                             log_determinant};
  const IncompleteRows signals = {rows.data(),        missing.data(),     nullptr, pointer(weights),
                                  pointer(densities), pointer(variances), every};
  const ReleasedGil released;
  condition_rows({{gaussian, signals, Index(count), pointer(sum)}});
}

using Matrices = std::vector<Packed<const double, nb::ndim<2>>>;

// Conditions the rows used[begins[k]:begins[k + 1]] on member k, for each member.
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
              fits(filled) && fits(densities) && fits(variances) &&
              (!filled || filled->shape(1) == n) && (!variances || variances->shape(1) == n) &&
              (filled || !(densities || variances)) &&
              (!sums || (sums->shape(0) == count && sums->shape(1) == n && sums->shape(2) == n)),
          "shapes do not agree");
  for (std::size_t k = 0; k < count; ++k)
    require(means[k].shape(0) == n && covariances[k].shape(0) == n &&
                covariances[k].shape(1) == n && precisions[k].shape(0) == n &&
                precisions[k].shape(1) == n,
            "shapes do not agree");
  const std::int64_t *places = used.data(), *begin = begins.data();
  for (std::size_t k = 0; k < count; ++k) require(begin[k] <= begin[k + 1], "begins must ascend");
  require(begin[0] == 0 && begin[count] == std::int64_t(total),
          "begins must cover all used signals");
  for (std::size_t r = 0; r < total; ++r)
    require(places[r] >= 0 && places[r] < std::int64_t(rows.shape(0)),
            "used must contain indices of rows");
  const auto from = [](const auto& array, std::size_t offset) {
    return array ? array->data() + offset : nullptr;
  };
  std::vector<ConditioningTask> tasks;
  const ReleasedGil released;
  const Buffer<bool> mask(Index(total * n));
  for (std::size_t r = 0; r < total; ++r) {
    std::copy_n(missing.data() + places[r] * n, n, mask.get() + r * n);
    if (filled) std::copy_n(rows.data() + places[r] * n, n, filled->data() + r * n);
  }
  for (std::size_t k = 0; k < count; ++k) {
    const Gaussian gaussian = {static_cast<int>(n), means[k].data(), covariances[k].data(),
                               precisions[k].data(), log_determinants[k]};
    const std::size_t first = begin[k];
    const IncompleteRows signals = {
        from(filled, first * n), mask.get() + first * n, nullptr,
        from(weights, first),    from(densities, first), from(variances, first * n)};
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
                inverses[k].shape(0) == n && inverses[k].shape(1) == n,
            "shapes do not agree");
    from.push_back(covariances[k].data());
    to.push_back(inverses[k].data());
  }
  const ReleasedGil released;
  invert_covariances(from, static_cast<int>(n), to, log_determinants.data());
}

void mahalanobis_distances_array(const Lines<float>& rows, const Lines<float>& means,
                                 const Packed<const float, nb::ndim<3>>& precisions,
                                 const Packed<float, nb::ndim<2>>& energies) {
  const std::size_t n = rows.shape(1), count = means.shape(0);
  require(means.shape(1) == n && precisions.shape(0) == count && precisions.shape(1) == n &&
              precisions.shape(2) == n && energies.shape(0) == rows.shape(0) &&
              energies.shape(1) == count,
          "shapes do not agree");
  const ReleasedGil released;
  mahalanobis_distances({static_cast<int>(n), static_cast<int>(count), rows.data(), means.data(),
                         precisions.data(), energies.data()},
                        Index(rows.shape(0)));
}

}  // namespace

void bind_gaussian(nb::module_& m) {
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
  m.def("find_energies", &mahalanobis_distances_array, "rows"_a.noconvert(), "means"_a.noconvert(),
        "precisions"_a.noconvert(), "energies"_a.noconvert());
}

}  // namespace fost
