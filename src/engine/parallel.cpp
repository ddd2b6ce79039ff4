#include "parallel.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <vector>

namespace cqrf {

void parallel_for(std::size_t n_items, int n_threads, Monitor& monitor,
                  const std::function<void(std::size_t, int)>& work) {
  const int workers = static_cast<int>(
      std::min<std::size_t>(std::max(1, n_threads), std::max<std::size_t>(1, n_items)));
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::condition_variable finished;
  std::exception_ptr error;
  int running = 0;

  const auto run = [&](int worker) {
    try {
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

  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(workers - 1));
  try {
    for (int worker = 1; worker < workers; ++worker) {
      {
        const std::lock_guard lock(mutex);
        ++running;
      }
      threads.emplace_back([&, worker] {
        run(worker);
        const std::lock_guard lock(mutex);
        --running;
        finished.notify_one();
      });
    }
  } catch (const std::system_error&) {
    // The system gives no more threads: those that started, and this one, do the work.
    const std::lock_guard lock(mutex);
    --running;
  }

  run(0);
  {
    std::unique_lock lock(mutex);
    while (!finished.wait_for(lock, Monitor::kInterval, [&] { return running == 0; })) {
      lock.unlock();
      monitor.stopped();
      lock.lock();
    }
  }
  for (auto& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
  if (monitor.stopped()) throw Stopped{};
}

}  // namespace cqrf
