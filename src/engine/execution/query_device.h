/*
 * query_device.h - the device of a query: which one it is, and all that the query holds for it.
 *
 * That is the compiled code, the grant of memory, the slot memory and the device's own query. Nothing else of a query
 * knows how many devices there are: others see a DeviceQuery.
 *
 * The session's thread only, except what DeviceQuery says.
 */
#pragma once

#include <memory>
#include <string>

#include "engine/execution/column_keeper.h"
#include "engine/execution/engine.h"
#include "engine/execution/query_report.h"
#include "engine/program/program.h"
#include "engine/slots/slot_table.h"
#include "engine/source/heap/chunk_layouts.h"
#include "engine/wire/requests.h"

namespace turbine {

class QueryOutput;

struct DeviceChoice {
  uint32_t device;
  uint32_t host_because = TB_FALLBACK_NONE;  // why the host stands in for `wanted`
};

/* Which device runs a program, as a query of it starts or is prepared. The backend names one (src/pg/planner/cost.h);
 * only where it leaves the choice, or its device has gone, is it made here. A query that several GPUs may run goes by
 * gpu_choice.h. `wanted` and `flags` are those of TbQuery
 * and TbPrepare. Throws DeviceError (absent, and the host may not stand in). */
DeviceChoice choose_device(Engine& engine, const Program& program, uint32_t wanted, uint32_t flags);

class QueryDevice {
 public:
  explicit QueryDevice(Engine& engine) : engine_(engine) {}
  /* As end(), if it was started. */
  ~QueryDevice() { end(false); }
  QueryDevice(const QueryDevice&) = delete;

  struct Start {
    const QueryRequest& request;
    std::shared_ptr<const Program> program;
    std::shared_ptr<const std::string> params;
    const JoinTables& probed;
    bool holds_tables;          // the connection does
    uint64_t last_slot_memory;  // id of the one that the connection has mapped
    QueryProfile* profile;      // or null; outlives this
    const IsCancelled& cancelled;
  };
  /* Chooses, compiles, waits for admission and starts; the host stands in for a GPU that refuses, if the backend
   * allows it. `output` compiles what it needs besides, and says what it will need. Holds nothing if it throws:
   * DeviceError. */
  void start(const Start& start, QueryOutput& output);

  /* Waits for what is in flight and gives all back. `leave_slots`: a backend may be reading the slots' memory, which
   * is not to be used again. What has come of the device's query has to be gone. */
  void end(bool leave_slots);

  /* READY. Returns the id of the slot memory that the connection has mapped then. */
  uint64_t send_ready(QueryReport& report, uint64_t last_slot_memory);

  DeviceQuery& query() const { return *query_; }
  uint32_t number() const { return ready_.device; }
  /* All slots', and where the first lies. */
  const SlotShape& slots() const { return slots_; }
  SlotMemory& slot_memory() const { return *slot_memory_; }
  /* More chunks than these in its hands: news of others can wait. */
  uint32_t busy() const { return busy_; }

  /* What each of several GPUs has done; nothing of a query on one device. */
  void report_shares(TbQueryDone& totals) const;

  /* Of a part of the query's input with so many blocks. */
  Device::SegmentShape segment_shape(uint64_t nblocks) const;
  /* Where code for other layouts comes from. */
  LayoutCode layout_code() const;
  /* Runs a task; pages whose columns are to be kept go by the host if this is a GPU. The session's thread. */
  void submit(const Task& task, DeviceQuery::Done done);
  /* Memory for what stays when the query is over, a join table: so many bytes of the host's. */
  Admission::Grant grant_of_table(uint64_t bytes);

 private:
  void make_keeper();
  std::vector<uint32_t> gpus_to_split(const std::vector<uint32_t>& gpus, const Start& start,
                                      const QueryOutput& output) const;
  bool start_on_several(std::vector<uint32_t> gpus, const Start& start, QueryOutput& output);
  bool start_on_free(const std::vector<uint32_t>& gpus, const Start& start, QueryOutput& output);
  void start_on(const std::vector<uint32_t>& indexes, const Start& start, QueryOutput& output, uint32_t wait_ms);

  Engine& engine_;
  Device* device_ = nullptr;       // that has been started on
  std::vector<uint32_t> indexes_;  // of it, or of the GPUs that it is made of
  std::shared_ptr<const Program> program_;
  uint64_t nblocks_ = 0;  // as QUERY says: what device memory was claimed for
  CodeDemand demand_;
  SlotShape slots_;
  uint32_t busy_ = UINT32_MAX;
  TbReady ready_{};
  Admission::Grant grant_;
  std::unique_ptr<SlotMemory> slot_memory_;
  std::unique_ptr<DeviceQuery> query_;
  std::shared_ptr<const std::string> params_;
  IsCancelled cancelled_;
  QueryProfile* profile_ = nullptr;
  std::unique_ptr<ColumnKeeper> keeper_;  // made for the first task that wants one
  bool wants_keeper_ = false;
};

}  // namespace turbine
