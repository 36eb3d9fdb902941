/*
 * code_cache.h - from a program to code loaded on a device: from memory, else from disk, else compiled.
 *
 * If the device can run quick code, a program is compiled quickly first. Once enough rows have gone through
 * that code, get() asks its caller to call improve(), which compiles the program in full while queries run.
 *
 * Requests for one key wait for one compilation. A request may stop waiting; the compilation goes on for
 * later requests. The cache keeps the code of the programs that were used last. It shares loaded code with
 * the queries that run it, so eviction never pulls code from under a query. Thread-safe.
 */
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engine/code/code_store.h"
#include "engine/code/compiler_client.h"
#include "engine/device/device.h"
#include "engine/threads/worker_pool.h"

namespace turbine {

struct CodeDemand {
  bool full = false;  // no quick code
  double rows = 0;    // that will go through it
  /* The longest that the query waits, 0: as long as it takes. Code that is expected later is not waited for at all. */
  std::chrono::milliseconds wait{0};
};

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
    bool improve = false;  // it is worth it: somebody please call improve()
  };
  /* Throws DeviceError; TB_FALLBACK_COMPILE also if the code is not there in time. */
  Result get(Device& device, const Program& program, const IsCancelled& cancelled, CodeDemand demand = {});

  /* Makes quick code full, if the program has quick code; takes as long as a
   * compilation does. Where that fails it stays quick, and is tried again a few
   * times, each after as many rows. The compiler gives way to what runs, unless
   * the effort is full: then somebody waits. */
  void improve(Device& device, const Program& program, TbEffort effort = TB_EFFORT_IMPROVE);

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
    std::exception_ptr failure;
    Source source = Source::kMemory;  // where it came from
    bool quick = false;
    bool asked = false;  // somebody was told to improve it
    bool improving = false;  // it is being done
    int failures = 0;  // to do it
    double rows = 0;
    std::list<std::string>::iterator used;  // position in used_, when loaded
  };

  /* Loaded code belongs to one device; stored code to all of its kind. */
  struct Key {
    std::string stored, loaded;
  };
  Key key_of(Device& device, const Program& program) const;
  Source load_entry(Device& device, const Program& program, const Key& key, bool full,
                    const std::shared_ptr<Entry>& entry);
  void load_within(Device& device, const Program& program, const Key& key, const CodeDemand& demand,
                   const std::shared_ptr<Entry>& entry, const IsCancelled& cancelled);
  std::shared_ptr<LoadedCode> wait_loaded(std::unique_lock<std::mutex>& lock, std::shared_ptr<Entry> entry,
                                          const IsCancelled& cancelled, std::chrono::milliseconds wait);
  Source load(Device& device, const Program& program, const std::string& key, bool full, Entry& entry);
  std::shared_ptr<LoadedCode> load_stored(Device& device, const Program& program, const std::string& key);
  std::string compile(Device& device, const Program& program, TbEffort effort);
  bool wants_improvement(Entry& entry, const Program& program, const CodeDemand& demand);
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
  WorkerPool pool_;  // compilations that a query may stop waiting for; last: its threads use what is above
};

}  // namespace turbine
