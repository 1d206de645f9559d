// Threads that are kept for the next call. They sleep while there is nothing to do, and a call
// never waits for one that has not begun: what no thread takes up the caller does itself.
#pragma once

#include <functional>

namespace fost {

// Calls work(0) here, and work(1) ... work(threads - 1) on as many other threads as are free
// before it is done; some of them may never be called. All that were have returned when this
// does. The work must not throw, and must not call this.
void with_helpers(int threads, const std::function<void(int)>& work);

}  // namespace fost
