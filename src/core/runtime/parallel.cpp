// The number of threads: environment, limits, and a cost threshold.
#include "runtime/parallel.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace fost {
namespace {

// Waking an idle core takes up to 300 us on a virtual machine. On a busy machine, a worker that is
// preempted within its range delays the call by milliseconds. Each thread must have at least this
// much work to compensate.
constexpr double NANOSECONDS_PER_THREAD = 300e3;

int available_cores() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

int checked(long count, const std::string& name) {
  if (count < 1 || count > 1024)
    throw std::invalid_argument(name + " must be between 1 and 1024, got " + std::to_string(count));
  return static_cast<int>(count);
}

// FOST_NUM_THREADS if it is set, else the number of cores that this process may use.
int initial() {
  const char* text = std::getenv("FOST_NUM_THREADS");
  if (!text || !*text) return std::min(available_cores(), 1024);
  char* end = nullptr;
  const long count = std::strtol(text, &end, 10);
  if (*end)
    throw std::invalid_argument(std::string("FOST_NUM_THREADS must be an integer, got '") + text +
                                "'");
  return checked(count, "FOST_NUM_THREADS");
}

std::atomic<int> current{0};
thread_local int own_limit = 0;  // 0 for none

}  // namespace

int get_num_threads() {
  int count = current.load();
  if (!count) current.store(count = initial());
  return count;
}

void set_num_threads(int count) { current.store(checked(count, "n_threads")); }

int limit_threads(int count) {
  const int before = own_limit;
  own_limit = count;
  return before;
}

int threads_for(double nanoseconds) {
  const int most = own_limit ? own_limit : get_num_threads();
  return static_cast<int>(
      std::clamp(nanoseconds / NANOSECONDS_PER_THREAD, 1.0, static_cast<double>(most)));
}

}  // namespace fost
