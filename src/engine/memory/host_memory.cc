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
#include <cstring>
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

void* map(uint64_t size, int protection) { return mmap(nullptr, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

/* Hash tables are read at random: huge pages save most of their TLB misses. They begin at multiples of their size,
 * so that a mapping that does not would lose up to two. */
uint8_t* trim_to_alignment(uint8_t* data, uint64_t size) {
  const uint64_t before = (kHugePage - reinterpret_cast<uintptr_t>(data) % kHugePage) % kHugePage;
  if (before > 0) munmap(data, before);
  if (before < kHugePage) munmap(data + before + size, kHugePage - before);
  return data + before;
}

/* Null: there is no memory. */
uint8_t* map_zeros(uint64_t size) {
  const bool huge = size >= kHugePage;
  void* data = map(huge ? size + kHugePage : size, PROT_READ | PROT_WRITE);
  if (data == MAP_FAILED) return nullptr;
  if (!huge) return static_cast<uint8_t*>(data);
  uint8_t* aligned = trim_to_alignment(static_cast<uint8_t*>(data), size);
  madvise(aligned, size, MADV_HUGEPAGE);
  return aligned;
}

/* Where `size` bytes may be moved to: nothing that has to be kept is mapped there. Null: nowhere. */
uint8_t* find_place(uint64_t size) {
  void* data = map(size + kHugePage, PROT_NONE);
  return data == MAP_FAILED ? nullptr : trim_to_alignment(static_cast<uint8_t*>(data), size);
}

}  // namespace

void MemoryBudget::reserve(uint64_t bytes) {
  const uint64_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
  if (bytes <= limit_ && before <= limit_ - bytes) return;
  release(bytes);
  out_of_memory(bytes);
}

uint64_t HostBuffer::charged(uint64_t size) { return page_rounded(size); }

HostBuffer::HostBuffer(MemoryBudget& budget, uint64_t size, HostContents contents)
    : budget_(&budget), size_(page_rounded(size)), contents_(contents) {
  budget_->reserve(size_);
  IdleMappings::Mapping mapping;
  if (contents_ == HostContents::kAnything && budget_->idle()) mapping = budget_->idle()->take(size_);
  if (!mapping.data) mapping = {map_zeros(size_), size_};
  if (!mapping.data) {
    budget_->release(size_);
    out_of_memory(size_);
  }
  data_ = mapping.data;
  mapped_ = mapping.size;
}

HostBuffer::~HostBuffer() {
  if (data_ == nullptr) return;
  replace_by({});
  budget_->release(size_);
}

HostBuffer::HostBuffer(HostBuffer&& other) noexcept
    : budget_(other.budget_),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, 0)),
      contents_(other.contents_) {}

HostBuffer& HostBuffer::operator=(HostBuffer&& other) noexcept {
  std::swap(budget_, other.budget_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  std::swap(contents_, other.contents_);
  return *this;
}

void HostBuffer::replace_by(IdleMappings::Mapping mapping) {
  if (budget_->idle())
    budget_->idle()->give_back({data_, mapped_});
  else
    munmap(data_, mapped_);
  data_ = mapping.data;
  mapped_ = mapping.size;
}

void HostBuffer::grow(uint64_t size) {
  size = page_rounded(size);
  if (size <= size_) return;
  budget_->reserve(size - size_);
  // A copy costs less than the faults of new pages.
  IdleMappings::Mapping other;
  if (contents_ == HostContents::kAnything && budget_->idle()) other = budget_->idle()->take(size);
  if (other.data) {
    memcpy(other.data, data_, size_);
    replace_by(other);
  } else {
    try {
      remap(size);
    } catch (...) {
      budget_->release(size - size_);
      throw;
    }
  }
  size_ = size;
}

/* Keeps the pages, and adds new ones. */
void HostBuffer::remap(uint64_t size) {
  if (size <= mapped_) return;
  uint8_t* place = size >= kHugePage ? find_place(size) : nullptr;
  void* data = place ? mremap(data_, mapped_, size, MREMAP_MAYMOVE | MREMAP_FIXED, place)
                     : mremap(data_, mapped_, size, MREMAP_MAYMOVE);
  if (data == MAP_FAILED) {
    if (place) munmap(place, size);
    out_of_memory(size - size_);
  }
  data_ = static_cast<uint8_t*>(data);
  mapped_ = size;
  if (size >= kHugePage) madvise(data_, size, MADV_HUGEPAGE);
}

void HostBuffer::shrink(uint64_t size) {
  size = page_rounded(size);
  if (size >= size_ || munmap(data_ + size, mapped_ - size) != 0) return;
  budget_->release(size_ - size);
  size_ = mapped_ = size;
}

void HostBuffer::charge_to(MemoryBudget& budget) {
  budget.reserve(size_);
  budget_->release(size_);
  budget_ = &budget;
}

}  // namespace turbine
