/*
 * host_sink.h - where pipelines on the host leave what they compute.
 *
 * Every worker thread has a state of its own, so that no row takes a lock;
 * finish() makes one result of them. begin_chunk to end_chunk are called by the
 * worker that runs the chunk, finish() and what follows by the query's thread,
 * after the last chunk.
 */
#pragma once

#include "engine/device/device.h"
#include "engine/memory/host_memory.h"
#include "engine/threads/worker_pool.h"

namespace turbine {

class HostSink {
 public:
  virtual ~HostSink() = default;

  virtual void begin_chunk(unsigned worker) = 0;
  /* Sets what a pipeline of the chunk needs of the sink. */
  virtual void attach(unsigned worker, TbPipelineArgs& args) = 0;
  /* See TbPipelineArgs. Says whether anything had to grow; throws DeviceError. */
  virtual bool make_room(unsigned worker, uint64_t rows, uint64_t bytes) = 0;
  /* Within a chunk: a segment's rows have gone through, of blocks of its table from `first` to `last`. */
  virtual void end_segment(unsigned worker, uint32_t first, uint32_t last) { (void)worker, (void)first, (void)last; }
  /* All of the chunk went well. A chunk with a verdict ends the query instead. */
  virtual void end_chunk(unsigned worker, const Task& task) = 0;

  /* As in DeviceQuery. */
  virtual void keep_order() { throw DeviceError(TB_FALLBACK_NO_DEVICE, "the device does not keep the rows' order"); }
  virtual void limit_rows(std::shared_ptr<const RowLimit>) {}
  virtual void stream_rows(RowTaker&) { throw DeviceError(TB_FALLBACK_NO_DEVICE, "the device does not stream rows"); }
  virtual uint64_t finish() = 0;
  virtual ResultBatch fetch(uint64_t first, uint64_t count) = 0;
  virtual std::shared_ptr<const JoinTable> take_table() { return nullptr; }
};

/* `first_capacity`: groups or rows that a worker has room for to begin with. */
std::unique_ptr<HostSink> make_group_sink(const Program& program, uint64_t first_capacity, MemoryBudget& budget,
                                          WorkerPool& pool);
std::unique_ptr<HostSink> make_ungrouped_sink(const Program& program, MemoryBudget& budget, WorkerPool& pool);
std::unique_ptr<HostSink> make_row_sink(const Program& program, uint64_t first_capacity, MemoryBudget& budget,
                                        WorkerPool& pool);

}  // namespace turbine
