/*
 * column_upload.cc - see column_upload.h.
 *
 * Called by segment_batch.cc. Must not write to a half of the ring that is still crossing.
 */
#include "engine/device/cuda/segments/column_upload.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace turbine::cuda {
namespace {

constexpr auto kLook = std::chrono::microseconds(20);

}  // namespace

/* The bus is what is waited for: half of the ring takes it a third of a millisecond. */
void ColumnUpload::wait_for_half(size_t half) {
  if (!under_way_[half]) return;
  while (!crossed_[half]->reached()) std::this_thread::sleep_for(kLook);
  under_way_[half] = false;
}

void ColumnUpload::copy(std::span<const Piece> pieces, Stream stream) {
  if (pieces.empty()) return;
  if (!ring_) ring_ = context_.pinned_memory().allocate(driver_, 2 * kHalf * kMostPiece, nullptr);
  for (auto& event : crossed_)
    if (!event) event.emplace(driver_);
  while (!pieces.empty()) {
    const size_t half = next_half_;
    next_half_ = 1 - next_half_;
    const auto now = pieces.first(std::min(kHalf, pieces.size()));
    pieces = pieces.subspan(now.size());
    uint8_t* const memory = ring_.host() + half * kHalf * kMostPiece;
    uint64_t offsets[kHalf + 1] = {};
    for (size_t i = 0; i < now.size(); i++) offsets[i + 1] = offsets[i] + now[i].size;
    wait_for_half(half);
    threads_.run_all(now.size(), [&](uint64_t i) { now[i].collect(memory + offsets[i]); });
    under_way_[half] = true;
    // Pieces that follow one another there too are one copy.
    for (size_t i = 0, end; i < now.size(); i = end) {
      for (end = i + 1; end < now.size() && now[end].to == now[end - 1].to + now[end - 1].size;) end++;
      driver_.check(driver_.memcpy_htod_async(now[i].to, memory + offsets[i], offsets[end] - offsets[i], stream));
    }
    crossed_[half]->record(stream);
  }
}

}  // namespace turbine::cuda
