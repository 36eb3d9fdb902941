/*
 * column_keeper.h - pages of a GPU's query whose columns are to be kept: the host decodes them, the store takes the
 * columns, and the GPU computes with these, as the next query will.
 *
 * A GPU could decode the pages itself, but then nothing would stay for later queries. What the store does not take,
 * the GPU decodes. If it takes little, the rest of the query's pages goes to the GPU at once.
 *
 * submit() on any thread; made and destroyed by the query's owner, before the device's query.
 */
#pragma once

#include <atomic>
#include <memory>

#include "engine/device/device.h"
#include "engine/device/task.h"

namespace turbine {

class ColumnKeeper {
 public:
  /* Of this kind of program pages may be given to it: a heap is read, and the backend wants no row ids. */
  static bool suits(const Program& program);

  /* `decoding`: the host's query of decode_program(), with the same parameters. */
  explicit ColumnKeeper(std::unique_ptr<DeviceQuery> decoding) : decoding_(std::move(decoding)) {}

  bool takes(const Task& task) const;

  /* As device.submit(), of a task that it takes. The device outlives this. */
  void submit(const Task& task, DeviceQuery& device, DeviceQuery::Done done);

 private:
  struct Parts;
  void decoded(const Task& task, DeviceQuery& device, const DeviceQuery::Done& done);

  std::atomic<uint64_t> pages_{0}, kept_{0};
  const std::unique_ptr<DeviceQuery> decoding_;  // last: its tasks use the others
};

}  // namespace turbine
