// Cosine transforms prepared for the kernels: the choice of algorithm per length, and its tables.
#pragma once

#include <complex>
#include <deque>
#include <vector>

#include "types/transforms.hpp"

namespace fost {

template <class T> class CosineTables {
 public:
  CosineTables() = default;
  CosineTables(const CosineTables&) = delete;
  CosineTables& operator=(const CosineTables&) = delete;

  // The transform along lines of the given length, whose entries are `stride` features apart.
  CosineAxis<T> axis(int length, Index stride);

 private:
  T* allocate(std::size_t size) { return numbers_.emplace_back(size).data(); }
  const T* panels(int size, const std::vector<double>& matrix);
  const T* codelet(int length);
  void add_halves(CosineAxis<T>& axis);
  void add_fourier(CosineAxis<T>& axis);
  const FourierPrime<T>* prime(int size);
  void add_convolution(FourierPrime<T>& prime);
  FourierPass<T> pass(int radix, int size);
  Fourier<T>& fourier(int length);
  const std::int32_t* rows(const Fourier<T>& plan, const std::vector<std::int32_t>& order);

  // Deques, so that pointers into them stay valid as they grow.
  std::deque<std::vector<T>> numbers_;
  std::deque<std::vector<std::int32_t>> rows_;
  std::deque<std::vector<FourierPass<T>>> passes_;
  std::deque<FourierPrime<T>> primes_;
  std::deque<Fourier<T>> plans_;
};

// Arithmetic operations of the transform of one line.
double cosine_operations(int length);

}  // namespace fost
