// Parallel loops over fixed ranges of signals. Ranges are assigned to threads dynamically, so they
// must not depend on each other or on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>

#include "runtime/thread_pool.hpp"
#include "types/transforms.hpp"

namespace fost {

int get_num_threads();
void set_num_threads(int count);

// Limits the threads of calls from the current thread, regardless of the number above; 0 removes
// the limit. Returns the previous limit.
int limit_threads(int count);

// The number of threads worth using for work of about this many nanoseconds on one thread.
int threads_for(double nanoseconds);

// Calls task(k, thread) for k in 0 .. count - 1, on `threads` threads numbered from 0. Tasks must
// not throw.
template <class Task> void parallel_for(Index count, int threads, const Task& task) {
  std::atomic<Index> next{0};
  auto work = [&](int thread) {
    for (Index k = next++; k < count; k = next++) task(k, thread);
  };
  run_on_threads(static_cast<int>(std::min<Index>(threads, count)), std::ref(work));
}

}  // namespace fost
