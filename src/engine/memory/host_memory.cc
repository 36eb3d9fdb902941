/*
 * host_memory.cc - budgets and growing buffers of the host device.
 *
 * Called by whatever grows on the host for a query, from any of its threads. A budget that is
 * spent throws before memory is taken; nothing here frees what others still use.
 */
#include "engine/memory/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "engine/wire/device_error.h"

namespace turbine {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kHugePage = 2u << 20;

uint64_t page_rounded(uint64_t size) { return (std::max<uint64_t>(size, 1) + kPage - 1) & ~(kPage - 1); }

[[noreturn]] void out_of_memory(uint64_t bytes) {
  throw DeviceError(TB_FALLBACK_HOST_MEMORY,
                    "query needs " + std::to_string(bytes >> 10) + " kB more than its memory budget");
}

/* Hash tables are read at random: huge pages save most of their TLB misses. */
void advise(uint8_t* data, uint64_t size) {
  if (size >= kHugePage) madvise(data, size, MADV_HUGEPAGE);
}

}  // namespace

void MemoryBudget::reserve(uint64_t bytes) {
  const uint64_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
  if (bytes <= limit_ && before <= limit_ - bytes) return;
  release(bytes);
  out_of_memory(bytes);
}

uint64_t HostBuffer::charged(uint64_t size) { return page_rounded(size); }

HostBuffer::HostBuffer(MemoryBudget& budget, uint64_t size) : budget_(&budget), size_(page_rounded(size)) {
  budget_->reserve(size_);
  void* data = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    budget_->release(size_);
    out_of_memory(size_);
  }
  data_ = static_cast<uint8_t*>(data);
  advise(data_, size_);
}

HostBuffer::~HostBuffer() {
  if (data_ == nullptr) return;
  munmap(data_, size_);
  budget_->release(size_);
}

HostBuffer::HostBuffer(HostBuffer&& other) noexcept
    : budget_(other.budget_), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

HostBuffer& HostBuffer::operator=(HostBuffer&& other) noexcept {
  std::swap(budget_, other.budget_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void HostBuffer::grow(uint64_t size) {
  size = page_rounded(size);
  if (size <= size_) return;
  budget_->reserve(size - size_);
  void* data = mremap(data_, size_, size, MREMAP_MAYMOVE);
  if (data == MAP_FAILED) {
    budget_->release(size - size_);
    out_of_memory(size - size_);
  }
  data_ = static_cast<uint8_t*>(data);
  size_ = size;
  advise(data_, size_);
}

void HostBuffer::shrink(uint64_t size) {
  size = page_rounded(size);
  if (size >= size_ || munmap(data_ + size, size_ - size) != 0) return;
  budget_->release(size_ - size);
  size_ = size;
}

void HostBuffer::charge_to(MemoryBudget& budget) {
  budget.reserve(size_);
  budget_->release(size_);
  budget_ = &budget;
}

}  // namespace turbine
