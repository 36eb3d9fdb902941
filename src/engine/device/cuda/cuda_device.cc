/*
 * cuda_device.cc - a GPU as a Device.
 *
 * Owns the list of slot memory that it has pinned. Called by execution/ through device.h;
 * must never block on a query.
 */
#include "engine/device/cuda/cuda_device.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <system_error>

#include "engine/device/cuda/memory/cuda_exported_memory.h"
#include "engine/device/cuda/query/cuda_query.h"
#include "engine/device/query_fault.h"
#include "engine/store/column_codes.h"

namespace turbine::cuda {

namespace {

/* A chunk's fixed cost is about 50 us of driver calls, and 8 MB cross PCIe in
 * about 150 us; larger slots pay where the relation is large anyway. */
constexpr uint64_t kSmallestSlot = 128;
constexpr uint64_t kUsualSlot = 1024;
constexpr uint64_t kLargeSlot = 2048;
constexpr uint64_t kLargeRelation = 65536;  // blocks: 512 MB
constexpr uint64_t kChunksToOverlap = 8;    // fewer leave copy and kernels in turns
constexpr uint64_t kMostSlots = 8;          // kLanes on the device; a read takes longer than a copy

/* Rows of a task of segments: no more than a lane for the usual slots holds anyway, and of large
 * relations so many that launches are few, but what the lane notes of them takes no more than this, and
 * no more than such a share of what queries may use. */
constexpr uint64_t kSegmentTaskRows = 256 << 10;
constexpr uint64_t kLargeTaskRows = 8 << 20;

/* Of a task whose rows are decoded only now: few enough that every thread that decodes has staged some, no fewer than
 * the task's fixed cost pays for. */
constexpr uint64_t kDecodedTaskBytes = uint64_t{4} << 20;
constexpr uint64_t kLeastDecodedRows = 64 << 10;
/* Columns of which some segments could be left out have no more than this part of the memory for columns. One column of
 * a segment takes the query's worker about 0.4 us, mostly waiting for memory; kernels take 0.1 ns a row. */
constexpr uint64_t kRememberedPart = 8;
constexpr uint64_t kToldRows = 4000;
constexpr uint64_t kLargeTaskBytes = 256 << 20;
constexpr uint64_t kTasksOfMemory = 128;

/* Newest GPU that LLVM 19 generates code for. */
constexpr int kNewestCapability = 90;

template <size_t N>
void set_text(char (&to)[N], const std::string& from) {
  std::snprintf(to, N, "%s", from.c_str());
}

/* A kernel cannot be stopped, and one that looks at every row of a join table takes long. */
uint64_t task_rows(const Program& program, bool large, uint64_t memory) {
  const auto joins = program.joins();
  if (!large || std::any_of(joins.begin(), joins.end(), [](const TbJoin& join) { return join.nkeys == 0; }))
    return kSegmentTaskRows;
  const uint64_t bytes = std::min(kLargeTaskBytes, memory / kTasksOfMemory);
  const uint64_t rows = bytes / std::max<uint64_t>(lane_bytes_a_row(program), 1);
  return std::clamp(std::bit_floor(rows), kSegmentTaskRows, kLargeTaskRows);
}

}  // namespace

int target_capability(int major, int minor) { return std::min(major * 10 + minor, kNewestCapability); }

CudaDevice::CudaDevice(std::shared_ptr<CudaContext> context, uint32_t number, uint64_t cache_size)
    : context_(std::move(context)),
      cache_(std::make_shared<GpuCache>(context_, number, cache_size)),
      kernels_(std::make_shared<EmbeddedKernels>(context_)) {}

CudaDevice::~CudaDevice() {
  context_->enter_to_release();
  for (const auto& [base, size] : pinned_) context_->driver().note(context_->driver().mem_host_unregister(base));
}

TbDeviceInfo CudaDevice::info() const {
  const GpuProperties& gpu = context_->properties();
  TbDeviceInfo info{};
  info.kind = 1;
  info.units = gpu.multiprocessors;
  set_text(info.name, gpu.name);
  set_text(info.target, "sm_" + std::to_string(gpu.major * 10 + gpu.minor));
  info.memory_total = gpu.memory_total;
  // What columns are kept in is not the queries'. A little less than the pool has: parameters are not
  // part of needs().
  info.memory_budget = (context_->device_memory().budget() - cache_->capacity()) / 64 * 63;
  const uint64_t used = context_->device_memory().used();
  info.cache_size = cache_->capacity();
  info.cache_used = cache_->used();
  info.memory_used = used > info.cache_used ? used - info.cache_used : 0;
  const SegmentTier::Found found = cache_->tier.found();
  info.cache_hits = found.hits;
  info.cache_misses = found.misses;
  info.clock_mhz = gpu.clock_mhz;
  info.l2_bytes = gpu.l2_bytes;
  info.numa_node = gpu.numa_node;
  set_text(info.pci_address, gpu.pci_address);
  info.usable = !context_->health().lost();
  info.queries_running = context_->queries_running.load(std::memory_order_relaxed);
  info.queries_total = context_->queries_total.load(std::memory_order_relaxed);
  set_text(info.message, context_->health().message());
  return info;
}

std::string CudaDevice::cpu() const {
  const GpuProperties& gpu = context_->properties();
  return "sm_" + std::to_string(target_capability(gpu.major, gpu.minor));
}

std::string CudaDevice::features() const { return "+ptx80"; }

Device::ChunkShape CudaDevice::chunk_shape(uint64_t nblocks, bool) const {
  uint64_t pages = kLargeSlot;
  if (nblocks < kLargeRelation)
    pages = std::clamp(std::bit_ceil(std::max<uint64_t>(nblocks / kChunksToOverlap, 1)), kSmallestSlot, kUsualSlot);
  const uint64_t chunks = (nblocks + pages - 1) / pages;
  const uint64_t slots = std::clamp<uint64_t>(chunks, 2, kMostSlots);
  return {static_cast<uint32_t>(pages), static_cast<uint32_t>(slots)};
}

std::unique_ptr<ExportedMemory> CudaDevice::export_memory(uint64_t bytes) {
  context_->enter(context_->driver());
  return std::make_unique<CudaExportedMemory>(context_, context_->driver(), bytes);
}

ExportPlace CudaDevice::export_place() const {
  const GpuProperties& gpu = context_->properties();
  return {gpu.uuid, gpu.ordinal, gpu.name};
}

bool CudaDevice::has_memory(uint64_t bytes) const {
  context_->enter(context_->driver());
  return context_->device_memory().can_give(bytes);
}

/* Whoever drops something wants the memory: the driver, and so other programs, get it. */
void CudaDevice::forget_dropped() {
  cache_->forget_dropped();
  context_->device_memory().release_unused();
}

/* Row ids stay with what reads pages. */
Device::SegmentShape CudaDevice::segment_shape(const Program& program, uint64_t nblocks) const {
  if (program.sink() == TB_SINK_ROWS) return {};
  const bool large = nblocks >= kLargeRelation || program.source() == TB_SOURCE_FILES;
  const uint64_t rows = task_rows(program, large, context_->device_memory().budget());
  uint64_t of_row = 1;  // at most, as they cross
  for (const TbColumn& column : program.columns().first(program.source_columns())) of_row += tb_type_width(column.type);
  const uint64_t decoded = std::max(kDecodedTaskBytes / of_row, kLeastDecodedRows);
  return {.rows = rows,
          .decoded_rows = std::min(rows, decoded),
          .threads = 1,
          .remembered_rows = cache_->tier.capacity() / kRememberedPart / of_row,
          .told_rows = kToldRows};
}

std::shared_ptr<LoadedCode> CudaDevice::load(std::span<const uint8_t> artifact, const Program& program) {
  context_->enter(context_->driver());
  // It takes the driver a while, and will be wanted when the rows are there.
  if (program.sink() == TB_SINK_BUILD) kernels_->tables.ready();
  if (program.grouped()) kernels_->groups.ready();
  return std::make_shared<CudaCode>(context_, artifact, program);
}

std::string CudaDevice::machine_code(std::span<const uint8_t> artifact) {
  context_->enter(context_->driver());
  return link_machine_code(context_->driver(), artifact);
}

/* Slot memory that cannot be pinned is slower to copy from, not wrong. */
void CudaDevice::register_slot_memory(void* base, uint64_t size) {
  const Driver& driver = context_->driver();
  context_->enter_to_release();
  const CallResult call = driver.mem_host_register(base, static_cast<size_t>(size), kHostRegisterPortable);
  if (!call.ok()) {
    driver.note(call);
    return;
  }
  std::lock_guard lock(pinned_mutex_);
  pinned_.emplace(base, size);
}

void CudaDevice::unregister_slot_memory(void* base) {
  {
    std::lock_guard lock(pinned_mutex_);
    if (pinned_.erase(base) == 0) return;
  }
  context_->enter_to_release();
  context_->driver().note(context_->driver().mem_host_unregister(base));
}

QueryNeeds CudaDevice::needs(const Program& program, double estimated_rows, uint32_t slot_pages,
                             uint32_t nslots) const {
  const uint64_t lanes = std::min(nslots, CudaQuery::kLanes);
  // Slots of this size are those of large relations; files need none. Tasks end with a whole segment.
  const bool large = slot_pages == kLargeSlot || program.source() == TB_SOURCE_FILES;
  const uint64_t budget = context_->device_memory().budget();
  const uint64_t segment_rows = program.sink() == TB_SINK_ROWS ? 0
                                                               : task_rows(program, large, budget) + kMostSegmentRows;
  uint64_t bytes = lanes * lane_device_bytes(program, slot_pages, segment_rows);
  if (program.sink() == TB_SINK_AGGREGATE) bytes += initial_group_table(program, estimated_rows, budget).device_bytes();
  return {bytes};
}

uint64_t CudaDevice::table_bytes(const Program& program, const JoinTables& tables) const {
  return device_table_bytes(tables) + MatchedRows::bytes_for(program, tables);
}

std::unique_ptr<DeviceQuery> CudaDevice::start(std::shared_ptr<const Program> program,
                                               std::shared_ptr<const std::string> params,
                                               std::shared_ptr<LoadedCode> code, JoinTables tables,
                                               double estimated_rows, uint64_t budget, QueryProfile* profile) {
  auto cuda_code = std::dynamic_pointer_cast<const CudaCode>(code);
  if (!cuda_code) throw DeviceError(TB_FALLBACK_COMPILE, "code that was not loaded on a GPU");
  auto faults = fault_from_query(QueryFaultScope::armed());
  context_->enter(context_->driver());
  try {
    return std::make_unique<CudaQuery>(context_, cache_, kernels_, std::move(faults), std::move(program),
                                       std::move(params), std::move(cuda_code), std::move(tables), estimated_rows,
                                       budget, profile);
  } catch (const std::bad_alloc&) {
    throw DeviceError(TB_FALLBACK_HOST_MEMORY, "out of memory");
  } catch (const std::system_error& error) {
    throw DeviceError(TB_FALLBACK_HOST_MEMORY, std::string("no thread for the query: ") + error.what());
  }
}

}  // namespace turbine::cuda
