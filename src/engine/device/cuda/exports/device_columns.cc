/*
 * device_columns.cc - see device_columns.h.
 *
 * Owns what kernels are told, for as long as they run. Called by cuda_query.cc on the query's thread, once.
 */
#include "engine/device/cuda/exports/device_columns.h"

#include <algorithm>

#include "engine/device/cuda/exports/export_kernels.h"
#include "engine/device/cuda/memory/cuda_exported_memory.h"

namespace turbine::cuda {
namespace {

constexpr unsigned kExportBlocksPerMultiprocessor = 8;

/* TbExportStep, or 0: values of this type do not become that format. */
uint32_t step_of(uint32_t type, uint32_t format) {
  auto step_if = [format](uint32_t wanted, uint32_t step) { return format == wanted ? step : 0; };
  switch (type) {
    case TB_TYPE_BOOL: return step_if(TB_EXPORT_BOOL, TB_EXPORT_COPY);
    case TB_TYPE_INT2: return step_if(TB_EXPORT_INT16, TB_EXPORT_COPY);
    case TB_TYPE_INT4: return step_if(TB_EXPORT_INT32, TB_EXPORT_COPY);
    case TB_TYPE_INT8: return step_if(TB_EXPORT_INT64, TB_EXPORT_COPY);
    case TB_TYPE_FLOAT4: return step_if(TB_EXPORT_FLOAT32, TB_EXPORT_COPY);
    case TB_TYPE_FLOAT8: return step_if(TB_EXPORT_FLOAT64, TB_EXPORT_COPY);
    case TB_TYPE_DATE: return step_if(TB_EXPORT_DATE32, TB_EXPORT_DATE);
    case TB_TYPE_TIMESTAMP: return step_if(TB_EXPORT_TIMESTAMP, TB_EXPORT_TIME_POINT);
    case TB_TYPE_TIMESTAMPTZ: return step_if(TB_EXPORT_TIMESTAMPTZ, TB_EXPORT_TIME_POINT);
    case TB_TYPE_NUM64: return step_if(TB_EXPORT_DECIMAL128, TB_EXPORT_WIDEN);
    case TB_TYPE_NUM128: return step_if(TB_EXPORT_DECIMAL128, TB_EXPORT_COPY);
    default: return 0;
  }
}

/* A part, and where its first row belongs. */
struct PlacedPart {
  const DeviceRows::Part* part;
  uint64_t first;
};

std::vector<PlacedPart> place_parts(const DeviceRows& rows, const TableOrder* order) {
  std::vector<PlacedPart> placed;
  uint64_t nrows = 0;
  for (const DeviceRows::Part& part : rows.parts()) {
    placed.push_back({&part, nrows});
    nrows += part.nrows;
  }
  if (!order) return placed;
  // The order names parts by where they lie among those that came before.
  std::vector<PlacedPart> in_order;
  for (uint64_t row = 0; row < nrows;) {
    const TableOrder::Part next = order->find(row);
    const auto part = std::lower_bound(placed.begin(), placed.end(), next.first,
                                       [](const PlacedPart& p, uint64_t first) { return p.first < first; });
    if (part == placed.end() || part->first != next.first || part->part->nrows != next.count)
      throw DeviceError(TB_FALLBACK_DEVICE_LOST, "the device's rows are not those of its chunks");
    in_order.push_back({part->part, row});
    row += next.count;
  }
  return in_order;
}

/* What kernels are told, in pinned memory and on the device. */
class Jobs {
 public:
  Jobs(const ColumnResources& r, size_t nvalues, size_t nbits)
      : r_(r),
        bits_at_(nvalues * sizeof(TbExportValues)),
        size_(bits_at_ + nbits * sizeof(TbExportBits)),
        pinned_(r.context->pinned_memory().allocate(r.driver, std::max<uint64_t>(size_, 1), nullptr)),
        device_(r.context->device_memory().allocate(r.driver, std::max<uint64_t>(size_, 1), &r.account)) {}

  std::span<TbExportValues> values() {
    return {reinterpret_cast<TbExportValues*>(pinned_.host()), bits_at_ / sizeof(TbExportValues)};
  }
  std::span<TbExportBits> bits() {
    return {reinterpret_cast<TbExportBits*>(pinned_.host() + bits_at_), (size_ - bits_at_) / sizeof(TbExportBits)};
  }

  /* Runs all kernels, and waits: then the jobs say what came of them. */
  void run() {
    if (size_ == 0) return;
    r_.driver.check(r_.driver.memcpy_htod_async(device_.device(), pinned_.host(), size_, r_.stream));
    // Bits of a BOOL are made of its values.
    for (size_t i = 0; i < values().size(); i++)
      launch(r_.kernels.values, i * sizeof(TbExportValues), values()[i].nrows);
    for (size_t i = 0; i < bits().size(); i++)
      launch(r_.kernels.bits, bits_at_ + i * sizeof(TbExportBits), bits()[i].nrows);
    r_.driver.check(r_.driver.memcpy_dtoh_async(pinned_.host(), device_.device(), size_, r_.stream));
    r_.driver.check(r_.driver.stream_synchronize(r_.stream));
  }

 private:
  void launch(Function kernel, uint64_t offset, uint64_t rows) const {
    const uint64_t most = uint64_t{r_.context->properties().multiprocessors} * kExportBlocksPerMultiprocessor;
    const uint64_t blocks = std::clamp<uint64_t>((rows + TB_EXPORT_THREADS - 1) / TB_EXPORT_THREADS, 1, most);
    DevicePtr argument = device_.device() + offset;
    void* parameters[] = {&argument};
    r_.driver.check(r_.driver.launch_kernel(kernel, static_cast<unsigned>(blocks), 1u, 1u, TB_EXPORT_THREADS, 1u, 1u,
                                            0u, r_.stream, static_cast<void**>(parameters),
                                            static_cast<void**>(nullptr)));
  }

  const ColumnResources& r_;
  const uint64_t bits_at_, size_;
  const Block pinned_, device_;
};

void clear(const ColumnResources& r, DevicePtr at, const ExportRegion& region) {
  if (region.bytes > 0)
    r.driver.check(
        r.driver.memset_d8_async(at + region.offset, 0, (static_cast<size_t>(region.bytes) + 3) / 4 * 4, r.stream));
}

}  // namespace

bool becomes(const KeptColumn& column, uint32_t format) { return step_of(column.type, format) != 0; }

std::vector<DeviceColumn> make_columns(const DeviceRows& rows, const TableOrder* order,
                                       std::span<const TbColumnLeft> asked, const ColumnResources& r) {
  const std::vector<KeptColumn>& kept = rows.shape().columns;
  const std::vector<PlacedPart> parts = place_parts(rows, order);
  size_t with_bits = 0;
  for (const TbColumnLeft& column : asked) {
    if (column.column >= kept.size() || !becomes(kept[column.column], column.format))
      throw DeviceError(TB_FALLBACK_PROTOCOL, "a column does not become what was asked for");
    with_bits += (column.format == TB_EXPORT_BOOL) + (kept[column.column].nullable ? 1 : 0);
  }

  // Memory, and what is to be done in it.
  Jobs jobs(r, asked.size() * parts.size(), with_bits * parts.size());
  std::vector<DeviceColumn> columns;
  const StreamWait wait(r.driver, r.stream);  // whatever fails, before memory goes
  TbExportValues* values = jobs.values().data();
  TbExportBits* bits = jobs.bits().data();
  for (const TbColumnLeft& want : asked) {
    const KeptColumn& from = kept[want.column];
    DeviceColumn& column = columns.emplace_back();
    column.regions = device_column_regions(want.format, rows.rows(), from.nullable);
    auto memory = std::make_unique<CudaExportedMemory>(r.context, r.driver, place_on_device(column.regions));
    const DevicePtr at = memory->address();
    column.memory = std::move(memory);
    clear(r, at, column.regions.validity);
    clear(r, at, column.regions.bits);
    const uint32_t width = tb_type_width(from.type), step = step_of(from.type, want.format);
    for (const PlacedPart& placed : parts) {
      const TbColumnData& stored = placed.part->columns[want.column];
      auto* to = reinterpret_cast<uint8_t*>(at + column.regions.values.offset +
                                            placed.first * tb_export_width(want.format));
      *values++ = {static_cast<const uint8_t*>(stored.values), stored.valid, to, placed.part->nrows, step, width, 0, 0};
      auto add_bits = [&](const uint8_t* flags, const ExportRegion& region) {
        *bits++ = {flags, reinterpret_cast<uint32_t*>(at + region.offset), placed.first, placed.part->nrows, 0};
      };
      if (from.nullable) add_bits(stored.valid, column.regions.validity);
      if (want.format == TB_EXPORT_BOOL) add_bits(to, column.regions.bits);
    }
  }
  jobs.run();

  // What came of it.
  for (const TbExportValues& job : jobs.values())
    if (job.error) throw DeviceError(TB_FALLBACK_VALUE, "a value has no form outside of PostgreSQL");
  const TbExportBits* done = jobs.bits().data();
  for (size_t c = 0; c < columns.size(); c++) {
    const size_t each = (kept[asked[c].column].nullable ? 1 : 0) + (asked[c].format == TB_EXPORT_BOOL);
    for (size_t part = 0; part < parts.size(); part++, done += each)
      if (kept[asked[c].column].nullable) columns[c].nulls += done->zeros;
    if (columns[c].nulls == 0) columns[c].regions.validity.bytes = 0;
    columns[c].memory->seal();
  }
  return columns;
}

}  // namespace turbine::cuda
