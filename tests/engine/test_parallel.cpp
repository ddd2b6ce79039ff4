#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.hpp"
#include "parallel.hpp"

using namespace cqrf;

TEST(parallel_does_every_item_once) {
  for (int n_threads = 0; n_threads <= 8; ++n_threads)
    for (const std::size_t n_items : {0, 1, 2, 7, 1000}) {
      Monitor monitor;
      std::vector<int> done(n_items, 0);
      std::atomic<bool> known_worker{true};
      parallel_for(n_items, n_threads, monitor, [&](std::size_t item, int worker) {
        ++done[item];
        if (worker < 0 || worker >= std::max(1, n_threads)) known_worker = false;
      });
      CHECK(known_worker);
      for (const int times : done) CHECK_EQ(times, 1);
    }
}

TEST(parallel_worker_owns_its_scratch) {
  // Not atomic: the thread sanitizer sees it when two threads share a worker number.
  std::array<std::size_t, 4> sum{};
  Monitor monitor;
  parallel_for(2000, 4, monitor, [&](std::size_t item, int worker) {
    sum[static_cast<std::size_t>(worker)] += item;
  });
  CHECK_EQ(sum[0] + sum[1] + sum[2] + sum[3], 2000u * 1999u / 2);
}

TEST(parallel_more_threads_than_items) {
  Monitor monitor;
  std::atomic<int> largest{0};
  std::atomic<int> done{0};
  parallel_for(3, 64, monitor, [&](std::size_t, int worker) {
    ++done;
    for (int seen = largest; worker > seen && !largest.compare_exchange_weak(seen, worker);) {
    }
  });
  CHECK_EQ(done.load(), 3);
  CHECK(largest < 3);
}

TEST(parallel_passes_exceptions_on) {
  for (int n_threads = 1; n_threads <= 8; ++n_threads) {
    Monitor monitor;
    std::atomic<int> running{0};
    const auto work = [&](std::size_t item, int) {
      ++running;
      if (item == 5) {
        --running;
        throw std::out_of_range("five");
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      --running;
    };
    CHECK_THROWS(parallel_for(200, n_threads, monitor, work), std::out_of_range);
    CHECK_EQ(running.load(), 0);
    CHECK(monitor.stopped());
  }
}

TEST(parallel_every_worker_may_throw) {
  Monitor monitor;
  CHECK_THROWS(
      parallel_for(100, 8, monitor, [](std::size_t, int) { throw std::runtime_error("all"); }),
      std::runtime_error);
}

TEST(parallel_poll_stops) {
  for (const int n_threads : {1, 2, 4}) {
    const auto owner = std::this_thread::get_id();
    std::atomic<bool> foreign{false};
    Monitor monitor([&] {
      if (std::this_thread::get_id() != owner) foreign = true;
      return true;
    });
    std::atomic<std::size_t> done{0};
    constexpr std::size_t kItems = 1'000'000;
    CHECK_THROWS(parallel_for(kItems, n_threads, monitor,
                              [&](std::size_t, int) {
                                ++done;
                                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                              }),
                 Stopped);
    CHECK(!foreign);
    CHECK(done < 10'000u);
  }
}

TEST(parallel_polls_while_it_waits_for_others) {
  // The calling thread has no item left; a worker goes on until it is told to stop.
  std::atomic<int> polls{0};
  Monitor monitor([&] { return ++polls >= 2; });
  const auto owner = std::this_thread::get_id();
  std::atomic<bool> helped{false};
  const auto work = [&](std::size_t, int) {
    if (std::this_thread::get_id() == owner) {
      while (!helped) std::this_thread::yield();
      return;
    }
    helped = true;
    while (!monitor.stopped()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  CHECK_THROWS(parallel_for(2, 2, monitor, work), Stopped);
  CHECK_EQ(polls.load(), 2);
}

TEST(parallel_stopped_before_it_starts) {
  Monitor monitor;
  monitor.stop();
  std::atomic<int> done{0};
  CHECK_THROWS(parallel_for(10, 2, monitor, [&](std::size_t, int) { ++done; }), Stopped);
  CHECK_EQ(done.load(), 0);
}

TEST(parallel_poll_that_says_no_changes_nothing) {
  std::atomic<int> polls{0};
  Monitor monitor([&] {
    ++polls;
    return false;
  });
  std::atomic<int> done{0};
  parallel_for(60, 2, monitor, [&](std::size_t, int) {
    ++done;
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
  });
  CHECK_EQ(done.load(), 60);
  CHECK(polls > 0);
  CHECK(!monitor.stopped());
}
