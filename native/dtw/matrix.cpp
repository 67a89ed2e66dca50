// SPDX-License-Identifier: Apache-2.0

#include <limits>
#include <numeric>
#include <vector>

#include "../parallel.h"
#include "lanes.h"
#include "search.h"

namespace ccbench::dtw {
namespace {

// Series in lanes and their indices in the set.
struct Group {
  Lanes lanes;
  std::vector<std::size_t> indices;
};

// Groups series of similar lengths, because a kernel's run time depends on the longest in a group.
std::vector<Group> group(const SeriesSet& series, const Kernel& kernel) {
  std::vector<std::size_t> order(series.size);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return series[a].length < series[b].length;
  });
  std::vector<Group> groups;
  for (std::size_t first = 0; first < order.size(); first += kernel.lanes) {
    const std::size_t last = std::min(first + kernel.lanes, order.size());
    std::vector<std::size_t> indices(order.begin() + first, order.begin() + last);
    std::vector<Series> members;
    for (const std::size_t i : indices) members.push_back(series[i]);
    groups.push_back({Lanes(kernel, std::move(members)), std::move(indices)});
  }
  return groups;
}

std::vector<AlignedFloats> rows(const Execution& execution, std::size_t length) {
  std::vector<AlignedFloats> result;
  for (unsigned thread = 0; thread < execution.threads; ++thread) {
    result.emplace_back(length * execution.kernel.lanes);
  }
  return result;
}

void compare(const Series& query, const Lanes& lanes, std::size_t window, const Kernel& kernel,
             float* row) {
  constexpr float kNoBound = std::numeric_limits<float>::infinity();
  kernel.run(query.values, query.length, lanes.values(), lanes.length(), window, kNoBound, row);
}

}  // namespace

void distances(const SeriesSet& queries, const SeriesSet& references, std::size_t window,
               const Execution& execution, float* out) {
  const std::vector<Group> groups = group(references, execution.kernel);
  const std::vector<AlignedFloats> memory = rows(execution, references.longest());
  // Each group is compared with all queries before the next, so that it stays in the cache.
  for_each_task(
      groups.size() * queries.size, execution.threads,
      [&](std::size_t task, unsigned thread) {
        const Group& references_of_task = groups[task / queries.size];
        const std::size_t query = task % queries.size;
        float* row = memory[thread].get();
        compare(queries[query], references_of_task.lanes, window, execution.kernel, row);
        for (std::size_t lane = 0; lane < references_of_task.lanes.count(); ++lane) {
          const std::size_t reference = references_of_task.indices[lane];
          out[query * references.size + reference] = references_of_task.lanes.distance(lane, row);
        }
      },
      execution.poll);
}

void pairwise(const SeriesSet& series, std::size_t window, const Execution& execution, float* out) {
  const std::vector<Group> groups = group(series, execution.kernel);
  const std::vector<AlignedFloats> memory = rows(execution, series.longest());
  // Each group is compared with its own members and with those of earlier groups.
  struct Task {
    const Group* group;
    std::size_t i;
    bool is_member;
  };
  std::vector<Task> tasks;
  std::vector<std::size_t> before;
  for (const Group& next : groups) {
    for (const std::size_t i : before) tasks.push_back({&next, i, false});
    for (const std::size_t i : next.indices) tasks.push_back({&next, i, true});
    before.insert(before.end(), next.indices.begin(), next.indices.end());
  }
  for_each_task(
      tasks.size(), execution.threads,
      [&](std::size_t task, unsigned thread) {
        const auto [group, i, is_member] = tasks[task];
        float* row = memory[thread].get();
        compare(series[i], group->lanes, window, execution.kernel, row);
        for (std::size_t lane = 0; lane < group->lanes.count(); ++lane) {
          const std::size_t j = group->indices[lane];
          const float distance = group->lanes.distance(lane, row);
          out[i * series.size + j] = distance;
          if (!is_member) out[j * series.size + i] = distance;  // j's own task computes a member's
        }
      },
      execution.poll);
}

}  // namespace ccbench::dtw
