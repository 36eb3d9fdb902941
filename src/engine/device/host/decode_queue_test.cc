/*
 * Chunks wait for others to come back, unless a thread has nothing to do; what is
 * dropped ends at once.
 */
#include "engine/device/host/decode_queue.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <thread>

namespace turbine {
namespace {

constexpr size_t kUsual = 3, kMost = 8;

class DecodeQueueTest : public ::testing::Test {
 protected:
  void TearDown() override { held_.clear(); }  // the queue outlives what it lends

  /* Jobs that note their chunk. */
  DecodeQueue::Job note() {
    return [this](unsigned, std::shared_ptr<DecodedChunk> chunk) {
      std::lock_guard lock(mutex_);
      run_++;
      if (chunk)
        held_.push_back(std::move(chunk));
      else
        dropped_++;
      changed_.notify_all();
    };
  }
  void wait_run(size_t count) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, std::chrono::seconds(20), [&] { return run_ >= count; }));
  }
  size_t run() {
    std::lock_guard lock(mutex_);
    return run_;
  }
  /* The pool's only thread does nothing else until released. */
  void occupy() {
    std::promise<void> begun;
    pool_.post([this, &begun](unsigned) {
      begun.set_value();
      release_.get_future().wait();
    });
    begun.get_future().wait();
  }

  int one_ = 0, other_ = 0;  // owners
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t run_ = 0, dropped_ = 0;
  std::vector<std::shared_ptr<DecodedChunk>> held_;
  std::promise<void> release_;
  DecodeQueue queue_{pool_, kUsual, kMost};
  WorkerPool pool_{"test", 1, [this] { return queue_.start_waiting(); }};
};

TEST_F(DecodeQueueTest, ABusyPoolBeginsNoMoreThanUsual) {
  occupy();
  for (size_t i = 0; i < kUsual + 2; i++) EXPECT_TRUE(queue_.post(&one_, note()));
  EXPECT_EQ(queue_.lent(), kUsual);
  release_.set_value();
  wait_run(kUsual + 2);  // the thread has nothing else to do
  EXPECT_EQ(queue_.lent(), kUsual + 2);
}

TEST_F(DecodeQueueTest, AChunkThatComesBackGoesToTheNext) {
  for (size_t i = 0; i < kUsual; i++) EXPECT_TRUE(queue_.post(&one_, note()));
  wait_run(kUsual);
  occupy();
  EXPECT_TRUE(queue_.post(&other_, note()));
  EXPECT_EQ(queue_.waiting(&other_), 1u);
  EXPECT_EQ(queue_.waiting(&one_), 0u);
  held_.pop_back();  // the thread has other things to do, and yet the next has its chunk
  EXPECT_EQ(queue_.waiting(&other_), 0u);
  EXPECT_EQ(queue_.lent(), kUsual);
  release_.set_value();
  wait_run(kUsual + 1);
  EXPECT_EQ(dropped_, 0u);
  EXPECT_TRUE(held_.back()->batches().empty());
}

/* Cursors hold what is usual, and other work keeps the threads busy. */
TEST_F(DecodeQueueTest, WhatIsOverdueStartsWhileThreadsAreBusy) {
  for (size_t i = 0; i < kUsual; i++) EXPECT_TRUE(queue_.post(&one_, note()));
  wait_run(kUsual);
  occupy();
  EXPECT_TRUE(queue_.post(&other_, note()));
  EXPECT_EQ(queue_.waiting(&other_), 1u);
  std::this_thread::sleep_for(2 * DecodeQueue::kOverdue);
  queue_.start_overdue();
  EXPECT_EQ(queue_.waiting(&other_), 0u);
  release_.set_value();
  wait_run(kUsual + 1);
  EXPECT_EQ(dropped_, 0u);
}

TEST_F(DecodeQueueTest, IdleThreadsBeginMoreUpToALimit) {
  size_t begun = 0;
  while (begun < 10 * kMost && queue_.post(&one_, note())) {
    begun++;
    wait_run(begun);
  }
  EXPECT_EQ(begun, kMost);
  held_.clear();
  EXPECT_EQ(queue_.lent(), 0u);
  EXPECT_TRUE(queue_.post(&one_, note()));
  wait_run(begun + 1);
}

/* Cursors that are left open may hold all that may be lent, for as long as they like. */
TEST_F(DecodeQueueTest, NothingWaitsWhileThreadsSleep) {
  occupy();
  for (size_t i = 0; i < kMost + 5; i++) EXPECT_TRUE(queue_.post(&one_, note()));
  release_.set_value();
  wait_run(kMost + 5);
  EXPECT_EQ(held_.size(), kMost);
  EXPECT_EQ(dropped_, 5u);
  EXPECT_FALSE(queue_.post(&one_, note()));
}

TEST_F(DecodeQueueTest, WhatIsDroppedEndsAtOnce) {
  occupy();
  for (size_t i = 0; i < kUsual; i++) EXPECT_TRUE(queue_.post(&other_, note()));
  EXPECT_TRUE(queue_.post(&one_, note()));
  EXPECT_TRUE(queue_.post(&other_, note()));
  EXPECT_TRUE(queue_.post(&one_, note()));
  queue_.drop(&one_);
  EXPECT_EQ(run(), 2u);
  EXPECT_EQ(dropped_, 2u);
  release_.set_value();
  wait_run(kUsual + 3);
  EXPECT_EQ(dropped_, 2u);
}

}  // namespace
}  // namespace turbine
