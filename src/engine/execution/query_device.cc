/*
 * query_device.cc - which device runs a query, and what the query holds for it.
 *
 * Called by a QUERY and a PREPARE on the session's thread. A device that refuses must leave nothing behind: another
 * one may be tried.
 */
#include "engine/execution/query_device.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/device/query_fault.h"
#include "engine/execution/deferred_build.h"
#include "engine/execution/query_output.h"
#include "engine/profile/stopwatch.h"
#include "engine/program/decode_program.h"

namespace turbine {
namespace {

/* What the host's query may use that decodes for a GPU's: it keeps no rows. */
constexpr uint64_t kKeeperBytes = 16 << 20;

/* Of a stream: those of tasks that run, or wait for others before them; with room to grow in steps. */
constexpr double kStreamedRowsOfThread = 32 << 16;

bool keeps_texts(const Program& program) {
  const KeptRowLayout rows = kept_row_layout(program);
  return std::any_of(rows.columns.begin(), rows.columns.end(),
                     [](const KeptColumn& column) { return tb_type_is_text(column.type) != 0; });
}

/* Does the query's state on the device grow with its input? */
bool grows(const Program& program) {
  if (program.grouped() || program.sink() == TB_SINK_PROJECT || program.sink() == TB_SINK_BUILD) return true;
  return std::any_of(program.aggs().begin(), program.aggs().end(),
                     [](const TbAgg& agg) { return tb_type_is_text(tb_agg_state_type(&agg)); });
}

/* Of those in the mask, the best first. */
std::vector<uint32_t> usable_gpus(Engine& engine, uint32_t gpus, uint64_t affinity, uint32_t near) {
  return engine.gpu_choice.order(gpus, affinity, near, [&engine](uint32_t index) {
    if (index >= engine.devices.size() || !engine.devices[index]->info().usable) return UINT32_MAX;
    return engine.admission.usage(index).queries_running;
  });
}

}  // namespace

DeviceChoice choose_device(Engine& engine, const Program& program, uint32_t wanted, uint32_t flags) {
  // Most tables are too small for a GPU to be worth it: whoever wants one to build there names it.
  if (program.sink() == TB_SINK_BUILD && wanted == TB_ANY_DEVICE) return {TB_DEVICE_HOST};
  auto usable = [&engine](uint32_t index) {
    return index < engine.devices.size() && engine.devices[index]->info().usable != 0;
  };
  if (wanted != TB_ANY_DEVICE) {
    if (usable(wanted)) return {wanted};
    if (flags & TB_QUERY_ALLOW_HOST) return {TB_DEVICE_HOST, TB_FALLBACK_NO_DEVICE};
    throw DeviceError(TB_FALLBACK_NO_DEVICE, "no usable device " + std::to_string(wanted));
  }
  if (!(flags & TB_QUERY_GPU_OK)) return {TB_DEVICE_HOST};
  const std::vector<uint32_t> gpus = usable_gpus(engine, UINT32_MAX, 0, 0);
  return {gpus.empty() ? TB_DEVICE_HOST : gpus.front()};
}

void QueryDevice::start(const Start& start, QueryOutput& output) {
  program_ = start.program;
  const TbQuery& query = start.request.query;
  DeviceChoice choice = choose_device(engine_, *program_, query.device, query.flags);
  if (query.gpus != 0 && query.device != TB_DEVICE_HOST) {
    const std::vector<uint32_t> gpus = usable_gpus(engine_, query.gpus, query.affinity, query.near_gpus);
    if (gpus.size() > 1 && start_on_several(gpus_to_split(gpus, start, output), start, output)) return;
    if (gpus.size() > 1 && start_on_free(gpus, start, output)) return;
    if (!gpus.empty()) choice = {gpus.front()};
  }
  uint32_t host_because = choice.host_because;
  try {
    start_on({choice.device}, start, output, query.wait_ms);
    engine_.gpu_choice.note(query.affinity, choice.device);
  } catch (const DeviceError& e) {
    if (choice.device == TB_DEVICE_HOST || !(query.flags & TB_QUERY_ALLOW_HOST) || e.reason == TB_FALLBACK_NONE) throw;
    host_because = e.reason;
    start_on({TB_DEVICE_HOST}, start, output, query.wait_ms);
  }
  ready_.host_because = host_because;
}

/* Those of the GPUs that the query is to run on at once; none: it runs on one. */
std::vector<uint32_t> QueryDevice::gpus_to_split(const std::vector<uint32_t>& gpus, const Start& start,
                                                 const QueryOutput& output) const {
  const QueryRequest& request = start.request;
  const TbQuery& query = request.query;
  // Can it be split?
  if ((query.flags & (TB_QUERY_WHOLE | TB_QUERY_IN_ORDER)) || !can_split(*program_)) return {};
  if (!request.columns_left.empty() || !request.stream.empty()) return {};
  // Code, and what a range of blocks takes, are the same on GPUs of one kind.
  const TbDeviceInfo first = engine_.devices[gpus.front()]->info();
  std::vector<uint32_t> alike;
  for (const uint32_t gpu : gpus) {
    const TbDeviceInfo info = engine_.devices[gpu]->info();
    if (strcmp(info.name, first.name) == 0 && strcmp(info.target, first.target) == 0) alike.push_back(gpu);
  }
  // The homes of segments go by the order.
  std::sort(alike.begin(), alike.end());
  if (query.flags & TB_QUERY_SPLIT) return alike;
  // Is it worth it? A GPU sorts its own rows, and finds the first of them soonest if it sees all.
  if (output.keeps_few() || (output.has_plan() && program_->sink() == TB_SINK_PROJECT)) return {};
  switch (engine_.split_choice.worth(*program_, query.estimated_rows, query.estimated_groups, first.cache_size)) {
    case SplitChoice::Reason::kNone: return {};
    case SplitChoice::Reason::kColumns: return alike;
    case SplitChoice::Reason::kKernels: break;
  }
  // GPUs that have queries gain nothing by a part of another.
  std::erase_if(alike, [this](uint32_t gpu) { return engine_.admission.usage(gpu).queries_running > 0; });
  return alike;
}

/* False: it is for one of them. A GPU that fails to start costs the query only that GPU. */
bool QueryDevice::start_on_several(std::vector<uint32_t> gpus, const Start& start, QueryOutput& output) {
  while (gpus.size() > 1) try {
      start_on(gpus, start, output, 0);
      for (const uint32_t gpu : gpus) engine_.gpu_choice.note(start.request.query.affinity, gpu);
      return true;
    } catch (const DeviceError& e) {
      if (e.reason == TB_FALLBACK_NONE) throw;
      if (std::erase_if(gpus, [this](uint32_t gpu) { return !engine_.devices[gpu]->info().usable; }) == 0) return false;
    }
  return false;
}

/* On the first that has memory for it now; false: none has. A GPU that fails costs the query a look at the next. */
bool QueryDevice::start_on_free(const std::vector<uint32_t>& gpus, const Start& start, QueryOutput& output) {
  for (const uint32_t gpu : gpus) try {
      start_on({gpu}, start, output, 0);
      engine_.gpu_choice.note(start.request.query.affinity, gpu);
      return true;
    } catch (const DeviceError& e) {
      if (e.reason == TB_FALLBACK_NONE) throw;
    }
  return false;
}

/* Everything that can be refused; holds nothing if it throws. */
void QueryDevice::start_on(const std::vector<uint32_t>& indexes, const Start& start, QueryOutput& output,
                           uint32_t wait_ms) {
  const uint32_t index = indexes.front();
  Device& device = indexes.size() == 1 ? *engine_.devices[index] : engine_.split_devices.of(indexes);
  const TbQuery& query = start.request.query;
  ready_ = {};
  ready_.device = index;
  for (size_t i = 0; i < indexes.size() && indexes.size() > 1; i++) ready_.gpus |= 1u << (indexes[i] - 1);

  // Another server may have given memory of the GPUs back.
  device.raise_budget();
  for (const uint32_t gpu : indexes)
    if (gpu != TB_DEVICE_HOST) engine_.admission.raise_budget(gpu, engine_.devices[gpu]->info().memory_budget);

  // What will the query need?
  nblocks_ = query.nblocks;
  const Device::ChunkShape shape = device.chunk_shape(nblocks_, query.flags & TB_QUERY_COPIED);
  slots_ = SlotShape(shape.slot_pages, std::clamp<uint32_t>(shape.nslots, 1, TB_MAX_SLOTS));
  busy_ = shape.busy;
  // What is pruned takes little, however many rows there are; so do rows that do not stay.
  const bool streams = !start.request.stream.empty();
  double estimated_rows = output.keeps_few() ? 0 : query.estimated_groups;
  if (streams) estimated_rows = kStreamedRowsOfThread * std::max(engine_.workers.size(), 1u);
  QueryNeeds needs = device.needs(*program_, estimated_rows, slots_.pages, slots_.nslots);
  needs.device_bytes += device.table_bytes(*program_, start.probed);

  // Code, that of the output included.
  demand_ = {(query.flags & TB_QUERY_FULL_CODE) != 0, query.estimated_rows, {}};
  CodeDemand bounded = demand_;
  bounded.wait = std::chrono::milliseconds(query.compile_wait_ms);
  const CodeCache::Result code = [&] {
    const Span span(start.profile, TB_SPAN_COMPILE);
    return engine_.code.get(device, *program_, start.cancelled, bounded);
  }();
  if (code.improve) engine_.compile_ahead.improve(device, program_);
  output.compile(demand_.full);

  // Memory.
  const Stopwatch queued;
  Admission::Grant grant = [&] {
    const Span span(start.profile, TB_SPAN_ADMISSION);
    Admission::Claim claim{index,
                           needs.device_bytes,
                           slots_.total_bytes(),
                           (grows(*program_) && (!streams || keeps_texts(*program_))) || output.has_plan(),
                           start.holds_tables,
                           {indexes.begin() + 1, indexes.end()}};
    if (index == TB_DEVICE_HOST) claim.device_bytes += output.plan_bytes(device.info().memory_budget);
    return engine_.admission.admit(claim, wait_ms, start.cancelled);
  }();
  ready_.queue_ms = static_cast<float>(queued.microseconds()) / 1000;
  // The grant is of what this service has; a user's function or another program may have taken the device's memory.
  if (!device.has_memory(needs.device_bytes))
    throw DeviceError(TB_FALLBACK_DEVICE_MEMORY, "other programs have taken the device's memory");

  // The device's query: a table that is kept needs none.
  const auto start_query = [&device, program = program_, params = start.params, code = code.code, probed = start.probed,
                            estimated_rows, bytes = grant.device_bytes(), profile = start.profile,
                            debug_fault = query.debug_fault] {
    const Span span(profile, TB_SPAN_START);
    const QueryFaultScope fault(debug_fault);
    return device.start(program, params, code, probed, estimated_rows, bytes, profile);
  };
  std::unique_ptr<DeviceQuery> device_query;
  if (program_->sink() == TB_SINK_BUILD)
    device_query = std::make_unique<DeferredBuild>(start_query);
  else
    device_query = start_query();
  slot_memory_ = engine_.slot_memory.take(slots_.total_bytes(), device, start.last_slot_memory);
  device_ = &device;
  indexes_ = indexes;
  grant_ = std::move(grant);
  query_ = std::move(device_query);
  query_->cancelled_by(start.cancelled);
  params_ = start.params;
  cancelled_ = start.cancelled;
  profile_ = start.profile;
  wants_keeper_ = index != TB_DEVICE_HOST && ColumnKeeper::suits(*program_) &&
                  device.segment_shape(*program_, nblocks_).rows > 0;
  ready_.code_source = static_cast<uint32_t>(code.source);
  ready_.compile_ms = code.ms;
}

uint64_t QueryDevice::send_ready(QueryReport& report, uint64_t last_slot_memory) {
  ready_.slot_pages = slots_.pages;
  ready_.nslots = slots_.nslots;
  ready_.ids_offset = slots_.ids_offset;
  ready_.slot_size = slots_.size;
  ready_.memory_id = slot_memory_->id();
  ready_.memory_size = slot_memory_->size();
  ready_.lease = engine_.leases.begin(*slot_memory_);
  ready_.has_fd = slot_memory_->id() != last_slot_memory;
  report.post(TB_MSG_READY, bytes_of(ready_), ready_.has_fd ? slot_memory_->fd() : -1);
  return ready_.memory_id;
}

void QueryDevice::end(bool leave_slots) {
  if (!query_) return;
  keeper_.reset();
  if (ready_.device != TB_DEVICE_HOST) engine_.split_choice.note(*program_, query_->stats());
  query_.reset();  // waits for its tasks
  if (leave_slots)
    engine_.leases.abandon(ready_.lease, std::move(slot_memory_));
  else
    engine_.leases.end(ready_.lease, std::move(slot_memory_));
  engine_.merger.wake();
}

Device::SegmentShape QueryDevice::segment_shape(uint64_t nblocks) const {
  return device_->segment_shape(*program_, std::min(nblocks, nblocks_));
}

void QueryDevice::report_shares(TbQueryDone& totals) const {
  const std::vector<DeviceQueryStats> shares = query_->stats_by_device();
  for (size_t i = 0; i < shares.size(); i++)
    totals.gpus[indexes_[i] - 1] = {shares[i].rows_in, shares[i].decode_us + shares[i].compute_us};
}

void QueryDevice::submit(const Task& task, DeviceQuery::Done done) {
  const auto* pages = task.as<PagesInput>();
  if (wants_keeper_ && pages && pages->keep) make_keeper();
  if (keeper_ && keeper_->takes(task)) return keeper_->submit(task, *query_, std::move(done));
  query_->submit(task, std::move(done));
}

/* Without the host's code the GPU decodes, and nothing is kept. */
void QueryDevice::make_keeper() {
  wants_keeper_ = false;
  try {
    Device& host = *engine_.devices[TB_DEVICE_HOST];
    const auto program = std::make_shared<const Program>(Program::parse(decode_program(*program_)));
    const CodeCache::Result code = engine_.code.get(host, *program, cancelled_, demand_);
    if (code.improve) engine_.compile_ahead.improve(host, program);
    keeper_ = std::make_unique<ColumnKeeper>(host.start(program, params_, code.code, {}, 1, kKeeperBytes, profile_));
  } catch (const DeviceError&) {
  } catch (const std::bad_alloc&) {
  }
}

LayoutCode QueryDevice::layout_code() const { return {engine_.code, engine_.compile_ahead, *device_, demand_}; }

/* A GPU's query has been granted nothing of the host's memory, where its table lies as well. */
Admission::Grant QueryDevice::grant_of_table(uint64_t bytes) {
  return ready_.device == TB_DEVICE_HOST ? grant_.split(bytes) : engine_.admission.reserve(TB_DEVICE_HOST, bytes);
}

}  // namespace turbine
