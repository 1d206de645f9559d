// A pool of threads that are kept between calls. Idle workers sleep, and a call never waits for a
// worker that has not started: the caller processes all work that no worker takes.
#pragma once

#include <functional>

namespace fost {

// Calls work(0) in this thread, and work(1) ... work(threads - 1) on other threads that become free
// before it is done; some of them may never be called. All calls have returned when this function
// returns. The work must not throw and must not call this function.
void run_on_threads(int threads, const std::function<void(int)>& work);

}  // namespace fost
