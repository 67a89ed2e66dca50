// SPDX-License-Identifier: Apache-2.0

#include "parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace ccbench {

void for_each_task(std::size_t tasks, unsigned threads,
                   const std::function<void(std::size_t, unsigned)>& task,
                   const std::function<void()>& poll) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPollInterval = std::chrono::milliseconds(50);

  std::atomic<std::size_t> next{0};
  std::atomic<bool> stopped{false};
  std::mutex mutex;
  std::exception_ptr error;

  const auto work = [&](unsigned thread) {
    auto polled = Clock::now();
    try {
      while (!stopped.load(std::memory_order_relaxed)) {
        const std::size_t number = next.fetch_add(1, std::memory_order_relaxed);
        if (number >= tasks) return;
        task(number, thread);
        if (thread == 0 && Clock::now() - polled > kPollInterval) {
          poll();
          polled = Clock::now();
        }
      }
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!error) error = std::current_exception();
      stopped.store(true, std::memory_order_relaxed);
    }
  };

  std::vector<std::thread> others;
  const std::size_t useful = std::min<std::size_t>(threads, tasks);
  try {
    for (std::size_t thread = 1; thread < useful; ++thread) {
      others.emplace_back(work, static_cast<unsigned>(thread));
    }
  } catch (const std::system_error&) {
    // The system's thread limit is reached: the existing threads do all the work.
  }
  work(0);
  for (std::thread& other : others) other.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace ccbench
