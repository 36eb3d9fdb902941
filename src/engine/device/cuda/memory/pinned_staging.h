/*
 * pinned_staging.h - pinned memory in pieces, which the host's threads fill or empty while other
 * pieces cross the bus.
 *
 * Each thread has two pieces in turn and makes its own driver calls, all on one stream.
 */
#pragma once

#include <deque>

#include "engine/device/cuda/cuda_context.h"
#include "engine/device/cuda/driver/stream.h"
#include "engine/threads/parallel_work.h"

namespace turbine::cuda {

class PinnedStaging {
 public:
  /* For `count` items of at most `item_bytes`. The context must be current. Throws DeviceError. */
  PinnedStaging(CudaContext& context, const Driver& driver, Stream stream, uint64_t count, uint64_t item_bytes,
                ParallelWork& work);

  /* Most items of a piece; room for so many is what a piece's memory has. */
  uint64_t piece_items() const { return piece_items_; }

  /* fill(first, n, memory) puts items there on a thread of the host, send(first, n, memory) starts their
   * copy. Returns when all copies have been started. Throws DeviceError. */
  template <class Fill, class Send>
  void send(Fill fill, Send send) {
    each_thread([&](uint64_t thread) {
      Piece* piece = &pieces_[2 * thread];
      Piece* other = piece + 1;
      for (uint64_t first; next(first); std::swap(piece, other)) {
        wait(*piece);
        fill(first, items_from(first), piece->memory);
        send(first, items_from(first), piece->memory);
        mark(*piece);
      }
    });
  }

  /* fetch(first, n, memory) starts a copy of items, take(first, n, memory) uses them on the same thread.
   * Returns when all have been taken. Throws DeviceError. */
  template <class Fetch, class Take>
  void fetch(Fetch fetch, Take take) {
    each_thread([&](uint64_t thread) {
      Piece* piece = &pieces_[2 * thread];
      Piece* other = piece + 1;
      bool waits = false;
      uint64_t first, before = 0;
      auto take_before = [&] {
        if (!waits) return;
        wait(*other);
        take(before, items_from(before), other->memory);
      };
      for (; next(first); std::swap(piece, other), before = first, waits = true) {
        wait(*piece);
        fetch(first, items_from(first), piece->memory);
        mark(*piece);
        take_before();
      }
      take_before();
    });
  }

 private:
  struct Piece {
    Piece(const Driver& driver, uint8_t* memory) : memory(memory), copied(driver) {}
    uint8_t* const memory;
    UniqueEvent copied;
    bool in_flight = false;
  };

  void each_thread(const std::function<void(uint64_t)>& job);
  bool next(uint64_t& first);
  uint64_t items_from(uint64_t first) const { return std::min(piece_items_, count_ - first); }
  void wait(Piece& piece);
  void mark(Piece& piece) {
    piece.copied.record(stream_);
    piece.in_flight = true;
  }

  CudaContext& context_;
  const Driver& driver_;
  const Stream stream_;
  const uint64_t count_;
  ParallelWork& work_;
  uint64_t threads_, piece_items_;
  Block memory_;
  std::deque<Piece> pieces_;  // two a thread
  std::atomic<uint64_t> next_{0};
};

}  // namespace turbine::cuda
