/*
 * primitive_column.cc - see primitive_column.h.
 *
 * Owns what one column of one batch is converted by. Called by ipc_file.cc. Must never read beyond what the batch's
 * header has said and the file's size allows.
 */
#include "engine/source/files/arrow/ipc/primitive_column.h"

#include <cstring>
#include <optional>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/bit_util.h>

#include "engine/memory/alignment.h"
#include "engine/source/files/arrow/geometry_values.h"
#include "turbine/point_column.h"

namespace turbine {
namespace {

/* Of the array that conversions read; room enough for vectors behind it. */

uint64_t bytes_of_bits(uint64_t count) { return count / 8 + (count % 8 != 0); }

}  // namespace

bool has_primitive_layout(const arrow::DataType& type) {
  return (arrow::is_primitive(type.id()) && !arrow::is_interval(type.id())) || arrow::is_decimal(type.id());
}

namespace {

/* A coordinate's number within its struct; none of other columns. */
std::optional<uint32_t> coordinate_of(const BoundColumn& bound, const arrow::DataType& type) {
  if (!is_stored_coordinate(bound.wanted, type)) return std::nullopt;
  return tb_point_coordinate(bound.wanted.point_form);
}

/* As the numbers that they are, once it is known that the points fit. */
WantedColumn as_number(WantedColumn wanted) {
  wanted.is_coordinate = false;
  return wanted;
}

}  // namespace

PrimitiveColumn::PrimitiveColumn(const BoundColumn& bound, std::shared_ptr<arrow::DataType> type,
                                 const FieldPlace& place, const IpcBatch& batch, const BatchLayout& layout)
    : name_(bound.wanted.name), type_(std::move(type)) {
  const auto coordinate = coordinate_of(bound, *type_);
  // Behind a struct's node and its bits come those of its numbers, and their values.
  const uint32_t node_at = place.first_node + (coordinate ? 1 + *coordinate : 0);
  const uint32_t values_at = place.first_buffer + 1 + (coordinate ? 1 + 2 * *coordinate : 0);
  if (coordinate) {
    (void)column_values(*type_, bound.wanted);
    type_ = type_->field(static_cast<int>(*coordinate))->type();
  }
  conversion_ = column_values(*type_, as_number(bound.wanted));
  bits_ = static_cast<uint32_t>(static_cast<const arrow::FixedWidthType&>(*type_).bit_width());
  if (node_at >= layout.nodes.size() || values_at >= layout.buffers.size())
    throw FileError("a batch without some columns");
  const IpcNode &node = layout.nodes[place.first_node], &values = layout.nodes[node_at];
  if (node.length < 0 || static_cast<uint64_t>(node.length) != batch.rows || values.length != node.length)
    throw FileError("columns of a batch differ in length");
  if (node.nulls > node.length) throw FileError("column \"" + name_ + "\": more NULLs than rows");
  has_nulls_ = node.nulls != 0;  // less than 0: nobody has counted them
  if (has_nulls_) valid_ = place_of(layout.buffers[place.first_buffer], 1, batch);
  has_null_coordinates_ = coordinate && values.nulls != 0;
  if (has_null_coordinates_) valid_coordinates_ = place_of(layout.buffers[values_at - 1], 1, batch);
  values_ = place_of(layout.buffers[values_at], bits_, batch);
}

int64_t PrimitiveColumn::place_of(const IpcBuffer& buffer, uint64_t bits, const IpcBatch& batch) const {
  uint64_t needed;
  if (buffer.offset < 0 || buffer.length < 0 || buffer.offset > batch.body_bytes ||
      buffer.length > batch.body_bytes - buffer.offset || __builtin_mul_overflow(batch.rows, bits, &needed) ||
      bytes_of_bits(needed) > static_cast<uint64_t>(buffer.length))
    throw FileError("column \"" + name_ + "\": its values leave the batch");
  return batch.offset + batch.header_bytes + buffer.offset;
}

uint64_t PrimitiveColumn::bytes(uint64_t rows) const {
  return bytes_of_bits(rows * bits_) + (has_nulls_ ? bytes_of_bits(rows) : 0);
}

void PrimitiveColumn::read(arrow::io::RandomAccessFile& file, int64_t place, uint64_t first, uint64_t bytes,
                           uint8_t* to) const {
  const int64_t from = place + static_cast<int64_t>(first), end = from + static_cast<int64_t>(bytes);
  for (size_t i = 0; i < held_.size(); i++) {
    const int64_t begin = held_ranges_[i].position;
    if (from < begin || end > begin + held_[i]->size()) continue;
    memcpy(to, held_[i]->data() + (from - begin), bytes);
    return;
  }
  const auto read = file.ReadAt(from, static_cast<int64_t>(bytes), to);
  check_status(read.status());
  if (*read != static_cast<int64_t>(bytes))
    throw FileError("column \"" + name_ + "\": the file ends before its values");
}

/* From a whole byte on, as append() reads them. */
std::vector<StoredFile::Range> PrimitiveColumn::ranges(uint64_t first, uint64_t end) const {
  first = first / 8 * 8;
  const auto range = [&](int64_t place, uint64_t bits) {
    const uint64_t from = first * bits / 8;
    return StoredFile::Range{place + static_cast<int64_t>(from),
                             static_cast<int64_t>(bytes_of_bits(end * bits) - from)};
  };
  std::vector<StoredFile::Range> ranges = {range(values_, bits_)};
  if (has_nulls_) ranges.push_back(range(valid_, 1));
  if (has_null_coordinates_) ranges.push_back(range(valid_coordinates_, 1));
  return ranges;
}

void PrimitiveColumn::hold(std::vector<StoredFile::Range> ranges, std::vector<std::shared_ptr<arrow::Buffer>> bytes) {
  held_ranges_ = std::move(ranges);
  held_ = std::move(bytes);
}

/* Only points that are NULL may have NULL coordinates. `valid`: bits of the points, from `start` on; null: all are. */
void PrimitiveColumn::check_coordinates(arrow::io::RandomAccessFile& file, uint64_t start, uint64_t nrows,
                                        const uint8_t* valid) const {
  std::vector<uint8_t> bits(bytes_of_bits(nrows));
  read(file, valid_coordinates_, start / 8, bits.size(), bits.data());
  for (uint64_t i = 0; i < nrows; i++)
    if (!arrow::bit_util::GetBit(bits.data(), static_cast<int64_t>(i)) &&
        (!valid || arrow::bit_util::GetBit(valid, static_cast<int64_t>(i))))
      throw FileError("column \"" + name_ + "\": a NULL within a shape");
}

void PrimitiveColumn::append(arrow::io::RandomAccessFile& file, uint64_t from, uint32_t count,
                             std::vector<uint8_t>& room, ColumnRows& rows) const {
  if (conversion_->as_they_are() && !has_nulls_ && !has_null_coordinates_)
    return read(file, values_, from * bits_ / 8, uint64_t{count} * bits_ / 8, rows.append<uint8_t>(count));
  // Bits are read from a whole byte on.
  const uint64_t start = has_nulls_ || has_null_coordinates_ || bits_ < 8 ? from / 8 * 8 : from,
                 nrows = from - start + count;
  const uint64_t values_bytes = bytes_of_bits(nrows * bits_), valid_bytes = has_nulls_ ? bytes_of_bits(nrows) : 0;
  const uint64_t valid_at = host_aligned(values_bytes), needed = valid_at + host_aligned(valid_bytes) + kHostAlignment;
  if (room.size() < needed) room.resize(needed);
  auto* const memory = reinterpret_cast<uint8_t*>(host_aligned(reinterpret_cast<uintptr_t>(room.data())));
  read(file, values_, start * bits_ / 8, values_bytes, memory);
  if (has_nulls_) read(file, valid_, start / 8, valid_bytes, memory + valid_at);
  if (has_null_coordinates_) check_coordinates(file, start, nrows, has_nulls_ ? memory + valid_at : nullptr);
  const auto buffer = [](const uint8_t* bytes, uint64_t size) {
    return std::make_shared<arrow::Buffer>(bytes, static_cast<int64_t>(size));
  };
  const auto array = arrow::MakeArray(arrow::ArrayData::Make(
      type_, static_cast<int64_t>(nrows),
      {has_nulls_ ? buffer(memory + valid_at, valid_bytes) : nullptr, buffer(memory, values_bytes)},
      has_nulls_ ? arrow::kUnknownNullCount : 0));
  conversion_->append(*array, static_cast<int64_t>(from - start), count, rows);
}

}  // namespace turbine
