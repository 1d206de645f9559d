// Shrinkage of overlapping blocks, momentum steps, and collaborative filtering of groups.
#include "bindings/arrays.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>

#include <array>

#include "drivers/groups.hpp"
#include "drivers/patches.hpp"
#include "plans/coder.hpp"

namespace fost {
namespace {

Positions positions(const Packed<const std::int32_t, Line>& starts) {
  return {starts.data(), static_cast<int>(starts.shape(0))};
}

template <class T>
void momentum_step_array(const Packed<T>& estimate, const Packed<T>& velocity,
                         const Packed<T>& sums, const Packed<T>& weights,
                         const Packed<const bool>& missing, T relaxation, T momentum) {
  const std::size_t count = estimate.size();
  require(velocity.size() == count && sums.size() == count && weights.size() == count &&
              missing.size() == count,
          "shapes do not agree");
  const ReleasedGil released;
  momentum_step<T>(
      {estimate.data(), velocity.data(), missing.data(), relaxation, momentum, nullptr},
      {sums.data(), weights.data()}, Index(count));
}

template <class T>
void shrink_array(const Coder& coder, const Packed<const T, nb::ndim<3>>& volume,
                  const std::optional<Packed<const T, nb::ndim<3>>>& pilot, int depth, int height,
                  int width, const Packed<const std::int32_t, Line>& fronts,
                  const Packed<const std::int32_t, Line>& tops,
                  const Packed<const std::int32_t, Line>& lefts, T level, T sharpness,
                  const Packed<T, nb::ndim<3>>& sums, const Packed<T, nb::ndim<3>>& weights) {
  const auto same = [&](const auto& other) {
    return other.shape(0) == volume.shape(0) && other.shape(1) == volume.shape(1) &&
           other.shape(2) == volume.shape(2);
  };
  const Index pitch = volume.shape(2);
  const BlockGrid<T> grid = {volume.data(),
                             pointer(pilot),
                             Index(volume.shape(1)) * pitch,
                             pitch,
                             depth,
                             height,
                             width,
                             positions(fronts),
                             positions(tops),
                             positions(lefts)};
  require(grid.size() == coder.n && same(sums) && same(weights) && (!pilot || same(*pilot)),
          "shapes do not agree");
  const WeightedSums<T> out = {sums.data(), weights.data()};
  const ReleasedGil released;
  shrink<T>(coder, grid, level, sharpness, out);
}

template <class T>
void shrink_and_step_array(const Coder& coder, const Packed<T, nb::ndim<3>>& estimate,
                           const Packed<T, nb::ndim<3>>& velocity,
                           const Packed<const bool, nb::ndim<3>>& missing, int depth, int height,
                           int width, const Packed<const std::int32_t, Line>& fronts,
                           const Packed<const std::int32_t, Line>& tops,
                           const Packed<const std::int32_t, Line>& lefts, T level, T sharpness,
                           T relaxation, T momentum, const Packed<T, nb::ndim<3>>& sums,
                           const Packed<T, nb::ndim<3>>& weights) {
  const auto same = [&](const auto& other) {
    return other.shape(0) == estimate.shape(0) && other.shape(1) == estimate.shape(1) &&
           other.shape(2) == estimate.shape(2);
  };
  const Index rows = Index(estimate.shape(0)) * Index(estimate.shape(1)), pitch = estimate.shape(2);
  const BlockGrid<T> grid = {estimate.data(),
                             nullptr,
                             Index(estimate.shape(1)) * pitch,
                             pitch,
                             depth,
                             height,
                             width,
                             positions(fronts),
                             positions(tops),
                             positions(lefts)};
  require(grid.size() == coder.n && same(velocity) && same(missing) && same(sums) && same(weights),
          "shapes do not agree");
  const MomentumState<T> state = {estimate.data(), velocity.data(), missing.data(),
                                  relaxation,      momentum,        nullptr};
  const ReleasedGil released;
  shrink_and_step<T>(coder, grid, level, sharpness, {sums.data(), weights.data()}, state, rows);
}

using Extents = std::array<Index, 3>;
template <class T> using Volume = Packed<T, nb::ndim<3>>;
template <class T> using Volumes = Packed<T, nb::ndim<4>>;

template <class T>
void filter_groups_array(const Volumes<const T>& images, const Volumes<const T>& pilots,
                         const Volume<const T>& guide, const Volume<const T>& window,
                         const Extents& steps, const Extents& reach, int most, T level,
                         const Volumes<T>& sums, const Volume<T>& weights) {
  GroupTask<T> task = {
      images.data(), pilots.data(), guide.data(), static_cast<int>(images.shape(0)), {}, {}, {}, {},
      most,          level,         window.data()};
  bool valid = images.shape(0) >= 1 && most >= 1 && level > 0 &&
               pilots.shape(0) == images.shape(0) && sums.shape(0) == images.shape(0);
  for (int axis = 0; axis < 3; ++axis) {
    const std::size_t extent = guide.shape(axis);
    valid = valid && images.shape(axis + 1) == extent && pilots.shape(axis + 1) == extent &&
            sums.shape(axis + 1) == extent && weights.shape(axis) == extent &&
            window.shape(axis) >= 1 && window.shape(axis) <= extent && steps[axis] >= 1 &&
            reach[axis] >= 0;
    task.extents[axis] = Index(extent);
    task.block[axis] = Index(window.shape(axis));
    task.steps[axis] = steps[axis];
    task.reach[axis] = std::min(reach[axis], Index(extent));
  }
  require(valid, "shapes do not agree");
  const ReleasedGil released;
  filter_groups<T>(task, {sums.data(), weights.data()});
}

template <class T> void bind_blocks(nb::module_& m, nb::class_<Coder>& coder) {
  coder.def("shrink", &shrink_array<T>, "volume"_a.noconvert(), "pilot"_a.noconvert().none(),
            "depth"_a, "height"_a, "width"_a, "fronts"_a.noconvert(), "tops"_a.noconvert(),
            "lefts"_a.noconvert(), "level"_a, "sharpness"_a, "sums"_a.noconvert(),
            "weights"_a.noconvert());
  coder.def("shrink_on", &shrink_and_step_array<T>, "estimate"_a.noconvert(),
            "velocity"_a.noconvert(), "missing"_a.noconvert(), "depth"_a, "height"_a, "width"_a,
            "fronts"_a.noconvert(), "tops"_a.noconvert(), "lefts"_a.noconvert(), "level"_a,
            "sharpness"_a, "relaxation"_a, "momentum"_a, "sums"_a.noconvert(),
            "weights"_a.noconvert());
  m.def("advance", &momentum_step_array<T>, "estimate"_a.noconvert(), "velocity"_a.noconvert(),
        "sums"_a.noconvert(), "weights"_a.noconvert(), "missing"_a.noconvert(), "relaxation"_a,
        "momentum"_a);
  m.def("filter_groups", &filter_groups_array<T>, "images"_a.noconvert(), "pilots"_a.noconvert(),
        "guide"_a.noconvert(), "window"_a.noconvert(), "steps"_a, "reach"_a, "most"_a, "level"_a,
        "sums"_a.noconvert(), "weights"_a.noconvert());
}

}  // namespace

void bind_patches(nb::module_& m, nb::class_<Coder>& coder) {
  bind_blocks<float>(m, coder);
  bind_blocks<double>(m, coder);
}

}  // namespace fost
