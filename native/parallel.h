// SPDX-License-Identifier: Apache-2.0
//
// Parallel execution of independent tasks.

#pragma once

#include <cstddef>
#include <functional>

namespace ccbench {

// Runs tasks 0 to `tasks` - 1, roughly in this order, on `threads` threads including the caller's.
// `task` receives the task number and the thread number, which can index memory per thread. The
// first exception of a task is rethrown in the caller after all threads have stopped.
//
// The caller's thread calls `poll` between tasks, several times a second if tasks are short. If
// `poll` throws, no further tasks start and the caller receives the exception.
void for_each_task(std::size_t tasks, unsigned threads,
                   const std::function<void(std::size_t task, unsigned thread)>& task,
                   const std::function<void()>& poll);

}  // namespace ccbench
