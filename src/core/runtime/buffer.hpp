// Uninitialised, aligned memory for the kernels, owned by the drivers.
#pragma once

#include <new>

#include "types/transforms.hpp"

namespace fost {

// Uninitialised numbers, aligned to a cache line.
template <class T> class Buffer {
 public:
  explicit Buffer(Index size)
      : data_(size ? static_cast<T*>(::operator new(size * sizeof(T), ALIGNMENT)) : nullptr) {}
  ~Buffer() { ::operator delete(data_, ALIGNMENT); }
  Buffer(Buffer&& other) noexcept : data_(other.data_) { other.data_ = nullptr; }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* get() const { return data_; }

 private:
  static constexpr std::align_val_t ALIGNMENT{64};
  T* data_;
};

}  // namespace fost
