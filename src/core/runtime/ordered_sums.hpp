// Reduction over ranges that threads finish in any order, added in the order of the ranges, so that
// results are bit-identical for any number of threads.
//
// A range is added as soon as all earlier ranges are, by whichever thread completes it, and its
// memory is reused: on one thread a single partial sum stays in the caches.
#pragma once

#include <mutex>
#include <vector>

#include "runtime/buffer.hpp"
#include "types/transforms.hpp"

namespace fost {

class OrderedSums {
 public:
  // For `ranges` partial sums of `size` numbers. Memory that is never taken is never touched.
  OrderedSums(Index ranges, Index size) : memory_(ranges * size), done_(ranges, nullptr) {
    for (Index k = ranges; k > 0; --k) free_.push_back(memory_.get() + (k - 1) * size);
  }

  // Uninitialised memory for the partial sum of a range.
  double* take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    double* sum = free_.back();
    free_.pop_back();
    return sum;
  }

  // Range k is done: calls add(sum) for all ranges that are next in order, one after another.
  template <class Add> void give(Index k, double* sum, const Add& add) {
    std::unique_lock<std::mutex> lock(mutex_);
    done_[k] = sum;
    if (adding_) return;
    adding_ = true;
    for (; next_ < static_cast<Index>(done_.size()) && done_[next_]; ++next_) {
      double* turn = done_[next_];
      lock.unlock();
      add(static_cast<const double*>(turn));
      lock.lock();
      free_.push_back(turn);
    }
    adding_ = false;
  }

 private:
  Index next_ = 0;
  Buffer<double> memory_;
  std::mutex mutex_;
  std::vector<double*> done_, free_;
  bool adding_ = false;
};

}  // namespace fost
