/*
 * deferred_build.cc - see deferred_build.h.
 *
 * Called by query_device.cc for programs that build a join table. Tasks come from the session's thread and from those
 * that decode files, so either may start the device's query.
 */
#include "engine/execution/deferred_build.h"

#include "engine/wire/device_error.h"

namespace turbine {

DeviceQuery& DeferredBuild::started() {
  std::lock_guard lock(mutex_);
  if (query_) return *query_;
  if (stopped_) throw DeviceError(TB_FALLBACK_NONE, "query was closed");
  query_ = start_();
  query_->cancelled_by(cancelled_);
  return *query_;
}

DeviceQuery* DeferredBuild::if_started() const {
  std::lock_guard lock(mutex_);
  return query_.get();
}

void DeferredBuild::stop() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  if (DeviceQuery* query = if_started()) query->stop();
}

void DeferredBuild::submit(const Task& task, Done done) {
  DeviceQuery* query = nullptr;
  std::exception_ptr error;
  try {
    query = &started();
  } catch (...) {
    error = std::current_exception();
  }
  if (query)
    query->submit(task, std::move(done));
  else
    done({}, error);
}

bool DeferredBuild::decode_ahead(const Task& task, const ReadPages& read, const DecodedAhead& done) {
  try {
    return started().decode_ahead(task, read, done);
  } catch (const DeviceError&) {
    return false;  // submit() tells
  }
}

std::shared_ptr<StagedColumns> DeferredBuild::stage_columns(uint64_t bytes) {
  try {
    return started().stage_columns(bytes);
  } catch (const DeviceError&) {
    return nullptr;  // likewise
  }
}

size_t DeferredBuild::waiting() const {
  const DeviceQuery* query = if_started();
  return query ? query->waiting() : 0;
}

DeviceQueryStats DeferredBuild::stats() const {
  const DeviceQuery* query = if_started();
  return query ? query->stats() : DeviceQueryStats();
}

}  // namespace turbine
