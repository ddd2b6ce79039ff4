// Threads: independent items handed out in order to a few workers, and a way to stop them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <thread>

namespace cqrf {

// Raised in the calling thread when `Monitor::stopped` became true before all items were done.
struct Stopped {};

// Tells workers whether to stop. Only the thread that made the monitor asks the outside world
// (`poll`, e.g. for a pending Ctrl-C), at most twenty times a second.
class Monitor {
 public:
  explicit Monitor(std::function<bool()> poll = nullptr)
      : poll_(std::move(poll)), owner_(std::this_thread::get_id()), last_(Clock::now()) {}

  bool stopped() {
    if (stop_.load(std::memory_order_relaxed)) return true;
    if (poll_ && std::this_thread::get_id() == owner_) {
      const auto now = Clock::now();
      if (now - last_ >= kInterval) {
        last_ = now;
        if (poll_()) stop();
      }
    }
    return stop_.load(std::memory_order_relaxed);
  }

  void stop() { stop_.store(true, std::memory_order_relaxed); }

  static constexpr std::chrono::milliseconds kInterval{50};

 private:
  using Clock = std::chrono::steady_clock;
  std::function<bool()> poll_;
  std::thread::id owner_;
  Clock::time_point last_;
  std::atomic<bool> stop_{false};
};

// Runs work(item, worker) for every item of [0, n_items) on at most `n_threads` threads, the
// calling one among them; `worker` is in [0, n_threads). Throws what a worker threw (the first),
// or Stopped. Every thread has ended when it returns or throws. Where the system gives fewer
// threads, or no memory for them, the others do the work.
void parallel_for(std::size_t n_items, int n_threads, Monitor& monitor,
                  const std::function<void(std::size_t item, int worker)>& work);

// For tests: the worker that starts after so many others (calling threads are not counted) fails as
// if for lack of memory, or with std::runtime_error. Negative: none does.
enum class Fault { kMemory, kError };
void fail_in_worker(Fault fault, int after);

}  // namespace cqrf
