/*
 * admission.cc - who may run.
 *
 * Owns the sums of what has been granted, by device. Called by queries from their sessions'
 * threads, which may wait here, and only as long as they said. A session that holds a grant
 * must never wait for another.
 */
#include "engine/execution/admission.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/device/device.h"

namespace turbine {
namespace {

constexpr std::chrono::milliseconds kWaitCancelCheck{50};
constexpr uint32_t kHolderWaitMs = 100;

std::vector<uint32_t> devices_of(const Admission::Claim& claim) {
  std::vector<uint32_t> devices = claim.others;
  devices.insert(devices.begin(), claim.device);
  return devices;
}

TbFallback memory_reason(uint32_t device) {
  return device == TB_DEVICE_HOST ? TB_FALLBACK_HOST_MEMORY : TB_FALLBACK_DEVICE_MEMORY;
}

}  // namespace

Admission::Grant& Admission::Grant::operator=(Grant&& other) noexcept {
  std::swap(admission_, other.admission_);
  std::swap(device_, other.device_);
  std::swap(others_, other.others_);
  std::swap(others_bytes_, other.others_bytes_);
  std::swap(device_bytes_, other.device_bytes_);
  std::swap(shared_bytes_, other.shared_bytes_);
  std::swap(runs_, other.runs_);
  return *this;
}

Admission::Grant Admission::Grant::split(uint64_t device_bytes) {
  Grant part;
  part.admission_ = admission_;
  part.device_ = device_;
  part.device_bytes_ = std::min(device_bytes, device_bytes_);
  device_bytes_ -= part.device_bytes_;
  return part;
}

Admission::Grant::~Grant() {
  if (admission_) admission_->release(*this);
}

Admission::Admission(std::vector<uint64_t> budgets) {
  for (uint64_t budget : budgets) {
    ledgers_.emplace_back();
    ledgers_.back().budget = budget;
  }
}

void Admission::check_possible(const Claim& claim) const {
  const uint64_t on_host = claim.shared_bytes + (claim.device == TB_DEVICE_HOST ? claim.device_bytes : 0);
  for (const uint32_t device : devices_of(claim))
    if (claim.device_bytes > ledgers_[device].budget)
      throw DeviceError(memory_reason(device), "query needs more memory than the device's budget");
  if (on_host > ledgers_[TB_DEVICE_HOST].budget)
    throw DeviceError(TB_FALLBACK_HOST_MEMORY, "query needs more memory than the host's budget");
}

bool Admission::fits(const Claim& claim) const {
  const uint64_t on_host = claim.shared_bytes + (claim.device == TB_DEVICE_HOST ? claim.device_bytes : 0);
  const std::vector<uint32_t> devices = devices_of(claim);
  return on_host <= ledgers_[TB_DEVICE_HOST].free() &&
         std::all_of(devices.begin(), devices.end(),
                     [&](uint32_t device) { return claim.device_bytes <= ledgers_[device].free(); });
}

Admission::Grant Admission::take(const Claim& claim) {
  const std::vector<uint32_t> devices = devices_of(claim);
  ledgers_[TB_DEVICE_HOST].used += claim.shared_bytes;
  for (const uint32_t device : devices) ledgers_[device].used += claim.device_bytes;
  uint64_t bytes = claim.device_bytes;
  if (claim.grows) {
    // A query that is alone may use half of what is free, the second a quarter, the
    // next a sixth and so on: a few large ones get along, dozens of small ones too
    // (after 50, a thirteenth of what was free still is).
    // Of several devices, what each has room for.
    uint64_t extra = UINT64_MAX;
    for (const uint32_t device : devices) {
      const Ledger& ledger = ledgers_[device];
      extra = std::min(extra, ledger.free() / (2 * (uint64_t{ledger.running} + 1)));
    }
    for (const uint32_t device : devices) ledgers_[device].used += extra;
    bytes += extra;
  }
  for (const uint32_t device : devices) {
    ledgers_[device].running++;
    ledgers_[device].total++;
  }
  Grant grant;
  grant.admission_ = this;
  grant.device_ = claim.device;
  grant.others_ = claim.others;
  grant.others_bytes_ = bytes;
  grant.device_bytes_ = bytes;
  grant.shared_bytes_ = claim.shared_bytes;
  grant.runs_ = true;
  return grant;
}

void Admission::release(const Grant& grant) {
  {
    std::lock_guard lock(mutex_);
    ledgers_[TB_DEVICE_HOST].used -= grant.shared_bytes_;
    ledgers_[grant.device_].used -= grant.device_bytes_;
    for (const uint32_t device : grant.others_) ledgers_[device].used -= grant.others_bytes_;
    if (!grant.runs_) return changed_.notify_all();
    ledgers_[grant.device_].running--;
    for (const uint32_t device : grant.others_) ledgers_[device].running--;
  }
  changed_.notify_all();
}

Admission::Grant Admission::admit(const Claim& claim, uint32_t wait_ms, const IsCancelled& cancelled) {
  if (claim.holds) wait_ms = std::min(wait_ms, kHolderWaitMs);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  std::unique_lock lock(mutex_);
  check_possible(claim);
  // Its turn has come when it is the first at all of its devices. Tickets ascend in every queue, so the oldest always
  // is.
  const uint64_t ticket = next_ticket_++;
  const std::vector<uint32_t> devices = devices_of(claim);
  if (!claim.holds)
    for (const uint32_t device : devices) ledgers_[device].queue.push_back(ticket);
  auto leave = [&] {
    for (const uint32_t device : devices) ledgers_[device].queue.remove(ticket);
    changed_.notify_all();
  };
  auto has_turn = [&] {
    return claim.holds || std::all_of(devices.begin(), devices.end(),
                                      [&](uint32_t device) { return ledgers_[device].queue.front() == ticket; });
  };
  while (!has_turn() || !fits(claim)) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline) {
      leave();
      throw DeviceError(TB_FALLBACK_ADMISSION, "other queries hold the device's memory");
    }
    changed_.wait_until(lock, std::min(deadline, now + kWaitCancelCheck));
    if (!cancelled) continue;
    lock.unlock();
    const bool give_up = cancelled();
    lock.lock();
    if (give_up) {
      leave();
      throw DeviceError(TB_FALLBACK_NONE, "query was closed");
    }
  }
  Grant grant = take(claim);
  leave();
  return grant;
}

void Admission::raise_budget(uint32_t device, uint64_t budget) {
  {
    std::lock_guard lock(mutex_);
    if (budget <= ledgers_[device].budget) return;
    ledgers_[device].budget = budget;
  }
  changed_.notify_all();
}

Admission::Grant Admission::reserve(uint32_t device, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  Ledger& ledger = ledgers_[device];
  if (bytes > ledger.free()) throw DeviceError(TB_FALLBACK_ADMISSION, "other queries hold the device's memory");
  ledger.used += bytes;
  Grant grant;
  grant.admission_ = this;
  grant.device_ = device;
  grant.device_bytes_ = bytes;
  return grant;
}

Admission::Usage Admission::usage(uint32_t device) {
  std::lock_guard lock(mutex_);
  const Ledger& ledger = ledgers_[device];
  return {ledger.budget, ledger.used, ledger.running, ledger.total};
}

}  // namespace turbine
