// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "../parallel.h"
#include "bounds.h"
#include "lanes.h"
#include "search.h"

namespace ccbench::dtw {
namespace {

// Distance of a reference, or its lower bound, and the reference's index, which breaks ties.
using Candidate = std::pair<float, std::size_t>;

// The k nearest references so far, shared by several threads.
class Best {
 public:
  explicit Best(std::size_t k) : k_(k) {}

  // Distance above which a reference is not among the k nearest.
  float bound() const { return bound_.load(std::memory_order_relaxed); }

  void offer(const Candidate& candidate) {
    if (candidate.first > bound()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    nearest_.insert(std::upper_bound(nearest_.begin(), nearest_.end(), candidate), candidate);
    if (nearest_.size() > k_) nearest_.pop_back();
    if (nearest_.size() == k_) bound_.store(nearest_.back().first, std::memory_order_relaxed);
  }

  const std::vector<Candidate>& nearest() const { return nearest_; }

 private:
  std::size_t k_;
  std::mutex mutex_;
  std::vector<Candidate> nearest_;
  std::atomic<float> bound_{std::numeric_limits<float>::infinity()};
};

// Search for the neighbours of one query.
class Search {
 public:
  Search(const Series& query, const SeriesSet& references, std::size_t k, std::size_t window)
      : query_(query),
        references_(references),
        window_(window),
        envelope_(envelope(query, references.longest(), window)),
        candidates_(references.size),
        best_(k) {}

  void bound(std::size_t reference, const Envelope& envelope_of_reference) {
    const Series series = references_[reference];
    candidates_[reference] = {std::max(lower_bound(query_, series, envelope_of_reference),
                                       lower_bound(series, query_, envelope_)),
                              reference};
  }

  // Sorts candidates by lower bound, so that near references tighten the limit early.
  void order() { std::sort(candidates_.begin(), candidates_.end()); }

  // Compares the query with up to `kernel.lanes` candidates, starting at `first`.
  void compare(std::size_t first, const Kernel& kernel, float* row) {
    const float limit = best_.bound();
    std::vector<Series> members;
    for (std::size_t c = first; c < candidates_.size() && members.size() < kernel.lanes; ++c) {
      if (candidates_[c].first > limit) break;
      members.push_back(references_[candidates_[c].second]);
    }
    if (members.empty()) return;
    const Lanes lanes(kernel, std::move(members));
    if (!kernel.run(query_.values, query_.length, lanes.values(), lanes.length(), window_, limit,
                    row)) {
      return;
    }
    for (std::size_t lane = 0; lane < lanes.count(); ++lane) {
      best_.offer({lanes.distance(lane, row), candidates_[first + lane].second});
    }
  }

  const std::vector<Candidate>& neighbours() const { return best_.nearest(); }

 private:
  Series query_;
  const SeriesSet& references_;
  std::size_t window_;
  Envelope envelope_;
  std::vector<Candidate> candidates_;
  Best best_;
};

}  // namespace

void nearest(const SeriesSet& queries, const SeriesSet& references, std::size_t k,
             std::size_t window, const Execution& execution, float* distances,
             std::int64_t* indices) {
  // Queries per batch: enough to occupy many threads, within limited memory.
  constexpr std::size_t kBatch = 256;

  std::vector<Envelope> envelopes(references.size);
  for_each_task(
      references.size, execution.threads,
      [&](std::size_t reference, unsigned) {
        envelopes[reference] = envelope(references[reference], queries.longest(), window);
      },
      execution.poll);
  const Kernel& kernel = execution.kernel;
  std::vector<AlignedFloats> rows;
  for (unsigned thread = 0; thread < execution.threads; ++thread) {
    rows.emplace_back(references.longest() * kernel.lanes);
  }
  const std::size_t groups = (references.size + kernel.lanes - 1) / kernel.lanes;

  for (std::size_t first = 0; first < queries.size; first += kBatch) {
    const std::size_t count = std::min(kBatch, queries.size - first);
    std::vector<std::unique_ptr<Search>> searches(count);
    const auto in_parallel = [&](std::size_t tasks, const auto& task) {
      for_each_task(tasks, execution.threads, task, execution.poll);
    };
    in_parallel(count, [&](std::size_t q, unsigned) {
      searches[q] = std::make_unique<Search>(queries[first + q], references, k, window);
    });
    in_parallel(count * references.size, [&](std::size_t task, unsigned) {
      const std::size_t reference = task % references.size;
      searches[task / references.size]->bound(reference, envelopes[reference]);
    });
    in_parallel(count, [&](std::size_t q, unsigned) { searches[q]->order(); });
    // Groups of low lower bounds come first, for all queries, because their distances limit later
    // comparisons. Groups of the same query run concurrently only with more threads than queries.
    in_parallel(count * groups, [&](std::size_t task, unsigned thread) {
      const std::size_t group = task / count;
      searches[task % count]->compare(group * kernel.lanes, kernel, rows[thread].get());
    });
    for (std::size_t q = 0; q < count; ++q) {
      std::size_t at = (first + q) * k;
      for (const auto& [distance, index] : searches[q]->neighbours()) {
        distances[at] = distance;
        indices[at++] = static_cast<std::int64_t>(index);
      }
    }
  }
}

}  // namespace ccbench::dtw
