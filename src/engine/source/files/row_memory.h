/*
 * row_memory.h - memory for values that a query reads once, kept from one segment to the next.
 *
 * What the system gives anew costs more than to write it: a fault and zeros for each page. Blocks stay that
 * are too small for a later segment, so it may become a few times what was in use at once; it goes with its last user.
 * Any thread.
 */
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace turbine {

class RowMemory : public std::enable_shared_from_this<RowMemory> {
 public:
  RowMemory() = default;
  RowMemory(const RowMemory&) = delete;
  ~RowMemory() {
    for (const Block& block : idle_) free(block.memory);
  }

  /* So many bytes, on a page's alignment. Throws bad_alloc. */
  std::shared_ptr<uint8_t> take(uint64_t bytes) {
    Block block = take_idle(bytes);
    if (!block.memory) {
      block.bytes = (bytes + kPage - 1) / kPage * kPage;
      reserve_place();
      block.memory = static_cast<uint8_t*>(aligned_alloc(kPage, block.bytes));
      if (!block.memory) throw std::bad_alloc();
    }
    return {block.memory, [self = shared_from_this(), bytes = block.bytes](uint8_t* memory) {
              std::lock_guard lock(self->mutex_);
              self->idle_.push_back({memory, bytes});
            }};
  }

 private:
  static constexpr uint64_t kPage = 4096;
  struct Block {
    uint8_t* memory = nullptr;
    uint64_t bytes = 0;
  };

  /* Whoever gives a block back needs no memory. */
  void reserve_place() {
    std::lock_guard lock(mutex_);
    idle_.reserve(++blocks_);
  }

  /* The one that was in use last, and is warm. Without memory: none is large enough. */
  Block take_idle(uint64_t bytes) {
    std::lock_guard lock(mutex_);
    for (size_t i = idle_.size(); i-- > 0;) {
      if (idle_[i].bytes < bytes) continue;
      const Block block = idle_[i];
      idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
      return block;
    }
    return {};
  }

  std::mutex mutex_;
  std::vector<Block> idle_;
  size_t blocks_ = 0;  // idle or in use
};

}  // namespace turbine
