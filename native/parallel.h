// SPDX-License-Identifier: Apache-2.0
//
// Independent tasks on several threads.

#pragma once

#include <cstddef>
#include <functional>

namespace ccbench {

// Carries out tasks 0 to `tasks` - 1, roughly in that order, on `threads` threads of which the
// caller's is one. `task` gets the number of the task and that of the thread, so that each thread
// can have memory of its own. What a task throws, the caller gets once all threads have stopped.
//
// `poll` is called on the caller's thread several times a second, as long as tasks are short; when
// it throws, no further task is begun.
void for_each_task(std::size_t tasks, unsigned threads,
                   const std::function<void(std::size_t task, unsigned thread)>& task,
                   const std::function<void()>& poll);

}  // namespace ccbench
