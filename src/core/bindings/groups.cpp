#include <array>

#include <nanobind/stl/array.h>

#include "bindings/arrays.hpp"
#include "drivers/groups.hpp"

namespace fost {
namespace {

using Extents = std::array<Index, 3>;
template <class T> using Volume = Packed<T, nb::ndim<3>>;
template <class T> using Volumes = Packed<T, nb::ndim<4>>;

template <class T>
void filter_groups_array(const Volumes<const T>& images, const Volumes<const T>& pilots,
                         const Volume<const T>& guide, const Volume<const T>& window,
                         const Extents& steps, const Extents& reach, int most, T level,
                         const Volumes<T>& sums, const Volume<T>& weights) {
  GroupTask<T> task = {images.data(), pilots.data(), guide.data(), static_cast<int>(images.shape(0)),
                       {}, {}, {}, {}, most, level, window.data()};
  bool sound = images.shape(0) >= 1 && most >= 1 && level > 0 && pilots.shape(0) == images.shape(0) &&
               sums.shape(0) == images.shape(0);
  for (int axis = 0; axis < 3; ++axis) {
    const std::size_t extent = guide.shape(axis);
    sound = sound && images.shape(axis + 1) == extent && pilots.shape(axis + 1) == extent &&
            sums.shape(axis + 1) == extent && weights.shape(axis) == extent &&
            window.shape(axis) >= 1 && window.shape(axis) <= extent && steps[axis] >= 1 &&
            reach[axis] >= 0;
    task.extents[axis] = Index(extent);
    task.block[axis] = Index(window.shape(axis));
    task.steps[axis] = steps[axis];
    task.reach[axis] = std::min(reach[axis], Index(extent));
  }
  require(sound, "shapes do not agree");
  nb::gil_scoped_release release;
  filter_groups<T>(task, {sums.data(), weights.data()});
}

template <class T> void bind(nb::module_& m) {
  m.def("filter_groups", &filter_groups_array<T>, "images"_a.noconvert(), "pilots"_a.noconvert(),
        "guide"_a.noconvert(), "window"_a.noconvert(), "steps"_a, "reach"_a, "most"_a, "level"_a,
        "sums"_a.noconvert(), "weights"_a.noconvert());
}

}  // namespace

void bind_groups(nb::module_& m) {
  bind<float>(m);
  bind<double>(m);
}

}  // namespace fost
