// Threads over fixed ranges of signals. Which thread takes which range is left to chance, so
// ranges must not depend on each other or on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>

#include "runtime/thread_pool.hpp"
#include "types/transforms.hpp"

namespace fost {

int get_num_threads();
void set_num_threads(int count);

// What calls from this thread may use, whatever the number above; 0 takes the limit away.
// Returns the limit before.
int limit_threads(int count);

// Threads worth asking for, for work that takes about this many nanoseconds on one thread.
int threads_for(double nanoseconds);

// Calls task(k, thread) for k in 0 .. count - 1, on `threads` threads numbered from 0.
// The tasks must not throw.
template <class Task> void parallel_for(Index count, int threads, const Task& task) {
  std::atomic<Index> next{0};
  auto work = [&](int thread) {
    for (Index k = next++; k < count; k = next++) task(k, thread);
  };
  with_helpers(static_cast<int>(std::min<Index>(threads, count)), std::ref(work));
}

}  // namespace fost
