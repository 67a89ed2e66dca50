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

// A reference with its distance, or with a lower bound of it. Equal ones are ordered by index.
using Candidate = std::pair<float, std::size_t>;

// The k nearest references that have been found, by several threads.
class Best {
 public:
  explicit Best(std::size_t k) : k_(k) {}

  // What is farther away than this is not among the k.
  float bound() const { return bound_.load(std::memory_order_relaxed); }

  void offer(const Candidate& candidate) {
    if (candidate.first > bound()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    found_.insert(std::upper_bound(found_.begin(), found_.end(), candidate), candidate);
    if (found_.size() > k_) found_.pop_back();
    if (found_.size() == k_) bound_.store(found_.back().first, std::memory_order_relaxed);
  }

  const std::vector<Candidate>& found() const { return found_; }

 private:
  std::size_t k_;
  std::mutex mutex_;
  std::vector<Candidate> found_;
  std::atomic<float> bound_{std::numeric_limits<float>::infinity()};
};

// The search for the neighbours of one query.
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

  // Begins with the most promising, so that the others can be given up early.
  void order() { std::sort(candidates_.begin(), candidates_.end()); }

  // Compares the query with as many candidates as the kernel takes, from number `first`.
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

  const std::vector<Candidate>& found() const { return best_.found(); }

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
             std::size_t window, const Means& means, float* distances, std::int64_t* indices) {
  // Queries searched for at the same time: enough for many threads, few enough for memory.
  constexpr std::size_t kBatch = 256;

  std::vector<Envelope> envelopes(references.size);
  for_each_task(
      references.size, means.threads,
      [&](std::size_t reference, unsigned) {
        envelopes[reference] = envelope(references[reference], queries.longest(), window);
      },
      means.poll);
  std::vector<AlignedFloats> rows;
  for (unsigned thread = 0; thread < means.threads; ++thread) {
    rows.emplace_back(references.longest() * means.kernel.lanes);
  }
  const std::size_t groups = (references.size + means.kernel.lanes - 1) / means.kernel.lanes;

  for (std::size_t first = 0; first < queries.size; first += kBatch) {
    const std::size_t count = std::min(kBatch, queries.size - first);
    std::vector<std::unique_ptr<Search>> searches(count);
    const auto in_parallel = [&](std::size_t tasks, const auto& task) {
      for_each_task(tasks, means.threads, task, means.poll);
    };
    in_parallel(count, [&](std::size_t q, unsigned) {
      searches[q] = std::make_unique<Search>(queries[first + q], references, k, window);
    });
    in_parallel(count * references.size, [&](std::size_t task, unsigned) {
      const std::size_t reference = task % references.size;
      searches[task / references.size]->bound(reference, envelopes[reference]);
    });
    in_parallel(count, [&](std::size_t q, unsigned) { searches[q]->order(); });
    // The most promising references of every query first, and of one query at the same time only if
    // there are more threads than queries: what they find limits what comes later.
    in_parallel(count * groups, [&](std::size_t task, unsigned thread) {
      const std::size_t group = task / count;
      searches[task % count]->compare(group * means.kernel.lanes, means.kernel, rows[thread].get());
    });
    for (std::size_t q = 0; q < count; ++q) {
      std::size_t at = (first + q) * k;
      for (const auto& [distance, index] : searches[q]->found()) {
        distances[at] = distance;
        indices[at++] = static_cast<std::int64_t>(index);
      }
    }
  }
}

}  // namespace ccbench::dtw
