/*
 * fake_driver.h - a CUDA driver without a GPU, for tests only.
 *
 * "Device" memory is malloc'ed, so that kernels, which tests register as host
 * functions by name, may dereference device pointers. Each stream has a thread
 * that runs its work in order, waits for events, and dawdles a little, so that
 * a missing dependency shows as wrong data. Every copy is checked against live
 * allocations when it is issued and when it runs; misuse and what is not given
 * back are remembered for the test to look at.
 *
 * One FakeDriver at a time: driver functions carry no context of their own.
 */
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/device/cuda/driver/driver_api.h"
#include "engine/device/cuda/testing/kernel_module.h"

namespace turbine::cuda::testing {

struct FakeOptions {
  int devices = 1;
  int driver_version = 13000;
  int major = 9, minor = 0;
  int multiprocessors = 4;
  std::vector<std::string> pci_addresses = {"0000:17:00.0"};  // of those of more devices nothing is known
  uint64_t memory = uint64_t{4} << 30;                        // of each device
  unsigned most_delay_us = 50;  // before each piece of a stream's work
  Result launch_result = kSuccess;  // of every kernel launch; else no kernel runs
  ModuleLoader load_module;         // none: kernels are what tests have registered
};

class FakeDriver {
 public:
  /* The kernel's only parameter. */
  using Kernel = std::function<void(void* arguments)>;

  explicit FakeDriver(const FakeOptions& options = {});
  ~FakeDriver();
  FakeDriver(const FakeDriver&) = delete;

  const DriverFunctions& table() const { return table_; }
  void set_kernel(const std::string& name, Kernel kernel);

  /* From now on every call returns `result`, queued work is dropped, and host
   * callbacks are not called: what a fatal error does to a context. */
  void lose(Result result);
  /* The same for one GPU: others work on. */
  void lose_gpu(int gpu, Result result);
  /* The GPU whose kernel runs on this thread. */
  static int gpu_of_kernel();

  /* A kernel that returns by this has caused `result`, which costs its GPU. */
  struct KernelFault {
    Result result;
  };

  uint64_t calls() const;

  /* Another program's memory of the device. */
  void others_take(uint64_t bytes);
  void others_give_back(uint64_t bytes);
  uint64_t launches(const std::string& kernel) const;
  std::map<std::string, uint64_t> all_launches() const;
  uint64_t device_bytes() const;
  uint64_t peak_device_bytes() const;

  /* What is still alive, and what was done wrong; empty when all is well. */
  std::vector<std::string> leaks() const;
  std::vector<std::string> misuse() const;

  struct Calls;  // the table's functions

 private:
  friend struct Calls;
  struct EventState {
    uint64_t recorded = 0, completed = 0;
    double time_ms = 0;
  };
  struct StreamState {
    Context context = nullptr;
    std::deque<std::function<void()>> work;
    bool busy = false, stop = false;
    std::condition_variable changed;
    std::thread thread;
  };
  struct ModuleState {
    std::shared_ptr<const KernelModule> kernels;
    std::map<std::string, std::unique_ptr<std::string>> functions;
  };

  void run_stream(StreamState* stream);
  void enqueue(StreamState* stream, std::function<void()> work);
  void add_misuse(const std::string& what);
  bool inside(const std::map<uint64_t, uint64_t>& allocations, uint64_t address, uint64_t bytes) const;
  StreamState* stream_of(Stream stream);
  Result entered();  // the checks that every call begins with
  Result lost_in(Context context) const;
  uint64_t free_bytes(Context context) const;
  void count_bytes(Context context, int64_t bytes);
  /* What a kernel in the context may access. */
  std::vector<std::pair<uint64_t, uint64_t>> memory_of_kernels(Context context) const;
  void run_kernel(Context context, const KernelModule& module, const std::string& name, KernelLaunch launch);

  const FakeOptions options_;
  DriverFunctions table_;

  mutable std::mutex mutex_;  // protects all that follows
  std::condition_variable events_changed_;
  uint64_t calls_ = 0;
  Result lost_ = kSuccess;  // all GPUs
  std::map<Context, Result> lost_contexts_;
  int contexts_ = 0;
  std::map<std::string, Kernel> kernels_;
  std::map<std::string, uint64_t> launches_;
  std::map<uint64_t, uint64_t> device_, pinned_, registered_;  // address, bytes
  std::map<uint64_t, Context> owners_;                 // of what is in device_
  std::map<Context, uint64_t> context_bytes_;
  uint64_t device_bytes_ = 0, peak_device_bytes_ = 0;  // of all devices
  uint64_t others_bytes_ = 0;                          // of each device
  std::map<Stream, std::unique_ptr<StreamState>> streams_;
  std::map<Event, std::shared_ptr<EventState>> events_;
  std::map<Module, std::unique_ptr<ModuleState>> modules_;
  std::map<Function, std::shared_ptr<const KernelModule>> kernel_modules_;
  std::map<LinkState, std::string> links_;  // what they have made
  struct Memory {  // of mem_create
    Context context = nullptr;
    int file = -1;
    size_t bytes = 0;
    bool released = false;
    int maps = 0;
  };
  void drop_memory(MemoryHandle handle);
  std::map<MemoryHandle, Memory> memory_;
  std::map<uint64_t, uint64_t> reserved_;           // address, bytes
  std::map<uint64_t, MemoryHandle> mapped_memory_;  // address: what is mapped there
  std::vector<std::string> misuse_;
  uint64_t next_handle_ = 0x1000;
  unsigned delay_seed_ = 1;
};

}  // namespace turbine::cuda::testing
