/*
 * host_device.cc - the processor's threads as a device.
 *
 * Owns the pool of threads that all queries share, and the decode queue. Found by
 * machine/find_devices.cc. It must never start a thread for a query.
 */
#include "engine/device/host/host_device.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "engine/device/host/host_group_table.h"
#include "engine/device/host/host_row_store.h"
#include "engine/limits/process_limits.h"

namespace turbine {
namespace {

/* A table of a query without an estimate: has room for a tile, fits L2. */
constexpr uint64_t kMinGroups = 2 * TB_TILE_ROWS;
constexpr uint64_t kMaxFirstGroups = 1 << 18;
/* Kept rows: growth copies nothing, so that a worker's share is soon enough. */
constexpr uint64_t kFirstRows = TB_TILE_ROWS;

constexpr uint32_t kMinSlotPages = 16, kMaxSlotPages = 256;

/* Of pages that a backend writes: they should be in the caches yet when they are
 * decoded, but the more threads there are the more chunks one backend has to serve. */
uint64_t most_copied_pages(uint64_t threads) { return std::clamp<uint64_t>(32 * threads, 64, kMaxSlotPages); }

/* The first value of a field of /proc/cpuinfo; "" if there is none. */
std::string cpuinfo(const std::string& field) {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (line.compare(0, field.size(), field) != 0 || colon == std::string::npos) continue;
    const size_t value = line.find_first_not_of(" \t", colon + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

const char* instruction_set() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4")) return "x86-64-v4";
  if (__builtin_cpu_supports("x86-64-v3")) return "x86-64-v3";
  return "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "native";
#endif
}

uint64_t first_groups(double estimated_groups) {
  const double most = kMaxFirstGroups;
  // NaN and negative estimates end at the minimum.
  const double groups = estimated_groups > 0 ? std::min(estimated_groups, most) : 0;
  return std::max<uint64_t>(static_cast<uint64_t>(groups) + TB_TILE_ROWS, kMinGroups);
}

/* Of the sink, a worker. */
uint64_t first_capacity(const Program& program, double estimated_rows) {
  return program.sink() == TB_SINK_AGGREGATE ? first_groups(estimated_rows) : kFirstRows;
}

uint64_t first_bytes(const Program& program, uint64_t capacity) {
  switch (program.sink()) {
    case TB_SINK_ROWS: return 0;
    case TB_SINK_AGGREGATE:
      return HostGroupTable::bytes_for(group_layout(program).row_size, program.grouped() ? capacity : 1);
    default: {
      const KeptRowLayout rows = kept_row_layout(program);
      return HostRowStore::bytes_for(rows, rows.nkeys > 0, capacity);
    }
  }
}

/* Of a row that is kept; of a BUILD also what the table takes while both are there. */
double kept_row_bytes(const Program& program) {
  constexpr double kSlotsAndChain = 28;
  const KeptRowLayout rows = kept_row_layout(program);
  double bytes = rows.nkeys > 0 ? sizeof(uint64_t) : 0;
  for (const KeptColumn& column : rows.columns) bytes += tb_type_width(column.type) + (column.nullable ? 1 : 0);
  return program.sink() == TB_SINK_BUILD ? 2 * bytes + kSlotsAndChain : bytes;
}

/* Rows of a task of segments: enough to make little of what a task costs, few enough to spread. Of a
 * small table each thread should get some tasks all the same. */
constexpr uint64_t kSegmentTaskRows = 64 << 10;
constexpr uint32_t kTasksPerThread = 4;

/* Half may wait for a word to the backend while the threads have the others. */
uint64_t most_slots(uint64_t threads) { return 2 * threads + 4; }

/* Those of two queries. Together they should fit the caches, and each waits for a word
 * from its backend. */
size_t usual_decoded_chunks(size_t threads) { return 2 * most_slots(threads); }

/* Where many cursors are left open; chunks of more are decoded when they run. */
size_t most_decoded_chunks(size_t threads) { return 16 * most_slots(threads); }

uint64_t memory_budget(const HostDeviceOptions& options) {
  return options.memory_budget ? options.memory_budget : memory_limit() / 4;
}

/* Little beside what queries may use, and enough for a few of them. */
uint64_t most_idle_bytes(uint64_t budget) { return std::min<uint64_t>(budget / 32, 512 << 20); }

}  // namespace

std::string host_cpu_fingerprint() {
  return cpuinfo("model name") + "|" + cpuinfo("model\t") + "|" + cpuinfo("stepping") + "|" +
         (cpuinfo("flags").empty() ? cpuinfo("Features") : cpuinfo("flags"));
}

HostDevice::HostDevice(const HostDeviceOptions& options)
    : idle_memory_(most_idle_bytes(memory_budget(options))),
      workers_(options.threads ? options.threads : usable_processors()),
      decode_queue_(pool_, usual_decoded_chunks(workers_.size()), most_decoded_chunks(workers_.size())),
      pool_("worker", static_cast<unsigned>(workers_.size()), [this] { return decode_queue_.start_waiting(); }) {
  info_.kind = 0;
  info_.units = pool_.size();
  const std::string model = cpuinfo("model name");
  snprintf(info_.name, sizeof info_.name, "%s", model.empty() ? "host" : model.c_str());
  snprintf(info_.target, sizeof info_.target, "%s", instruction_set());
  info_.memory_total = memory_limit();
  info_.memory_budget = memory_budget(options);
  info_.usable = 1;
}

Device::SegmentShape HostDevice::segment_shape(const Program&, uint64_t) const {
  return {.rows = kSegmentTaskRows, .tasks = kTasksPerThread * std::max(pool_.size(), 1u)};
}

Device::ChunkShape HostDevice::chunk_shape(uint64_t nblocks, bool copied) const {
  // Four chunks a thread even out the end; small ones cost a message each.
  const uint64_t pages = nblocks / (uint64_t{pool_.size()} * 4);
  const uint64_t most = copied ? most_copied_pages(pool_.size()) : kMaxSlotPages;
  // Of pages that we read, whole segments.
  const uint32_t unit = copied ? kMinSlotPages : TB_SEGMENT_BLOCKS;
  const auto slot_pages = static_cast<uint32_t>(std::clamp<uint64_t>(pages / unit * unit, unit, most));
  const uint64_t chunks = nblocks / slot_pages + 1;
  const uint64_t slots = std::min(most_slots(pool_.size()), chunks + 1);
  return {slot_pages, static_cast<uint32_t>(std::clamp<uint64_t>(slots, 2, TB_MAX_SLOTS)), pool_.size()};
}

std::shared_ptr<LoadedCode> HostDevice::load(std::span<const uint8_t> artifact, const Program& program) {
  return std::make_shared<HostCode>(artifact, program.source() == TB_SOURCE_HEAP);
}

std::string HostDevice::machine_code(std::span<const uint8_t> artifact) {
  return {reinterpret_cast<const char*>(artifact.data()), artifact.size()};
}

/* Rows are kept until the end, so that they are granted as estimated, texts
 * apart; but no estimate alone takes most of the budget, or refuses a query. */
QueryNeeds HostDevice::needs(const Program& program, double estimated_rows, uint32_t, uint32_t) const {
  const uint64_t first = pool_.size() * first_bytes(program, first_capacity(program, estimated_rows)) +
                         HostEntryResults::most_bytes(program, pool_.size());
  if (program.sink() != TB_SINK_PROJECT && program.sink() != TB_SINK_BUILD) return {first};
  const auto most = static_cast<double>(info_.memory_budget / 4);
  const double expected = estimated_rows > 0 ? std::min(estimated_rows * kept_row_bytes(program), most) : 0;
  return {std::max(first, static_cast<uint64_t>(expected))};
}

std::unique_ptr<DeviceQuery> HostDevice::start(std::shared_ptr<const Program> program,
                                               std::shared_ptr<const std::string> params,
                                               std::shared_ptr<LoadedCode> code, JoinTables tables,
                                               double estimated_rows, uint64_t budget, QueryProfile* profile) {
  auto host_code = std::dynamic_pointer_cast<HostCode>(code);
  if (!host_code) throw DeviceError(TB_FALLBACK_COMPILE, "code of another device");
  const uint64_t capacity = first_capacity(*program, estimated_rows);
  return std::make_unique<HostQuery>(std::move(program), std::move(params), std::move(host_code), std::move(tables),
                                     capacity, budget, idle_memory_, pool_, workers_, decode_queue_, profile);
}

}  // namespace turbine
