/*
 * requests.cc - bounds of the backend's messages.
 *
 * Called by the daemon's session for each such message; owns nothing. It must trust no
 * size in a message before it has compared it with the bytes that are there.
 */
#include "engine/wire/requests.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "engine/wire/message_bytes.h"
#include "turbine/program.h"

namespace turbine {
namespace {

uint64_t padded(uint64_t size) { return (size + 7) / 8 * 8; }

}  // namespace

QueryRequest parse_query(std::span<const uint8_t> payload) {
  QueryRequest request;
  request.query = read_head<TbQuery>(payload, "QUERY");
  const TbQuery& query = request.query;
  const uint64_t params_at = padded(query.program_size);
  if (params_at > payload.size() || query.params_size > payload.size() - params_at)
    throw ProtocolError("QUERY's sizes do not match");
  request.program = payload.first(query.program_size);
  request.params = payload.subspan(params_at, query.params_size);
  // What ends the message needs no padding.
  uint64_t at = params_at + query.params_size;
  const auto take = [&](uint64_t size) -> std::span<const uint8_t> {
    if (size == 0) return {};
    at = padded(at);
    if (at > payload.size() || size > payload.size() - at) throw ProtocolError("QUERY's sizes do not match");
    const auto part = payload.subspan(at, size);
    at += size;
    return part;
  };
  request.result_plan = take(query.result_size);
  request.continuation = take(query.continuation_size);
  if (query.columns_left > TB_EXPORT_MOST_COLUMNS) throw ProtocolError("QUERY leaves too many columns");
  const auto columns = take(uint64_t{query.columns_left} * sizeof(TbColumnLeft));
  request.columns_left.resize(query.columns_left);
  if (!columns.empty()) memcpy(request.columns_left.data(), columns.data(), columns.size());
  request.stream = take(query.stream_size);
  if (at != payload.size() && padded(at) != payload.size()) throw ProtocolError("QUERY's sizes do not match");
  return request;
}

ContinuationRequest parse_continuation(std::span<const uint8_t> bytes) {
  const auto head = read_head<TbContinuation>(bytes, "QUERY's continuation");
  if (head.nsets > TB_MAX_SETS) throw ProtocolError("QUERY's continuation has too many sets");
  const uint64_t sets_size = uint64_t{head.nsets} * sizeof(uint64_t);
  const uint64_t columns_size = uint64_t{head.ncolumns} * sizeof(uint32_t);
  const uint64_t program_at = sets_size + padded(columns_size);
  const uint64_t params_at = program_at + padded(head.program_size);
  const uint64_t result_at = head.result_size > 0 ? params_at + padded(head.params_size) : params_at + head.params_size;
  if (head.params_size > bytes.size() || result_at > bytes.size() || bytes.size() - result_at != head.result_size)
    throw ProtocolError("sizes of QUERY's continuation do not match");
  ContinuationRequest request{head.estimated_groups, {}, {}, {}, {}, {}};
  request.sets.resize(head.nsets);
  if (head.nsets > 0) memcpy(request.sets.data(), bytes.data(), sets_size);
  request.columns.resize(head.ncolumns);
  if (head.ncolumns > 0) memcpy(request.columns.data(), bytes.data() + sets_size, columns_size);
  request.program = bytes.subspan(program_at, head.program_size);
  request.params = bytes.subspan(params_at, head.params_size);
  request.result_plan = bytes.subspan(result_at);
  return request;
}

LayoutRequest parse_layout(std::span<const uint8_t> payload) {
  const auto layout = read_head<TbLayout>(payload, "LAYOUT");
  const uint64_t params_at = padded(layout.program_size);
  if (params_at > payload.size() || payload.size() - params_at != layout.params_size)
    throw ProtocolError("LAYOUT's sizes do not match");
  return {payload.first(layout.program_size), payload.subspan(params_at)};
}

PrepareRequest parse_prepare(std::span<const uint8_t> payload) {
  const auto prepare = read_head<TbPrepare>(payload, "PREPARE");
  if (payload.size() != prepare.program_size) throw ProtocolError("PREPARE's size does not match");
  return {prepare, payload};
}

ChunkRequest parse_chunk(std::span<const uint8_t> payload) {
  const auto chunk = read_head<TbChunk>(payload, "CHUNK");
  if (payload.size() != (uint64_t{chunk.nruns} + chunk.ncopied + chunk.nplaced) * sizeof(TbRun))
    throw ProtocolError("CHUNK's length");
  ChunkRequest request{chunk.slot,     chunk.kind,    chunk.npages, chunk.layout, chunk.part,
                       chunk.sequence, chunk.map_lsn, {},           {},           {}};
  const auto take = [&payload](std::vector<TbRun>& runs, uint32_t count) {
    runs.resize(count);
    if (count > 0) memcpy(runs.data(), payload.data(), count * sizeof(TbRun));
    payload = payload.subspan(count * sizeof(TbRun));
  };
  take(request.runs, chunk.nruns);
  take(request.copied, chunk.ncopied);
  take(request.placed, chunk.nplaced);
  return request;
}

/* The bits of all blocks: `full` says of which map pages all are set, `rest` has those of the others. */
static std::vector<uint8_t> segment_bits(uint32_t nblocks, std::span<const uint8_t> full,
                                         std::span<const uint8_t> rest) {
  std::vector<uint8_t> bits((uint64_t{nblocks} + 7) / 8, 0xff);
  uint64_t used = 0;
  for (uint64_t first = 0, page = 0; first < nblocks; first += TB_BLOCKS_PER_MAP_PAGE, page++) {
    if (full[page / 8] >> (page % 8) & 1) continue;
    const uint64_t size = (std::min<uint64_t>(nblocks - first, TB_BLOCKS_PER_MAP_PAGE) + 7) / 8;
    if (rest.size() - used < size) throw ProtocolError("SEGMENTS without some bits");
    memcpy(bits.data() + first / 8, rest.data() + used, size);
    used += size;
  }
  if (used != rest.size()) throw ProtocolError("SEGMENTS with more bits than blocks");
  if (nblocks % 8 != 0) bits.back() &= static_cast<uint8_t>((1u << nblocks % 8) - 1);
  return bits;
}

PartRequest parse_part(std::span<const uint8_t> payload) {
  const auto part = read_head<TbPart>(payload, "PART");
  return {part.kind, payload};
}

FilePartRequest parse_file_part(std::span<const uint8_t> payload) {
  FilePartRequest request;
  request.part = read_head<TbFilePart>(payload, "PART of a file");
  const uint64_t size = uint64_t{request.part.ncolumns} * sizeof(TbPartColumn);
  if (request.part.ncolumns > TB_MAX_COLUMNS || payload.size() < size)
    throw ProtocolError("PART of a file without columns");
  request.columns.resize(request.part.ncolumns);
  if (size > 0) memcpy(request.columns.data(), payload.data(), size);
  request.bytes = payload.subspan(size);
  for (const TbPartColumn& column : request.columns)
    if (column.offset > request.bytes.size() || column.length > request.bytes.size() - column.offset)
      throw ProtocolError("PART of a file: bytes of a column");
  return request;
}

SegmentsRequest parse_segments(std::span<const uint8_t> payload) {
  SegmentsRequest request;
  request.segments = read_head<TbSegments>(payload, "SEGMENTS");
  const TbSegments& segments = request.segments;
  const uint64_t pages = (uint64_t{segments.nblocks} + TB_BLOCKS_PER_MAP_PAGE - 1) / TB_BLOCKS_PER_MAP_PAGE;
  const uint64_t lsn_size = pages * sizeof(uint64_t);
  const uint64_t full_size = (pages + 7) / 8;
  const uint64_t buffered_size = segments.nbuffered * (sizeof(uint64_t) + 2 * sizeof(uint32_t));
  const uint64_t pinned_size = segments.npinned * sizeof(uint32_t);
  if (segments.nblocks == 0 || segments.nmap_pages != pages || segments.npinned > TB_MAX_COLUMNS ||
      payload.size() < lsn_size + buffered_size + pinned_size + full_size)
    throw ProtocolError("SEGMENTS' sizes do not match");
  const auto take = [&payload](auto& values, uint64_t count) {
    values.resize(count);
    const uint64_t size = count * sizeof values[0];
    if (size > 0) memcpy(values.data(), payload.data(), size);
    payload = payload.subspan(size);
  };
  take(request.map_lsn, pages);
  take(request.page_lsn, segments.nbuffered);
  take(request.buffered, segments.nbuffered);
  take(request.buffers, segments.nbuffered);
  take(request.pinned, segments.npinned);
  const auto& blocks = request.buffered;
  if (std::adjacent_find(blocks.begin(), blocks.end(), std::greater_equal<>()) != blocks.end() ||
      (!blocks.empty() && blocks.back() >= segments.nblocks))
    throw ProtocolError("SEGMENTS with bad blocks in buffers");
  const auto full = payload.subspan(0, full_size);
  auto rest = payload.subspan(full_size);
  const uint64_t bits_size = (uint64_t{segments.nblocks} + 7) / 8;
  const bool has_fresh_bits = segments.flags & TB_SEGMENTS_FRESH_BITS;
  if (has_fresh_bits) {
    if (!(segments.flags & TB_SEGMENTS_FRESH) || rest.size() < bits_size) throw ProtocolError("SEGMENTS' fresh bits");
    const auto fresh = rest.subspan(rest.size() - bits_size);
    rest = rest.subspan(0, rest.size() - bits_size);
    request.fresh.assign(fresh.begin(), fresh.end());
  }
  request.bits = segment_bits(segments.nblocks, full, rest);
  if (!(segments.flags & TB_SEGMENTS_FRESH)) return request;
  // The others: no block is asked for in both ways.
  if (!has_fresh_bits) request.fresh.assign(bits_size, 0xff);
  for (uint64_t i = 0; i < bits_size; i++) request.fresh[i] &= static_cast<uint8_t>(~request.bits[i]);
  if (segments.nblocks % 8 != 0) request.fresh.back() &= static_cast<uint8_t>((1u << segments.nblocks % 8) - 1);
  return request;
}

SnapshotRequest parse_snapshot(std::span<const uint8_t> payload) {
  SnapshotRequest request;
  request.snapshot = read_head<TbSnapshot>(payload, "SNAPSHOT");
  if (payload.size() != request.snapshot.nopen * sizeof(uint64_t))
    throw ProtocolError("SNAPSHOT's size does not match");
  request.open.resize(request.snapshot.nopen);
  if (!payload.empty()) memcpy(request.open.data(), payload.data(), payload.size());
  const auto& open = request.open;
  if (request.snapshot.xmin > request.snapshot.xmax ||
      std::adjacent_find(open.begin(), open.end(), std::greater_equal<>()) != open.end() ||
      (!open.empty() && (open.front() < request.snapshot.xmin || open.back() >= request.snapshot.xmax)))
    throw ProtocolError("SNAPSHOT with bad transactions");
  return request;
}

}  // namespace turbine
