/*
 * pinned_staging.cc - pieces of pinned memory between the host's threads and a GPU.
 *
 * Owns the pieces. Called by sorts and by what builds join tables, which wait for the stream before this
 * goes.
 */
#include "engine/device/cuda/memory/pinned_staging.h"

#include <algorithm>
#include <thread>

#include "engine/memory/alignment.h"

namespace turbine::cuda {
namespace {

/* Threads that fill or empty pinned memory; each has two pieces of it. Pieces of 64 K words make copies of
 * 256 kB, which the bus moves at nearly its best. */
constexpr unsigned kMostStagers = 16;
constexpr uint64_t kMostPieceItems = 64 << 10;
constexpr uint64_t kLeastPieceItems = 8 << 10;
constexpr uint64_t kPiecesPerStager = 4;

/* A copy takes some 10 us; one that takes longer waits for others. */
constexpr int kLooksBeforeSleep = 100;
constexpr std::chrono::microseconds kSleep{20};

}  // namespace

PinnedStaging::PinnedStaging(CudaContext& context, const Driver& driver, Stream stream, uint64_t count,
                             uint64_t item_bytes, ParallelWork& work)
    : context_(context), driver_(driver), stream_(stream), count_(count), work_(work) {
  threads_ = std::min(kMostStagers, work.threads());
  piece_items_ = std::clamp(count / (threads_ * kPiecesPerStager) + 1, kLeastPieceItems, kMostPieceItems);
  threads_ = std::clamp<uint64_t>((count + piece_items_ - 1) / piece_items_, 1, threads_);
  const uint64_t piece_bytes = device_aligned(piece_items_ * item_bytes);
  memory_ = context.pinned_memory().allocate(driver, 2 * threads_ * piece_bytes, nullptr);
  for (uint64_t i = 0; i < 2 * threads_; i++) pieces_.emplace_back(driver, memory_.host() + i * piece_bytes);
}

void PinnedStaging::each_thread(const std::function<void(uint64_t)>& job) {
  next_ = 0;
  work_.each(threads_, [&](uint64_t thread) {
    context_.enter(driver_);
    job(thread);
  });
}

bool PinnedStaging::next(uint64_t& first) {
  work_.check();
  first = next_.fetch_add(piece_items_, std::memory_order_relaxed);
  return first < count_;
}

void PinnedStaging::wait(Piece& piece) {
  for (int looks = 0; piece.in_flight && !piece.copied.reached(); looks++) {
    work_.check();
    if (looks < kLooksBeforeSleep)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(kSleep);
  }
  piece.in_flight = false;
}

}  // namespace turbine::cuda
