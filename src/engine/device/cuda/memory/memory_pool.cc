/*
 * memory_pool.cc - lends blocks of device and pinned memory, and keeps them between
 * queries.
 *
 * Owns every block that the driver gave. Any thread; it must never lend beyond its
 * budget.
 */
#include "engine/device/cuda/memory/memory_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace turbine::cuda {

namespace {

constexpr uint64_t kSmallestBlock = 512;
constexpr uint64_t kStepsFrom = 4096;
/* What the driver has free: asking takes as long as a small query may. */
constexpr std::chrono::milliseconds kFreeIsKnown{20};

[[noreturn]] void throw_no_memory(const char* what, uint64_t bytes) {
  throw DeviceError(TB_FALLBACK_DEVICE_MEMORY, std::string(what) + " (" + std::to_string(bytes) + " bytes)");
}

}  // namespace

bool MemoryAccount::charge(uint64_t bytes) {
  uint64_t used = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_ || used > limit_ - bytes) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

Block& Block::operator=(Block&& other) noexcept {
  if (this == &other) return *this;
  reset();
  pool_ = std::exchange(other.pool_, nullptr);
  account_ = std::exchange(other.account_, nullptr);
  address_ = std::exchange(other.address_, 0);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

void Block::reset() noexcept {
  if (!pool_) return;
  pool_->give_back(address_, size_);
  if (account_) account_->refund(size_);
  pool_ = nullptr;
  account_ = nullptr;
  address_ = size_ = 0;
}

MemoryPool::MemoryPool(Kind kind, const Driver& driver, Context context, uint64_t budget, uint64_t max_cached)
    : kind_(kind), driver_(driver), context_(context), budget_(budget), max_cached_(max_cached) {}

MemoryPool::~MemoryPool() {
  std::lock_guard lock(mutex_);
  trim(0);
}

uint64_t MemoryPool::rounded(uint64_t bytes) {
  if (bytes <= kSmallestBlock) return kSmallestBlock;
  if (bytes <= kStepsFrom) return std::bit_ceil(bytes);
  if (bytes > (uint64_t{1} << 62)) return bytes;  // no such memory; must not wrap around
  const uint64_t step = std::bit_floor(bytes - 1) / 4;
  return (bytes + step - 1) / step * step;
}

uint64_t MemoryPool::used() const {
  std::lock_guard lock(mutex_);
  return lent_;
}

/* How much is free, as of a moment ago; false: the driver cannot tell. */
bool MemoryPool::ask_driver() {
  const auto now = std::chrono::steady_clock::now();
  if (now - asked_driver_ <= kFreeIsKnown) return true;
  size_t free = 0, total = 0;
  if (driver_.mem_get_info(&free, &total).result != kSuccess) return false;
  driver_free_ = free;
  asked_driver_ = now;
  return true;
}

bool MemoryPool::can_give(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (cached_ >= bytes) return true;
  if (!ask_driver()) return true;  // the query finds out
  return driver_free_ + cached_ >= bytes;
}

/* What was said a moment ago does not fit what is lent by now. */
void MemoryPool::raise_budget() {
  std::lock_guard lock(mutex_);
  const auto before = asked_driver_;
  if (!ask_driver() || asked_driver_ == before) return;
  const uint64_t share = (driver_free_ + cached_ + lent_) / 100 * kShareOfFree;
  budget_ = std::max(budget(), share);
}

Block MemoryPool::allocate(const Driver& driver, uint64_t bytes, MemoryAccount* account) {
  const uint64_t size = rounded(bytes);
  if (account && !account->charge(size)) throw_no_memory("the query's device memory limit is reached", size);

  uint64_t address = 0;
  try {
    std::lock_guard lock(mutex_);
    const uint64_t budget = budget_;
    if (size > budget || lent_ > budget - size) throw_no_memory("the device's memory budget is used up", size);
    FreeBlocks& found = free_[size];
    found.last_asked = ++asked_;
    if (!found.addresses.empty()) {
      address = found.addresses.back();
      found.addresses.pop_back();
      cached_ -= size;
    } else {
      if (lent_ + cached_ + size > budget) trim(budget - lent_ - size);
      CallResult call = take(driver, size, &address);
      if (call.result == kOutOfMemory && cached_ > 0) {
        trim(0);
        call = take(driver, size, &address);
      }
      driver.check(call);
    }
    lent_ += size;
  } catch (...) {
    if (account) account->refund(size);
    throw;
  }
  Block block;
  block.pool_ = this;
  block.account_ = account;
  block.address_ = address;
  block.size_ = size;
  return block;
}

CallResult MemoryPool::take(const Driver& driver, uint64_t size, uint64_t* address) {
  if (kind_ == Kind::DEVICE) return driver.mem_alloc(address, static_cast<size_t>(size));
  void* pointer = nullptr;
  const NumaBinding::MemoryScope scope(numa_);
  const CallResult call = driver.mem_host_alloc(&pointer, static_cast<size_t>(size), kHostAllocPortable);
  *address = reinterpret_cast<uint64_t>(pointer);
  return call;
}

void MemoryPool::give_back(uint64_t address, uint64_t size) noexcept {
  std::lock_guard lock(mutex_);
  lent_ -= size;
  cached_ += size;
  try {
    free_[size].addresses.push_back(address);
  } catch (const std::bad_alloc&) {
    cached_ -= size;
    driver_.note(driver_.ctx_set_current(context_));
    driver_.note(kind_ == Kind::DEVICE ? driver_.mem_free(address)
                                       : driver_.mem_free_host(reinterpret_cast<void*>(address)));
    return;
  }
  if (cached_ > max_cached_) trim(max_cached_);
}

void MemoryPool::release_unused() noexcept {
  std::lock_guard lock(mutex_);
  trim(0);
}

/* Those that nobody has asked for longest go first. By size they would be the largest: what a query of today takes and
 * gives back all the time, beside what one of yesterday has left. */
void MemoryPool::trim(uint64_t max_cached) noexcept {
  if (cached_ <= max_cached) return;
  driver_.note(driver_.ctx_set_current(context_));
  while (cached_ > max_cached) {
    auto oldest = free_.end();
    for (auto entry = free_.begin(); entry != free_.end(); ++entry)
      if (!entry->second.addresses.empty() &&
          (oldest == free_.end() || entry->second.last_asked < oldest->second.last_asked))
        oldest = entry;
    if (oldest == free_.end()) return;
    std::vector<uint64_t>& addresses = oldest->second.addresses;
    while (!addresses.empty() && cached_ > max_cached) {
      const uint64_t address = addresses.back();
      addresses.pop_back();
      cached_ -= oldest->first;
      driver_.note(kind_ == Kind::DEVICE ? driver_.mem_free(address)
                                         : driver_.mem_free_host(reinterpret_cast<void*>(address)));
    }
  }
}

}  // namespace turbine::cuda
