/*
 * code_cache.cc - from a program to code loaded on a device.
 *
 * Owns the loaded code of all devices and evicts what was not used for longest. Called by
 * queries and by compiling ahead, from any thread: two that want the same program wait for one
 * compilation. The lock is never held while something compiles or loads.
 */
#include "engine/code/code_cache.h"

#include <algorithm>

#include "engine/code/compile_time.h"
#include "engine/limits/process_limits.h"

namespace turbine {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kCancelCheck{50};

/* Quick code takes some 50 ns longer for a row, a compilation in full 100 ms and
 * more of a processor. One that takes longer has to wait for more rows. */
constexpr double kRowsWorthFullCode = 500000;
constexpr std::chrono::milliseconds kUsualFullCompilation{200};

/* The threads only wait for compiler processes; those share the processors. */
unsigned compile_threads() { return std::clamp(usable_processors(), 4u, 32u); }

/* A compiler may have been killed; what fails again and again is left alone. */
constexpr int kMostFailures = 3;

float ms_since(Clock::time_point start) {
  return std::chrono::duration<float, std::milli>(Clock::now() - start).count();
}

/* Fields of a key, each with its length, so that no two keys read alike. */
void add_field(std::string& key, const std::string& field) {
  key += std::to_string(field.size());
  key += ':';
  key += field;
}

/* Never another program's: a program knows its size. */
std::string quick_key(const std::string& key) { return key + "quick"; }

std::span<const uint8_t> bytes_of(const std::string& s) {
  return {reinterpret_cast<const uint8_t*>(s.data()), s.size()};
}

constexpr std::chrono::milliseconds kNoLimit{0};
/* Of code that will not be there in time: it may be there already, by another query. */
constexpr std::chrono::milliseconds kHardly{1};

std::chrono::milliseconds wait_for(Device& device, const Program& program, const CodeDemand& demand) {
  if (demand.wait == kNoLimit) return kNoLimit;
  const TbEffort effort = device.runs_quick_code() && !demand.full ? TB_EFFORT_QUICK : TB_EFFORT_FULL;
  return expected_compile_time(program, device.target(), effort) > demand.wait ? kHardly : demand.wait;
}

}  // namespace

CodeCache::CodeCache(CompilerClient& compiler, CodeStore& store, std::string host_tag, size_t max_loaded)
    : compiler_(compiler),
      store_(store),
      host_tag_(std::move(host_tag)),
      max_loaded_(max_loaded),
      pool_("code", compile_threads()) {}

CodeCache::Key CodeCache::key_of(Device& device, const Program& program) const {
  std::string key;
  add_field(key, std::to_string(device.target()));
  add_field(key, device.cpu());
  add_field(key, device.features());
  add_field(key, device.target() == TB_TARGET_HOST ? host_tag_ : "");
  add_field(key, compiler_.build_id());
  key.append(reinterpret_cast<const char*>(program.blob().data()), program.blob().size());
  return {key, std::to_string(reinterpret_cast<uintptr_t>(&device)) + "/" + key};
}

CodeCache::Result CodeCache::get(Device& device, const Program& program, const IsCancelled& cancelled,
                                 CodeDemand demand) {
  const auto start = Clock::now();
  const Key key = key_of(device, program);
  std::unique_lock lock(mutex_);
  auto [place, fresh] = entries_.try_emplace(key.loaded);
  if (fresh) place->second = std::make_shared<Entry>();
  const std::shared_ptr<Entry> entry = place->second;
  Result result{nullptr, Source::kMemory, 0};
  if (fresh) {
    lock.unlock();
    load_within(device, program, key, demand, entry, cancelled);
    lock.lock();
    result.source = entry->source;
  } else {
    wait_loaded(lock, entry, cancelled, wait_for(device, program, demand));
    counters_.memory_hits++;
  }
  if (demand.full && entry->quick) {
    lock.unlock();
    improve(device, program, TB_EFFORT_FULL);  // the query waits
    lock.lock();
  }
  result.code = entry->code;
  result.improve = wants_improvement(*entry, program, demand);
  result.ms = ms_since(start);
  return result;
}

/* Loads a new entry, or leaves it to a thread that does. */
void CodeCache::load_within(Device& device, const Program& program, const Key& key, const CodeDemand& demand,
                            const std::shared_ptr<Entry>& entry, const IsCancelled& cancelled) {
  if (demand.wait == kNoLimit) {
    load_entry(device, program, key, demand.full, entry);
    return;
  }
  try {
    pool_.post([this, &device, program, key, full = demand.full, entry](unsigned) {
      try {
        load_entry(device, program, key, full, entry);
      } catch (const std::exception&) {
        // The entry has it.
      }
    });
  } catch (...) {
    // Others may wait for the entry already, so somebody must load it.
    load_entry(device, program, key, demand.full, entry);
    return;
  }
  // What was compiled before is only read.
  const bool stored = store_.has(key.stored) || store_.has(quick_key(key.stored));
  std::unique_lock lock(mutex_);
  wait_loaded(lock, entry, cancelled, stored ? demand.wait : wait_for(device, program, demand));
}

/* Under the lock. Says so once. */
bool CodeCache::wants_improvement(Entry& entry, const Program& program, const CodeDemand& demand) {
  entry.rows += demand.rows;
  if (!entry.quick || entry.asked || entry.rows < kRowsWorthFullCode) return false;
  const double times = expected_compile_time(program, TB_TARGET_HOST, TB_EFFORT_FULL) / kUsualFullCompilation;
  if (entry.rows < kRowsWorthFullCode * times) return false;
  entry.asked = true;
  return true;
}

void CodeCache::load_ahead(Device& device, const Program& program) {
  const Key key = key_of(device, program);
  std::unique_lock lock(mutex_);
  const auto [place, fresh] = entries_.try_emplace(key.loaded);
  if (!fresh) return;
  auto entry = place->second = std::make_shared<Entry>();
  lock.unlock();
  load_entry(device, program, key, false, entry);
}

void CodeCache::improve(Device& device, const Program& program, TbEffort effort) {
  const Key key = key_of(device, program);
  std::unique_lock lock(mutex_);
  const auto found = entries_.find(key.loaded);
  if (found == entries_.end()) return;
  const std::shared_ptr<Entry> entry = found->second;
  while (entry->improving) changed_.wait(lock);
  if (entry->state != Entry::kLoaded || !entry->quick) return;
  const std::shared_ptr<LoadedCode> code = entry->code;
  entry->improving = true;
  lock.unlock();
  bool improved = false;
  try {
    const std::string machine_code = compile(device, program, effort);
    code->improve(bytes_of(machine_code));
    improved = true;
    store_.put(key.stored, machine_code);
    store_.remove(quick_key(key.stored));
  } catch (const std::exception&) {
    // What there is goes on working.
  }
  lock.lock();
  entry->improving = false;
  if (improved) {
    entry->quick = false;
  } else {
    entry->asked = ++entry->failures >= kMostFailures;
    entry->rows = 0;
  }
  changed_.notify_all();
}

/* Fills a new entry, for which others may already wait. */
CodeCache::Source CodeCache::load_entry(Device& device, const Program& program, const Key& key, bool full,
                                        const std::shared_ptr<Entry>& entry) {
  Source source = Source::kCompiled;
  std::exception_ptr failure;
  try {
    source = load(device, program, key.stored, full, *entry);
  } catch (const std::exception& e) {
    entry->error = e.what();
    failure = std::current_exception();
  }
  std::lock_guard lock(mutex_);
  entry->failure = failure;
  entry->source = source;
  finish_entry(key.loaded, entry);
  if (failure) std::rethrow_exception(failure);
  (source == Source::kDisk ? counters_.disk_hits : counters_.compiled)++;
  return source;
}

/* Under the lock: ends the entry's loading, keeps it if it worked. */
void CodeCache::finish_entry(const std::string& key, const std::shared_ptr<Entry>& entry) {
  if (entry->code) {
    entry->state = Entry::kLoaded;
    used_.push_front(key);
    entry->used = used_.begin();
    while (used_.size() > max_loaded_) {
      auto oldest = entries_.find(used_.back());
      oldest->second->used = used_.end();
      entries_.erase(oldest);
      used_.pop_back();
    }
  } else {
    entry->state = Entry::kFailed;
    entries_.erase(key);
  }
  changed_.notify_all();
}

std::shared_ptr<LoadedCode> CodeCache::wait_loaded(std::unique_lock<std::mutex>& lock, std::shared_ptr<Entry> entry,
                                                   const IsCancelled& cancelled, std::chrono::milliseconds wait) {
  const auto start = Clock::now();
  while (entry->state == Entry::kLoading) {
    const auto left = wait == kNoLimit ? kCancelCheck : wait - (Clock::now() - start);
    if (left <= Clock::duration::zero())
      throw DeviceError(TB_FALLBACK_COMPILE, "code that takes long to compile is not ready yet");
    changed_.wait_for(lock, std::min<Clock::duration>(left, kCancelCheck));
    if (entry->state != Entry::kLoading || !cancelled) continue;
    lock.unlock();
    const bool give_up = cancelled();
    lock.lock();
    if (give_up) throw DeviceError(TB_FALLBACK_NONE, "query was closed");
  }
  if (entry->state == Entry::kFailed) {
    if (entry->failure) std::rethrow_exception(entry->failure);
    throw DeviceError(TB_FALLBACK_COMPILE, entry->error);
  }
  // It may have been evicted meanwhile; then it has no place in the list.
  if (entry->used != used_.end()) used_.splice(used_.begin(), used_, entry->used);
  return entry->code;
}

/* Null if there is none. */
std::shared_ptr<LoadedCode> CodeCache::load_stored(Device& device, const Program& program, const std::string& key) {
  const auto stored = store_.get(key);
  if (!stored) return nullptr;
  try {
    return device.load(bytes_of(*stored), program);
  } catch (const DeviceError&) {
    // Whole, but of no use here (another driver, say): compile it again.
    store_.remove(key);
    return nullptr;
  }
}

/* Others may be waiting for it: no query's end stops it. */
std::string CodeCache::compile(Device& device, const Program& program, TbEffort effort) {
  try {
    const std::string artifact = compiler_.compile(program.blob(), device.target(), device.cpu(), device.features(),
                                                   effort, {});
    return device.machine_code(bytes_of(artifact));
  } catch (const CompileError& e) {
    throw DeviceError(TB_FALLBACK_COMPILE, e.what());
  }
}

CodeCache::Source CodeCache::load(Device& device, const Program& program, const std::string& key, bool full,
                                  Entry& entry) {
  if ((entry.code = load_stored(device, program, key))) return Source::kDisk;
  entry.quick = device.runs_quick_code() && !full;
  const std::string place = entry.quick ? quick_key(key) : key;
  if (entry.quick && (entry.code = load_stored(device, program, place))) return Source::kDisk;
  const std::string machine_code = compile(device, program, entry.quick ? TB_EFFORT_QUICK : TB_EFFORT_FULL);
  entry.code = device.load(bytes_of(machine_code), program);
  store_.put(place, machine_code);
  return Source::kCompiled;
}

CodeCache::Counters CodeCache::counters() {
  std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace turbine
