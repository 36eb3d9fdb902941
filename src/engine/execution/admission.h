/*
 * admission.h - which queries may run: memory of the devices and of the host is granted before a query starts.
 *
 * A query states its needs once. It gets all of them, or waits for a bounded time, in order of arrival at its
 * device. While it waits it holds nothing, except the join tables that its connection has built (see
 * Claim::holds). Its grant is its limit, growth included, so a running query never competes for memory.
 *
 * Thread-safe.
 */
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <vector>

#include "engine/code/compiler_client.h"

namespace turbine {

class Admission {
 public:
  /* Budgets by device index; that of device 0 (the host) also bears the shared
   * slot memory of all devices. */
  explicit Admission(std::vector<uint64_t> budgets);

  struct Claim {
    uint32_t device;
    uint64_t device_bytes;  // on the device, to start with
    uint64_t shared_bytes;  // of host memory, for the slots
    bool grows;             // its state grows with the data: grant more than needed
    /* Its session holds memory already (tables), which those before it may be
     * waiting for: it neither queues behind them nor waits long. */
    bool holds = false;
    /* Besides: as much on each of these devices, none of them the host. All of it is granted, or nothing. */
    std::vector<uint32_t> others = {};
  };

  /* Gives its memory back when destroyed. Move-only. */
  class Grant {
   public:
    Grant() = default;
    Grant(Grant&& other) noexcept { *this = std::move(other); }
    Grant& operator=(Grant&& other) noexcept;
    ~Grant();
    uint64_t device_bytes() const { return device_bytes_; }  // needs and growth, on each device

    /* A part of the first device's memory, for what stays when the query is over. */
    Grant split(uint64_t device_bytes);

   private:
    friend class Admission;
    Admission* admission_ = nullptr;
    uint32_t device_ = 0;
    std::vector<uint32_t> others_;  // with as many bytes as they were granted
    uint64_t others_bytes_ = 0;     // of each
    uint64_t device_bytes_ = 0;
    uint64_t shared_bytes_ = 0;
    bool runs_ = false;  // counts as a query
  };

  /* Throws DeviceError: never possible (memory), or not in time (admission). */
  Grant admit(const Claim& claim, uint32_t wait_ms, const IsCancelled& cancelled);

  /* The device has got more memory than it had. */
  void raise_budget(uint32_t device, uint64_t budget);

  /* Memory of a device for what a query leaves behind, which is there already. Never waits. Throws DeviceError. */
  Grant reserve(uint32_t device, uint64_t bytes);

  struct Usage {
    uint64_t budget, used;
    uint32_t queries_running;
    uint64_t queries_total;
  };
  Usage usage(uint32_t device);

 private:
  struct Ledger {
    uint64_t budget;
    uint64_t used = 0;
    uint32_t running = 0;
    uint64_t total = 0;
    std::list<uint64_t> queue;  // tickets
    uint64_t free() const { return budget - used; }
  };

  void check_possible(const Claim& claim) const;
  bool fits(const Claim& claim) const;
  Grant take(const Claim& claim);
  void release(const Grant& grant);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Ledger> ledgers_;
  uint64_t next_ticket_ = 0;
};

}  // namespace turbine
