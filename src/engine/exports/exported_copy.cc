/*
 * exported_copy.cc - see exported_copy.h.
 *
 * Called by exports.cc on sessions' threads. Must never let an importer believe in more bytes than a file has: reading
 * behind its end would kill the importer.
 */
#include "engine/exports/exported_copy.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "engine/wire/message_bytes.h"
#include "engine/wire/protocol_error.h"

namespace turbine {
namespace {

constexpr uint64_t kHostPage = 4096;
constexpr uint64_t kMostExportedRows = TB_EXPORT_MOST_BYTES / 16 - 1;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE;

uint64_t rounded(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

std::string take_text(std::span<const uint8_t>& from, uint64_t length) {
  if (length > from.size()) throw ProtocolError("EXPORT_CREATE is too short");
  std::string text(reinterpret_cast<const char*>(from.data()), length);
  from = from.subspan(length);
  return text;
}

void check_shape(const TbExportColumn& column, uint64_t rows) {
  if (tb_export_width(column.format) == 0) throw ProtocolError("EXPORT_CREATE: bad format");
  if (column.nulls > rows) throw ProtocolError("EXPORT_CREATE: more NULLs than rows");
  if (column.bytes > TB_EXPORT_MOST_BYTES || (column.bytes > 0 && !tb_export_has_bytes(column.format)))
    throw ProtocolError("EXPORT_CREATE: bad length of texts");
}

/* Regions' lengths, and their places in a memfd. */
void place_in_file(ExportedColumn& column, uint32_t number, uint64_t rows) {
  const uint64_t base = tb_export_base_of(number);
  static_cast<ExportRegions&>(column) = export_regions(column.shape, rows);
  column.values.offset = base + TB_EXPORT_VALUES_AT;
  column.validity.offset = base + TB_EXPORT_VALIDITY_AT;
  column.bytes.offset = base + TB_EXPORT_BYTES_AT;
  column.bits.offset = base + TB_EXPORT_BITS_AT;
  column.allocation = rounded(column.values.bytes, kHostPage);
}

/* A region of a memfd, mapped for reading. */
class MappedRegion {
 public:
  MappedRegion(int file, const ExportRegion& region) : bytes_(region.bytes) {
    if (bytes_ == 0) return;
    place_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, static_cast<off_t>(region.offset));
    if (place_ == MAP_FAILED)
      throw DeviceError(TB_FALLBACK_HOST_MEMORY, std::string("a column cannot be mapped: ") + strerror(errno));
  }
  ~MappedRegion() {
    if (bytes_ > 0) munmap(place_, bytes_);
  }
  MappedRegion(const MappedRegion&) = delete;
  const uint8_t* data() const { return static_cast<const uint8_t*>(place_); }

 private:
  const uint64_t bytes_;
  void* place_ = nullptr;
};

void append_json(std::string& to, const std::string& text) {
  to += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      to += '\\';
      to += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      snprintf(escaped, sizeof escaped, "\\u%04x", c);
      to += escaped;
    } else {
      to += c;
    }
  }
  to += '"';
}

void append_member(std::string& to, const char* name, const std::string& text) {
  to += std::string(",\"") + name + "\":";
  append_json(to, text);
}

void append_member(std::string& to, const char* name, uint64_t number) {
  to += std::string(",\"") + name + "\":" + std::to_string(number);
}

void append_region(std::string& to, const char* name, const ExportRegion& region) {
  to += std::string(",\"") + name + "\":[" + std::to_string(region.offset) + "," + std::to_string(region.bytes) + "]";
}

std::string hex(std::span<const uint8_t> bytes) {
  std::string text;
  char digits[3];
  for (const uint8_t byte : bytes) {
    snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

void append_column(std::string& to, const ExportedColumn& column, uint64_t number) {
  const TbExportColumn& shape = column.shape;
  to += "{\"fd\":" + std::to_string(number);
  append_member(to, "name", column.name);
  append_member(to, "sql_type", column.type);
  append_member(to, "format", std::string(tb_export_format_name(shape.format)));
  if (shape.format == TB_EXPORT_DECIMAL128) {
    append_member(to, "precision", shape.precision);
    append_member(to, "scale", shape.scale);
  }
  append_member(to, "nulls", shape.nulls);
  append_member(to, "allocation_bytes", column.allocation);
  append_region(to, "values", column.values);
  if (shape.nulls > 0)
    append_region(to, "validity", column.validity);
  else
    to += ",\"validity\":null";
  if (tb_export_has_bytes(shape.format)) append_region(to, "bytes", column.bytes);
  if (shape.format == TB_EXPORT_BOOL) append_region(to, "bits", column.bits);
  to += '}';
}

}  // namespace

ExportRequest parse_export(std::span<const uint8_t> payload) {
  ExportRequest request;
  const auto create = request.create = read_head<TbExportCreate>(payload, "EXPORT_CREATE");
  if (create.ncolumns == 0 || create.ncolumns > TB_EXPORT_MOST_COLUMNS || create.rows > kMostExportedRows)
    throw ProtocolError("EXPORT_CREATE: bad number of columns or rows");
  for (uint32_t i = 0; i < create.ncolumns; i++) {
    ExportedColumn& column = request.columns.emplace_back();
    column.shape = read_head<TbExportColumn>(payload, "EXPORT_CREATE");
    check_shape(column.shape, create.rows);
    place_in_file(column, i, create.rows);
  }
  request.source = take_text(payload, create.source_length);
  request.revision = take_text(payload, create.revision_length);
  for (ExportedColumn& column : request.columns) {
    column.name = take_text(payload, column.shape.name_length);
    column.type = take_text(payload, column.shape.type_length);
  }
  if (!payload.empty()) throw ProtocolError("EXPORT_CREATE is too long");
  return request;
}

void take_files(ExportRequest& request, std::vector<UniqueFd> files) {
  const uint32_t ncolumns = request.create.ncolumns;
  if (files.size() != tb_export_files(ncolumns)) throw ProtocolError("EXPORT_CREATE: a wrong number of files");
  std::vector<std::shared_ptr<UniqueFd>> taken;
  for (UniqueFd& file : files) {
    struct stat found;
    const int seals = fcntl(file.get(), F_GET_SEALS);
    if (seals < 0 || (seals & kSeals) != kSeals) throw ProtocolError("EXPORT_CREATE: a file is not sealed");
    if (fstat(file.get(), &found) != 0 || static_cast<uint64_t>(found.st_size) != tb_export_file_size(ncolumns))
      throw ProtocolError("EXPORT_CREATE: a file of a wrong size");
    taken.push_back(std::make_shared<UniqueFd>(std::move(file)));
  }
  for (uint32_t i = 0; i < ncolumns; i++) request.columns[i].file = taken[tb_export_file_of(i)];
}

void use_streamed(ExportRequest& request, const StreamedBatch& batch) {
  if (batch.rows != request.create.rows || batch.shapes.size() != request.columns.size())
    throw ProtocolError("EXPORT_STREAMED: another batch");
  for (uint32_t i = 0; i < request.columns.size(); i++) {
    ExportedColumn& column = request.columns[i];
    const TbExportColumn& made = batch.shapes[i];
    if (made.format != column.shape.format || made.nulls != column.shape.nulls || made.bytes != column.shape.bytes)
      throw ProtocolError("EXPORT_STREAMED: another column");
    // The batch goes back to its stream with the last of them.
    if (batch.on_device) {
      static_cast<ExportRegions&>(column) = batch.on_device->regions(i);
      column.memory = std::shared_ptr<ExportedMemory>(batch.on_device, &batch.on_device->memory(i));
      column.allocation = column.memory->size();
    } else {
      column.file = std::shared_ptr<UniqueFd>(batch.memory, &batch.memory->file(i));
    }
  }
  if (batch.on_device) request.placed_on = batch.on_device->device();
}

uint64_t host_bytes(const ExportRequest& request) {
  uint64_t bytes = 0;
  for (const ExportedColumn& column : request.columns)
    for (const auto region : ExportRegions::kEach) bytes += rounded((column.*region).bytes, kHostPage);
  return bytes;
}

uint64_t device_bytes(const ExportRequest& request) {
  uint64_t bytes = 0;
  for (ExportRegions regions : request.columns) bytes += device_pages(place_on_device(regions));
  return bytes;
}

void take_memory(ExportedColumn& column, DeviceColumn from) {
  static_cast<ExportRegions&>(column) = from.regions;
  column.allocation = from.memory->size();
  column.memory = std::move(from.memory);
  column.file.reset();
}

void move_to_device(std::vector<ExportedColumn>& columns, Device& device) {
  std::vector<DeviceColumn> moved;
  for (const ExportedColumn& column : columns) {
    DeviceColumn& to = moved.emplace_back(DeviceColumn{column, column.shape.nulls, nullptr});
    to.memory = device.export_memory(place_on_device(to.regions));
    if (!to.memory) throw DeviceError(TB_FALLBACK_NO_DEVICE, "the device has no memory for other processes");
    for (const auto region : ExportRegions::kEach) {
      const MappedRegion from(column.file->get(), column.*region);
      if ((column.*region).bytes > 0)
        to.memory->write((to.regions.*region).offset, from.data(), (column.*region).bytes);
    }
    to.memory->seal();
  }
  // All are there: the files can go.
  for (size_t c = 0; c < columns.size(); c++) take_memory(columns[c], std::move(moved[c]));
}

std::string ExportedCopy::describe(std::span<const uint32_t> which) const {
  std::string text = "{\"version\":" + std::to_string(TB_IMPORT_VERSION);
  append_member(text, "rows", info.rows);
  if (source.empty())
    text += ",\"source\":null";
  else
    append_member(text, "source", source);
  append_member(text, "revision", revision);
  if (info.device == TB_DEVICE_HOST) {
    text += ",\"device\":{\"kind\":\"host\"}";
  } else {
    text += ",\"device\":{\"kind\":\"cuda\"";
    append_member(text, "ordinal", static_cast<uint64_t>(place.ordinal));
    append_member(text, "uuid", hex(place.uuid));
    append_member(text, "name", place.name);
    text += '}';
  }
  text += ",\"columns\":[";
  for (size_t i = 0; i < which.size(); i++) {
    if (i > 0) text += ',';
    append_column(text, columns[which[i]], i);
  }
  return text + "]}";
}

}  // namespace turbine
