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

// Signals that are not about what a thread itself does stay away from a thread which begins while
// this lives: Ctrl-C must wake the main thread, even where that waits for something else.
class WithoutSignals {
#if !defined(_WIN32)
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&all, own);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
#endif
};

// One call that asks for helpers.
struct Job {
  const std::function<void(int)>& work;
  const int threads;
  std::fenv_t arithmetic{};  // how the caller rounds, and so must all
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
      hire(job.threads - 1);
      jobs_.push_back(&job);
    }
    for (int k = 1; k < job.threads; ++k) wanted_.notify_one();
    job.work(0);
    std::unique_lock<std::mutex> lock(mutex_);
    jobs_.erase(std::remove(jobs_.begin(), jobs_.end(), &job), jobs_.end());
    job.finished.wait(lock, [&job] { return !job.running; });
  }

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  // So many helpers in all. Where no more threads or memory are to be had, those that are there
  // do all the work.
  void hire(int count) try {
    const WithoutSignals shielded;
    for (; helpers_ < count; ++helpers_) std::thread([this] { serve(); }).detach();
  } catch (...) {
  }

  [[noreturn]] void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wanted_.wait(lock, [this] { return !jobs_.empty(); });
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
  std::condition_variable wanted_;
  std::deque<Job*> jobs_;
  int helpers_ = 0;
};

// Never deleted: the helpers wait in it until the process ends.
Pool* pool = nullptr;

// A fork takes only its own thread along, so that a child begins with a pool of its own; it must
// not find anything half done.
void before_fork() { pool->lock(); }
void after_fork_in_parent() { pool->unlock(); }
void after_fork_in_child() { pool = new Pool; }

Pool& the_pool() {
  static const bool made = [] {
    pool = new Pool;
#if !defined(_WIN32)
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
#endif
    return true;
  }();
  (void)made;
  return *pool;
}

}  // namespace

void with_helpers(int threads, const std::function<void(int)>& work) {
  if (threads <= 1) return work(0);
  Job job{work, threads};
  the_pool().run(job);
}

}  // namespace fost
