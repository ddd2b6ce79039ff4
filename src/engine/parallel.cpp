#include "parallel.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <vector>

namespace cqrf {
namespace {

std::atomic<int> workers_until_fault{-1};
std::atomic<Fault> planned_fault{Fault::kError};

void fail_if_planned() {
  if (workers_until_fault.load(std::memory_order_relaxed) < 0) return;
  if (workers_until_fault.fetch_sub(1) != 0) return;
  if (planned_fault == Fault::kMemory) throw std::bad_alloc();
  throw std::runtime_error("a fault that was asked for");
}

// What the C++ runtime keeps per thread it allocates when the thread throws for the first time,
// and ends the process if it cannot.
void prepare_to_throw() { [[maybe_unused]] volatile int touched = std::uncaught_exceptions(); }

// Room in the heap for what `prepare_to_throw` allocates in so many threads; false if there is
// none. Freed at once: the heap keeps it, and the stacks of threads are not taken from there.
bool find_room(int n_threads) {
  constexpr std::size_t kPerThread = 2048;
  const std::size_t size = kPerThread * static_cast<std::size_t>(n_threads);
  return std::unique_ptr<char[]>(new (std::nothrow) char[size]) != nullptr;
}

// Threads that begin together, once all of them can throw: none takes memory before.
class Workers {
 public:
  // Starts up to `count` threads, which call run(1), run(2), ...; `run` outlives them.
  Workers(int count, const std::function<void(int)>& run) {
    prepare_to_throw();
    if (count < 1 || !find_room(count)) return;
    try {
      threads_.reserve(static_cast<std::size_t>(count));
      for (int worker = 1; worker <= count; ++worker)
        threads_.emplace_back([this, worker, &run] { live(worker, run); });
    } catch (...) {
      // The system gives no more threads: those that started, and the calling one, do the work.
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ready_ == threads_.size(); });
    running_ = ready_;
    begun_ = true;
    changed_.notify_all();
  }

  Workers(const Workers&) = delete;

  ~Workers() {
    for (auto& thread : threads_) thread.join();
  }

  // True when all have ended; waits for it as long as is given.
  bool ended(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return running_ == 0; });
  }

 private:
  void live(int worker, const std::function<void(int)>& run) {
    prepare_to_throw();
    {
      std::unique_lock lock(mutex_);
      ++ready_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return begun_; });
    }
    run(worker);
    const std::lock_guard lock(mutex_);
    --running_;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t ready_ = 0;
  std::size_t running_ = 0;
  bool begun_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

void fail_in_worker(Fault fault, int after) {
  planned_fault = fault;
  workers_until_fault = after;
}

void parallel_for(std::size_t n_items, int n_threads, Monitor& monitor,
                  const std::function<void(std::size_t, int)>& work) {
  const int count = static_cast<int>(
      std::min<std::size_t>(std::max(1, n_threads), std::max<std::size_t>(1, n_items)));
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;

  const std::function<void(int)> run = [&](int worker) {
    try {
      if (worker > 0) fail_if_planned();
      for (std::size_t item = next++; item < n_items; item = next++) {
        if (monitor.stopped()) break;
        work(item, worker);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      monitor.stop();
    }
  };

  {
    Workers workers(count - 1, run);
    run(0);
    while (!workers.ended(Monitor::kInterval)) monitor.stopped();
  }
  if (error) std::rethrow_exception(error);
  if (monitor.stopped()) throw Stopped{};
}

}  // namespace cqrf
