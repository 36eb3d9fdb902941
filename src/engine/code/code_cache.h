/*
 * code_cache.h - from a program to code loaded on a device: in memory, else on
 * disk, else compiled.
 *
 * Requests for one key wait for one compilation. Loaded code is kept for the
 * programs used last and belongs to who holds it, so that eviction never pulls
 * code from under a query. Thread-safe.
 */
#pragma once

#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engine/code/code_store.h"
#include "engine/code/compiler_client.h"
#include "engine/device/device.h"

namespace turbine {

class CodeCache {
 public:
  /* `host_tag` stands for the host's processor in keys of host code. */
  CodeCache(CompilerClient& compiler, CodeStore& store, std::string host_tag, size_t max_loaded);

  /* Values are those of TbReady::code_source. */
  enum class Source : uint32_t { kCompiled = 0, kMemory = 1, kDisk = 2 };
  struct Result {
    std::shared_ptr<LoadedCode> code;
    Source source;
    float ms;  // spent in here
  };

  /* Throws DeviceError. */
  Result get(Device& device, const Program& program, const IsCancelled& cancelled);

  /* As get(), for a query to come: returns at once if the code is there or on
   * its way. Throws DeviceError. */
  void load_ahead(Device& device, const Program& program);

  struct Counters {
    uint64_t compiled, memory_hits, disk_hits;
  };
  Counters counters();

 private:
  struct Entry {
    enum { kLoading, kLoaded, kFailed } state = kLoading;
    std::shared_ptr<LoadedCode> code;
    std::string error;
    std::list<std::string>::iterator used;  // position in used_, when loaded
  };

  /* Loaded code belongs to one device; stored code to all of its kind. */
  struct Key {
    std::string stored, loaded;
  };
  Key key_of(Device& device, const Program& program) const;
  Source load_entry(Device& device, const Program& program, const Key& key, const std::shared_ptr<Entry>& entry);
  std::shared_ptr<LoadedCode> wait_loaded(std::unique_lock<std::mutex>& lock, std::shared_ptr<Entry> entry,
                                          const IsCancelled& cancelled);
  std::shared_ptr<LoadedCode> load(Device& device, const Program& program, const std::string& key,
                                   const IsCancelled& cancelled, Source* source);
  void finish_entry(const std::string& key, const std::shared_ptr<Entry>& entry);

  CompilerClient& compiler_;
  CodeStore& store_;
  const std::string host_tag_;
  const size_t max_loaded_;

  std::mutex mutex_;  // all below
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
  std::list<std::string> used_;  // keys of loaded entries, newest first
  Counters counters_{};
};

}  // namespace turbine
