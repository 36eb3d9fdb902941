/*
 * decode_queue.cc - see decode_queue.h.
 *
 * Owns the chunks that wait and the memory that is lent for decoding. Called by host_query.cc,
 * from the session's thread and from those of the pool. No callback is called under the lock.
 */
#include "engine/device/host/decode_queue.h"

#include <algorithm>
#include <utility>

namespace turbine {

/* Counts as lent from here on. */
std::unique_ptr<DecodedChunk> DecodeQueue::take_locked() {
  std::unique_ptr<DecodedChunk> chunk;
  if (idle_.empty()) {
    chunk = std::make_unique<DecodedChunk>();
  } else {
    chunk = std::move(idle_.back());
    idle_.pop_back();
  }
  lent_++;
  return chunk;
}

std::shared_ptr<DecodedChunk> DecodeQueue::lend(std::unique_ptr<DecodedChunk> chunk) {
  return {chunk.release(), [this](DecodedChunk* back) { take_back(back); }};
}

/* The chunk comes back also if this throws. */
void DecodeQueue::run(Job job, std::unique_ptr<DecodedChunk> chunk) {
  pool_.post([job = std::move(job), chunk = lend(std::move(chunk))](unsigned worker) mutable {
    job(worker, std::move(chunk));
  });
}

bool DecodeQueue::post(const void* owner, Job job) {
  std::unique_ptr<DecodedChunk> chunk;
  {
    std::lock_guard lock(mutex_);
    if (lent_ >= most_) return false;
    // A thread that is about to sleep has been counted before it looks at waiting_.
    if (lent_ >= usual_ && pool_.idle() == 0) {
      waiting_.push_back({owner, std::move(job), std::chrono::steady_clock::now()});
      return true;
    }
    chunk = take_locked();
  }
  run(std::move(job), std::move(chunk));
  return true;
}

void DecodeQueue::drop(const void* owner) {
  std::vector<Job> dropped;
  {
    std::lock_guard lock(mutex_);
    for (Waiting& waiting : waiting_)
      if (waiting.owner == owner) dropped.push_back(std::move(waiting.job));
    std::erase_if(waiting_, [owner](const Waiting& waiting) { return waiting.owner == owner; });
  }
  for (const Job& job : dropped) job(0, nullptr);
}

bool DecodeQueue::start_waiting() {
  Job job;
  std::unique_ptr<DecodedChunk> chunk;
  {
    std::lock_guard lock(mutex_);
    if (waiting_.empty()) return false;
    if (lent_ < most_) chunk = take_locked();
    job = std::move(waiting_.front().job);
    waiting_.pop_front();
  }
  if (chunk)
    run(std::move(job), std::move(chunk));
  else
    pool_.post([job = std::move(job)](unsigned worker) { job(worker, nullptr); });
  return true;
}

void DecodeQueue::start_overdue() {
  {
    std::lock_guard lock(mutex_);
    if (waiting_.empty() || std::chrono::steady_clock::now() - waiting_.front().since < kOverdue) return;
  }
  start_waiting();
}

/* To the chunk that has waited longest, unless more are lent than usual: then that
 * waits until a thread has nothing else to do. */
void DecodeQueue::take_back(DecodedChunk* back) {
  std::unique_ptr<DecodedChunk> chunk(back);
  chunk->clear();
  Job job;
  {
    std::lock_guard lock(mutex_);
    if (waiting_.empty() || lent_ > usual_) {
      lent_--;
      if (idle_.size() < usual_) idle_.push_back(std::move(chunk));
      return;
    }
    job = std::move(waiting_.front().job);
    waiting_.pop_front();
  }
  run(std::move(job), std::move(chunk));
}

size_t DecodeQueue::waiting(const void* owner) const {
  std::lock_guard lock(mutex_);
  return static_cast<size_t>(std::count_if(waiting_.begin(), waiting_.end(),
                                           [owner](const Waiting& waiting) { return waiting.owner == owner; }));
}

size_t DecodeQueue::lent() const {
  std::lock_guard lock(mutex_);
  return lent_;
}

}  // namespace turbine
