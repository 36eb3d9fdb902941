/*
 * fake_gpus.h - several GPUs that a fake driver shows, for queries that run on all of them; for tests only.
 *
 * Checks when they go that they have given back all that they took.
 */
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/cuda/find_gpus.h"
#include "engine/device/cuda/testing/fake_driver.h"
#include "engine/device/query_fault.h"
#include "engine/device/split/split_device.h"

namespace turbine::cuda::testing {

/* A device whose queries have a fault (driver/fault.h), while those of others have none. */
class FaultyDevice final : public Device {
 public:
  FaultyDevice(Device& device, uint64_t fault) : device_(device), fault_(fault) {}
  TbDeviceInfo info() const override { return device_.info(); }
  TbTarget target() const override { return device_.target(); }
  std::string cpu() const override { return device_.cpu(); }
  std::string features() const override { return device_.features(); }
  ChunkShape chunk_shape(uint64_t nblocks, bool copied) const override { return device_.chunk_shape(nblocks, copied); }
  std::shared_ptr<LoadedCode> load(std::span<const uint8_t> artifact, const Program& program) override {
    return device_.load(artifact, program);
  }
  std::string machine_code(std::span<const uint8_t> artifact) override { return device_.machine_code(artifact); }
  void register_slot_memory(void* base, uint64_t size) override { device_.register_slot_memory(base, size); }
  void unregister_slot_memory(void* base) override { device_.unregister_slot_memory(base); }
  QueryNeeds needs(const Program& program, double estimated_rows, uint32_t slot_pages, uint32_t nslots) const override {
    return device_.needs(program, estimated_rows, slot_pages, nslots);
  }
  std::unique_ptr<DeviceQuery> start(std::shared_ptr<const Program> program, std::shared_ptr<const std::string> params,
                                     std::shared_ptr<LoadedCode> code, JoinTables tables, double estimated_rows,
                                     uint64_t budget, QueryProfile* profile) override {
    QueryFaultScope scope(fault_);
    return device_.start(std::move(program), std::move(params), std::move(code), std::move(tables), estimated_rows,
                         budget, profile);
  }

 private:
  Device& device_;
  const uint64_t fault_;
};

class FakeGpus {
 public:
  /* `set_kernels(FakeDriver&)`: before the GPUs are found. `cache_size`: of each, for columns of tables. */
  template <class SetKernels>
  FakeGpus(int count, SetKernels set_kernels, uint64_t cache_size = 0, FakeOptions options = {.most_delay_us = 0})
      : fake_(with_devices(options, count)) {
    set_kernels(fake_);
    std::string why;
    devices_ = find_gpus(fake_.table(), &why, 0, cache_size);
    EXPECT_EQ(devices_.size(), static_cast<size_t>(count)) << why;
  }
  ~FakeGpus() {
    for (const auto& device : devices_) EXPECT_EQ(device->info().memory_used, 0u);
    devices_.clear();
    EXPECT_EQ(fake_.leaks(), std::vector<std::string>());
    EXPECT_EQ(fake_.misuse(), std::vector<std::string>());
  }

  FakeDriver& driver() { return fake_; }
  Device& gpu(size_t number) { return *devices_[number]; }

  /* All that are usable; with a fault, that of `faulty`. */
  std::unique_ptr<SplitDevice> split(uint64_t fault = 0, size_t faulty = 0) {
    std::vector<Device*> gpus;
    for (size_t i = 0; i < devices_.size(); i++) {
      if (!devices_[i]->info().usable) continue;
      if (fault != 0 && i == faulty)
        gpus.push_back(faulty_.emplace_back(std::make_unique<FaultyDevice>(*devices_[i], fault)).get());
      else
        gpus.push_back(devices_[i].get());
    }
    return std::make_unique<SplitDevice>(std::move(gpus), workers_);
  }

 private:
  static FakeOptions with_devices(FakeOptions options, int count) {
    options.devices = count;
    return options;
  }

  FakeDriver fake_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<FaultyDevice>> faulty_;
  WorkerPool workers_{"merge", 2};
};

}  // namespace turbine::cuda::testing
