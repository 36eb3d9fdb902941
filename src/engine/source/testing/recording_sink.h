/* recording_sink.h - a TaskSink for tests: keeps the tasks that a source runs, and runs none. */
#pragma once

#include <vector>

#include "engine/source/source.h"

namespace turbine::testing {

class RecordingSink : public TaskSink {
 public:
  Device::SegmentShape shape;
  std::vector<Task> tasks;

  Device::SegmentShape segment_shape(uint64_t) const override { return shape; }
  std::shared_ptr<StagedColumns> stage_columns(uint64_t) override { return nullptr; }
  bool decode_ahead(const Task&, const DeviceQuery::ReadPages&, const DeviceQuery::DecodedAhead&) override {
    return false;
  }
  QueryTotals& totals() override { return totals_; }
  void run(std::vector<Task> some) override {
    for (Task& task : some) tasks.push_back(std::move(task));
  }
  void pieces_wait(uint32_t) override {}
  void piece_done(std::exception_ptr) override {}
  void waits_for_drive(uint32_t) override {}
  void filled(uint32_t, const ChunkFill&) override {}

 private:
  QueryTotals totals_;
};

}  // namespace turbine::testing
