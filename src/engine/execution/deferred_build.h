/*
 * deferred_build.h - the device query of a BUILD, which starts with its first task.
 *
 * Mostly a query finds its join table kept (kept_join_tables.h), and then nothing is left to do. A GPU's query takes a
 * thread, streams and memory, 0.2 ms in all, and a query of a star schema has one such BUILD for each dimension.
 */
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "engine/device/device.h"

namespace turbine {

class DeferredBuild final : public DeviceQuery {
 public:
  /* Makes the device's query, at most once; throws DeviceError, bad_alloc. Any thread. */
  using Start = std::function<std::unique_ptr<DeviceQuery>()>;
  explicit DeferredBuild(Start start) : start_(std::move(start)) {}

  void stop() override;
  void cancelled_by(std::function<bool()> cancelled) override { cancelled_ = std::move(cancelled); }
  /* A query that does not start fails its task. */
  void submit(const Task& task, Done done) override;
  bool decode_ahead(const Task& task, const ReadPages& read, const DecodedAhead& done) override;
  std::shared_ptr<StagedColumns> stage_columns(uint64_t bytes) override;
  size_t waiting() const override;
  uint64_t finish() override { return started().finish(); }
  ResultBatch fetch(uint64_t first, uint64_t count) override { return started().fetch(first, count); }
  MemoryBudget& host_memory() override { return started().host_memory(); }
  std::shared_ptr<const JoinTable> take_table() override { return started().take_table(); }
  DeviceQueryStats stats() const override;

 private:
  DeviceQuery& started();
  DeviceQuery* if_started() const;

  const Start start_;
  std::function<bool()> cancelled_;  // before the first task
  mutable std::mutex mutex_;         // what follows
  bool stopped_ = false;
  std::unique_ptr<DeviceQuery> query_;
};

}  // namespace turbine
