/*
 * code_cache.cc - from a program to code loaded on a device.
 */
#include "engine/code/code_cache.h"

#include <chrono>

namespace turbine {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kCancelCheck{50};

float ms_since(Clock::time_point start) {
  return std::chrono::duration<float, std::milli>(Clock::now() - start).count();
}

/* Fields of a key, each with its length, so that no two keys read alike. */
void add_field(std::string& key, const std::string& field) {
  key += std::to_string(field.size());
  key += ':';
  key += field;
}

}  // namespace

CodeCache::CodeCache(CompilerClient& compiler, CodeStore& store, std::string host_tag, size_t max_loaded)
    : compiler_(compiler), store_(store), host_tag_(std::move(host_tag)), max_loaded_(max_loaded) {}

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

CodeCache::Result CodeCache::get(Device& device, const Program& program, const IsCancelled& cancelled) {
  const auto start = Clock::now();
  const Key key = key_of(device, program);
  std::unique_lock lock(mutex_);
  if (auto found = entries_.find(key.loaded); found != entries_.end()) {
    std::shared_ptr<LoadedCode> code = wait_loaded(lock, found->second, cancelled);
    counters_.memory_hits++;
    return {std::move(code), Source::kMemory, ms_since(start)};
  }
  auto entry = entries_[key.loaded] = std::make_shared<Entry>();
  lock.unlock();
  const Source source = load_entry(device, program, key, entry);
  return {entry->code, source, ms_since(start)};
}

void CodeCache::load_ahead(Device& device, const Program& program) {
  const Key key = key_of(device, program);
  std::unique_lock lock(mutex_);
  const auto [place, fresh] = entries_.try_emplace(key.loaded);
  if (!fresh) return;
  auto entry = place->second = std::make_shared<Entry>();
  lock.unlock();
  load_entry(device, program, key, entry);
}

/* Fills a new entry, for which others may already wait. */
CodeCache::Source CodeCache::load_entry(Device& device, const Program& program, const Key& key,
                                        const std::shared_ptr<Entry>& entry) {
  Source source = Source::kCompiled;
  std::exception_ptr failure;
  try {
    // Others may be waiting for this one: its own query's end must not stop it.
    entry->code = load(device, program, key.stored, {}, &source);
  } catch (const std::exception& e) {
    entry->error = e.what();
    failure = std::current_exception();
  }
  std::lock_guard lock(mutex_);
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
                                                   const IsCancelled& cancelled) {
  while (entry->state == Entry::kLoading) {
    changed_.wait_for(lock, kCancelCheck);
    if (entry->state != Entry::kLoading || !cancelled) continue;
    lock.unlock();
    const bool give_up = cancelled();
    lock.lock();
    if (give_up) throw DeviceError(TB_FALLBACK_NONE, "query was closed");
  }
  if (entry->state == Entry::kFailed) throw DeviceError(TB_FALLBACK_COMPILE, entry->error);
  // It may have been evicted meanwhile; then it has no place in the list.
  if (entry->used != used_.end()) used_.splice(used_.begin(), used_, entry->used);
  return entry->code;
}

std::shared_ptr<LoadedCode> CodeCache::load(Device& device, const Program& program, const std::string& key,
                                            const IsCancelled& cancelled, Source* source) {
  auto bytes_of = [](const std::string& s) {
    return std::span<const uint8_t>(reinterpret_cast<const uint8_t*>(s.data()), s.size());
  };
  if (auto stored = store_.get(key)) {
    try {
      auto code = device.load(bytes_of(*stored), program);
      *source = Source::kDisk;
      return code;
    } catch (const DeviceError&) {
      // Whole, but of no use here (another driver, say): compile it again.
      store_.remove(key);
    }
  }
  std::string artifact;
  try {
    artifact = compiler_.compile(program.blob(), device.target(), device.cpu(), device.features(), cancelled);
  } catch (const CompileError& e) {
    throw DeviceError(TB_FALLBACK_COMPILE, e.what());
  }
  const std::string machine_code = device.machine_code(bytes_of(artifact));
  auto code = device.load(bytes_of(machine_code), program);
  store_.put(key, machine_code);
  return code;
}

CodeCache::Counters CodeCache::counters() {
  std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace turbine
