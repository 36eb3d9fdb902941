/*
 * stream_columns.cc - see stream_columns.h.
 *
 * Called by row_stream.cc: rows are placed by one thread at a time, and written by the pool's. What one step converts
 * stays in a thread's caches, so that a value is read and written in memory once.
 */
#include "engine/execution/stream/stream_columns.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "engine/program/kept_row_layout.h"
#include "engine/wire/device_error.h"
#include "engine/wire/message_bytes.h"
#include "engine/wire/protocol_error.h"
#include "turbine/export.h"

namespace turbine {
namespace {

constexpr uint64_t kStepRows = 4096;
constexpr uint64_t kTextStep = 256 << 10;
constexpr uint64_t kWordBits = 64;
constexpr uint64_t kChargeStep = 1 << 20;  // each is a look at the ledger
constexpr int32_t kEpochDays = 10957;  // PostgreSQL counts from 2000
constexpr int64_t kEpochUs = int64_t{kEpochDays} * 86400 * 1000000;

/* Which format a type may become. */
bool becomes(uint32_t type, uint32_t format) {
  switch (type) {
    case TB_TYPE_BOOL: return format == TB_EXPORT_BOOL;
    case TB_TYPE_INT2: return format == TB_EXPORT_INT16;
    case TB_TYPE_INT4: return format == TB_EXPORT_INT32;
    case TB_TYPE_INT8: return format == TB_EXPORT_INT64;
    case TB_TYPE_FLOAT4: return format == TB_EXPORT_FLOAT32;
    case TB_TYPE_FLOAT8: return format == TB_EXPORT_FLOAT64;
    case TB_TYPE_DATE: return format == TB_EXPORT_DATE32;
    case TB_TYPE_TIMESTAMP: return format == TB_EXPORT_TIMESTAMP;
    case TB_TYPE_TIMESTAMPTZ: return format == TB_EXPORT_TIMESTAMPTZ;
    case TB_TYPE_NUM64:
    case TB_TYPE_NUM128: return format == TB_EXPORT_DECIMAL128;
    case TB_TYPE_TEXT:
    case TB_TYPE_BPCHAR: return format == TB_EXPORT_UTF8;
    default: return false;
  }
}

[[noreturn]] void no_form(const char* what) {
  throw DeviceError(TB_FALLBACK_VALUE, std::string(what) + " has no form outside of PostgreSQL");
}

/* Zeros where there is no value. */
void clear_nulls(uint8_t* values, uint32_t width, const uint8_t* valid, uint64_t count) {
  for (uint64_t i = 0; i < count; i++)
    if (!valid[i]) memset(values + i * width, 0, width);
}

void shift_dates(uint8_t* values, const uint8_t* valid, uint64_t count) {
  auto* const days = reinterpret_cast<int32_t*>(values);
  for (uint64_t i = 0; i < count; i++) {
    if (valid && !valid[i]) continue;
    if (days[i] == INT32_MIN || days[i] == INT32_MAX) no_form("an infinite date");
    days[i] += kEpochDays;
  }
}

void shift_times(uint8_t* values, const uint8_t* valid, uint64_t count) {
  auto* const times = reinterpret_cast<int64_t*>(values);
  for (uint64_t i = 0; i < count; i++) {
    if (valid && !valid[i]) continue;
    if (times[i] == INT64_MIN || times[i] == INT64_MAX) no_form("an infinite timestamp");
    if (__builtin_add_overflow(times[i], kEpochUs, &times[i])) no_form("a timestamp too far in the future");
  }
}

void widen(uint8_t* to, const uint8_t* from, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    int64_t narrow;
    memcpy(&narrow, from + i * sizeof narrow, sizeof narrow);
    const __int128 wide = narrow;
    memcpy(to + i * sizeof wide, &wide, sizeof wide);
  }
}

/* The bits of 64 flags, each of 0 or another byte. */
uint64_t word_of(const uint8_t* flags, uint64_t count) {
  uint64_t word = 0;
  uint64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    uint64_t eight;
    memcpy(&eight, flags + i, sizeof eight);
    // 1 in each byte that is not 0; then their lowest bits side by side.
    eight = (((eight & 0x7f7f7f7f7f7f7f7f) + 0x7f7f7f7f7f7f7f7f) | eight) >> 7 & 0x0101010101010101;
    word |= (eight * 0x0102040810204080 >> 56) << i;
  }
  for (; i < count; i++) word |= uint64_t{flags[i] != 0} << i;
  return word;
}

/* As StreamRequest has them. */
std::vector<uint32_t> bare_columns(const Program& program, const std::vector<StreamColumn>& columns) {
  std::vector<uint32_t> source;
  if (!program.filters().empty() || !program.joins().empty()) return source;
  for (const StreamColumn& column : columns) {
    const TbExpr& expr = program.expr(program.outputs()[column.output]);
    if (expr.op != TB_EXPR_COLUMN || column.is_text()) return {};
    source.push_back(expr.index);
  }
  return source;
}

}  // namespace

StreamRequest parse_stream(std::span<const uint8_t> bytes, const Program& program) {
  if (program.sink() != TB_SINK_PROJECT) throw ProtocolError("QUERY of another sink with a stream");
  StreamRequest request;
  request.stream = read_head<TbStream>(bytes, "QUERY's stream");
  const TbStream& stream = request.stream;
  if (stream.rows == 0 || stream.rows > TB_STREAM_MOST_ROWS || stream.batches == 0 || stream.ncolumns == 0 ||
      stream.ncolumns > TB_EXPORT_MOST_COLUMNS || bytes.size() != stream.ncolumns * sizeof(TbStreamColumn))
    throw ProtocolError("QUERY's stream: bad sizes");
  const KeptRowLayout rows = kept_row_layout(program);
  for (uint32_t i = 0; i < stream.ncolumns; i++) {
    const auto column = read_head<TbStreamColumn>(bytes, "QUERY's stream");
    if (column.output >= rows.noutputs()) throw ProtocolError("QUERY's stream: no such output");
    const KeptColumn& output = rows.output(column.output);
    if (!becomes(output.type, column.format)) throw ProtocolError("QUERY's stream: a type of another format");
    request.columns.push_back({column.output, output.type, column.format, output.nullable});
  }
  request.source_columns = bare_columns(program, request.columns);
  return request;
}

uint64_t text_bytes(const ResultBatch& rows, const StreamColumn& column, uint64_t first, uint64_t count) {
  if (!column.is_text()) return 0;
  const ResultColumn& from = rows.columns[column.output];
  uint64_t bytes = 0;
  for (uint64_t i = first; i < first + count; i++) bytes += text_at(rows, from, i).size();
  return bytes;
}

StreamBatch::StreamBatch(const std::vector<StreamColumn>& columns, std::shared_ptr<BatchMemory> memory)
    : columns_(columns), memory_(std::move(memory)), state_(columns.size()) {}

StreamBatch::Run StreamBatch::place(const TaskRows& from, uint64_t first, uint64_t count,
                                    std::span<const uint64_t> texts) {
  Run run{from, first, count, rows_, {}, {}, {}};
  const bool next_bits = rows_ % kBitRows == 0;
  uint64_t bytes = 0;
  for (size_t i = 0; i < columns_.size(); i++) {
    const StreamColumn& column = columns_[i];
    Column& state = state_[i];
    const auto fresh = [] { return Words(new std::atomic<uint64_t>[kBitRows / kWordBits]()); };
    if (next_bits && column.nullable) state.validity.push_back(fresh());
    if (next_bits && column.format == TB_EXPORT_BOOL) state.bits.push_back(fresh());
    run.validity.push_back(state.validity.empty() ? nullptr : state.validity.back().get());
    run.bits.push_back(state.bits.empty() ? nullptr : state.bits.back().get());
    run.bytes_at.push_back(state.bytes);
    state.bytes += texts[i];
    bytes += count * column.width() + texts[i] + count / 4;
  }
  placed_bytes_ += bytes;
  if (placed_bytes_ > memory_->charged()) memory_->charge(std::max(placed_bytes_ - memory_->charged(), kChargeStep));
  rows_ += count;
  return run;
}

void StreamBatch::write(const Run& run) {
  // Threads that write the same rows' neighbours begin with different files.
  const auto start = static_cast<uint32_t>(run.row / kStepRows % columns_.size());
  for (uint32_t i = 0; i < columns_.size(); i++) {
    const auto number = static_cast<uint32_t>((start + i) % columns_.size());
    const ResultColumn& from = run.from.rows.columns[columns_[number].output];
    if (columns_[number].is_text())
      write_text(run, number, from);
    else
      write_fixed(run, number, from);
    if (!columns_[number].nullable) continue;
    // Other runs may have NULLs.
    if (!from.valid) {
      set_bits(run.validity[number], run.row % kBitRows, nullptr, run.count);
      continue;
    }
    const uint8_t* const valid = from.valid + run.first;
    state_[number].nulls += static_cast<uint64_t>(std::count(valid, valid + run.count, uint8_t{0}));
    set_bits(run.validity[number], run.row % kBitRows, valid, run.count);
  }
}

uint8_t* StreamBatch::room(uint32_t column, uint64_t row, uint64_t count) const {
  const StreamColumn& of = columns_[column];
  const bool as_they_are = of.type != TB_TYPE_NUM64;
  return as_they_are ? memory_->mapped(column, BatchMemory::kValues, row * of.width(), count * of.width()) : nullptr;
}

void StreamBatch::write_fixed(const Run& run, uint32_t number, const ResultColumn& from) {
  const StreamColumn& column = columns_[number];
  const uint32_t width = column.width();
  const bool widens = column.type == TB_TYPE_NUM64;
  const bool is_date = column.format == TB_EXPORT_DATE32;
  const bool is_time = column.format == TB_EXPORT_TIMESTAMP || column.format == TB_EXPORT_TIMESTAMPTZ;
  const uint8_t* const valid = from.valid ? from.valid + run.first : nullptr;
  const bool is_bool = column.format == TB_EXPORT_BOOL;
  if (!widens && !is_date && !is_time && (!valid || !memchr(valid, 0, run.count))) {
    if (is_bool) set_bits(run.bits[number], run.row % kBitRows, from.at(run.first), run.count);
    memory_->write(number, BatchMemory::kValues, run.row * width, from.at(run.first), run.count * width);
    return;
  }
  alignas(16) uint8_t step[kStepRows * 16];
  for (uint64_t done = 0; done < run.count; done += kStepRows) {
    const uint64_t now = std::min(kStepRows, run.count - done);
    const uint8_t* const some = valid ? valid + done : nullptr;
    if (widens)
      widen(step, from.at(run.first + done), now);
    else
      memcpy(step, from.at(run.first + done), now * width);
    if (is_date) shift_dates(step, some, now);
    if (is_time) shift_times(step, some, now);
    if (some) clear_nulls(step, width, some, now);
    if (is_bool) set_bits(run.bits[number], run.row % kBitRows + done, step, now);
    memory_->write(number, BatchMemory::kValues, (run.row + done) * width, step, now * width);
  }
}

void StreamBatch::write_text(const Run& run, uint32_t number, const ResultColumn& from) {
  thread_local std::vector<uint8_t> gathered(kTextStep);
  int64_t offsets[kStepRows];
  uint64_t at = run.bytes_at[number];  // of the next text
  uint64_t written = at, have = 0;
  const auto flush = [&] {
    memory_->write(number, BatchMemory::kBytes, written, gathered.data(), have);
    written += have;
    have = 0;
  };
  for (uint64_t done = 0; done < run.count; done += kStepRows) {
    const uint64_t now = std::min(kStepRows, run.count - done);
    for (uint64_t i = 0; i < now; i++) {
      const std::string_view text = text_at(run.from.rows, from, run.first + done + i);
      offsets[i] = static_cast<int64_t>(at);
      at += text.size();
      if (have + text.size() > kTextStep) flush();
      if (text.size() > kTextStep) {
        memory_->write(number, BatchMemory::kBytes, written, text.data(), text.size());
        written += text.size();
        continue;
      }
      if (!text.empty()) memcpy(gathered.data() + have, text.data(), text.size());
      have += text.size();
    }
    memory_->write(number, BatchMemory::kValues, (run.row + done) * sizeof(int64_t), offsets, now * sizeof(int64_t));
  }
  flush();
}

/* Those of flags that are not 0; without flags all. Other runs may have bits in the first word and in the last one. */
void StreamBatch::set_bits(std::atomic<uint64_t>* words, uint64_t at, const uint8_t* flags, uint64_t count) {
  while (count > 0) {
    const uint64_t shift = at % kWordBits;
    const uint64_t now = std::min(count, kWordBits - shift);
    const uint64_t word = flags ? word_of(flags, now) : UINT64_MAX >> (kWordBits - now);
    words[at / kWordBits].fetch_or(word << shift, std::memory_order_relaxed);
    if (flags) flags += now;
    at += now;
    count -= now;
  }
}

void StreamBatch::write_bits(uint32_t number, BatchMemory::Region region, const std::deque<Words>& bits) {
  static_assert(sizeof(std::atomic<uint64_t>) == sizeof(uint64_t) && std::endian::native == std::endian::little);
  const uint64_t bytes = (rows_ + 7) / 8;
  for (uint64_t i = 0; i < bits.size(); i++) {
    const uint64_t at = i * (kBitRows / 8);
    memory_->write(number, region, at, bits[i].get(), std::min(kBitRows / 8, bytes - at));
  }
}

void StreamBatch::complete() {
  for (uint32_t i = 0; i < columns_.size(); i++) {
    if (state_[i].nulls > 0) write_bits(i, BatchMemory::kValidity, state_[i].validity);
    if (columns_[i].format == TB_EXPORT_BOOL) write_bits(i, BatchMemory::kBits, state_[i].bits);
    if (!columns_[i].is_text()) continue;
    // Texts end where the last one does.
    const auto end = static_cast<int64_t>(state_[i].bytes);
    memory_->write(i, BatchMemory::kValues, rows_ * sizeof end, &end, sizeof end);
  }
}

std::vector<TbExportColumn> StreamBatch::shapes() const {
  std::vector<TbExportColumn> shapes;
  for (size_t i = 0; i < columns_.size(); i++) {
    TbExportColumn& shape = shapes.emplace_back(TbExportColumn{});
    shape.format = columns_[i].format;
    shape.nulls = state_[i].nulls;
    shape.bytes = state_[i].bytes;
  }
  return shapes;
}

std::vector<uint8_t> StreamBatch::describe(const StreamId& id) const {
  TbStreamBatch head{};
  memcpy(head.id.bytes, id.data(), id.size());
  head.rows = rows_;
  head.ncolumns = static_cast<uint32_t>(columns_.size());
  std::vector<uint8_t> payload(sizeof head + columns_.size() * 2 * sizeof(uint64_t));
  memcpy(payload.data(), &head, sizeof head);
  for (size_t i = 0; i < columns_.size(); i++) {
    const uint64_t numbers[] = {state_[i].nulls, state_[i].bytes};
    memcpy(payload.data() + sizeof head + i * sizeof numbers, numbers, sizeof numbers);
  }
  return payload;
}

}  // namespace turbine
