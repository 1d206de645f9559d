// The thread pool: a queue of jobs, workers that wait for them, and handlers for fork.
#include "runtime/thread_pool.hpp"

#include <algorithm>
#include <cfenv>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#if !defined(_WIN32)
#include <pthread.h>
#include <signal.h>
#endif

namespace fost {
namespace {

// Blocks signals (except synchronous ones such as SIGSEGV) in threads that are created while this
// object lives: Ctrl-C must interrupt the main thread, even while it waits.
class SignalBlocker {
#if !defined(_WIN32)
 public:
  SignalBlocker() {
    sigset_t all;
    sigfillset(&all);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&all, own);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalBlocker() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
#endif
};

// One parallel call.
struct Job {
  const std::function<void(int)>& work;
  const int threads;
  std::fenv_t arithmetic{};  // floating-point environment (rounding mode) of the caller
  int begun = 1;
  int running = 0;
  std::condition_variable finished{};
};

class Pool {
 public:
  void run(Job& job) {
    std::fegetenv(&job.arithmetic);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      start_workers(job.threads - 1);
      jobs_.push_back(&job);
    }
    for (int k = 1; k < job.threads; ++k) job_available_.notify_one();
    job.work(0);
    std::unique_lock<std::mutex> lock(mutex_);
    jobs_.erase(std::remove(jobs_.begin(), jobs_.end(), &job), jobs_.end());
    job.finished.wait(lock, [&job] { return !job.running; });
  }

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  // Ensures that there are `count` workers. If threads or memory are exhausted, the existing ones
  // do all the work.
  void start_workers(int count) try {
    const SignalBlocker blocked;
    for (; n_workers_ < count; ++n_workers_) std::thread([this] { run_worker(); }).detach();
  } catch (...) {}

  [[noreturn]] void run_worker() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      job_available_.wait(lock, [this] { return !jobs_.empty(); });
      Job& job = *jobs_.front();
      const int number = job.begun++;
      if (job.begun == job.threads) jobs_.pop_front();
      ++job.running;
      lock.unlock();
      std::fesetenv(&job.arithmetic);
      job.work(number);
      lock.lock();
      if (--job.running == 0) job.finished.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable job_available_;
  std::deque<Job*> jobs_;
  int n_workers_ = 0;
};

// Never deleted: workers wait in it until the process ends.
Pool* pool = nullptr;

// Only the forking thread survives in the child, which therefore gets a new pool; the lock ensures
// that a fork never sees a job half registered.
void before_fork() { pool->lock(); }
void after_fork_in_parent() { pool->unlock(); }
void after_fork_in_child() { pool = new Pool; }

// Made when the module is loaded: a fork during the first parallel call of another thread would
// leave a pool that is made on demand half made in the child.
[[maybe_unused]] const bool made = [] {
  pool = new Pool;
#if !defined(_WIN32)
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
#endif
  return true;
}();

}  // namespace

void run_on_threads(int threads, const std::function<void(int)>& work) {
  if (threads <= 1) return work(0);
  Job job{work, threads};
  pool->run(job);
}

}  // namespace fost
