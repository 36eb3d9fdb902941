/*
 * requests.h - the backend's messages that have parts of variable length, with their
 * bounds checked.
 *
 * Called by the daemon's session. Checks sizes only: what the parts mean is checked by
 * those who use them. All spans borrow the message.
 */
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "turbine/wire.h"

namespace turbine {

struct QueryRequest {
  TbQuery query;
  std::span<const uint8_t> program;
  std::span<const uint8_t> params;
  std::span<const uint8_t> result_plan;  // empty: none
  std::span<const uint8_t> continuation;  // TbContinuation and what follows it; empty: none
  std::vector<TbColumnLeft> columns_left;
  std::span<const uint8_t> stream;        // TbStream and its columns; empty: none
};

struct ContinuationRequest {
  double estimated_groups;
  std::vector<uint64_t> sets;
  std::vector<uint32_t> columns;
  std::span<const uint8_t> program;
  std::span<const uint8_t> params;
  std::span<const uint8_t> result_plan;  // empty: none
};

struct LayoutRequest {
  std::span<const uint8_t> program;
  std::span<const uint8_t> params;
};

struct PrepareRequest {
  TbPrepare prepare;
  std::span<const uint8_t> program;
};

struct SegmentsRequest {
  TbSegments segments;
  std::vector<uint64_t> map_lsn;  // a page of the visibility map
  std::vector<uint8_t> bits;      // a bit a block; none is set behind the last
  std::vector<uint8_t> fresh;     // as many, of other blocks that are asked for; none: empty
  std::vector<uint32_t> buffered;   // blocks in shared buffers, ascending
  std::vector<uint64_t> page_lsn;   // of their pages
  std::vector<uint32_t> buffers;    // where they are
  std::vector<uint32_t> pinned;     // attribute numbers, ascending
};

struct SnapshotRequest {
  TbSnapshot snapshot;
  std::vector<uint64_t> open;  // ascending, from xmin on and before xmax
};

/* TbChunk, whose runs follow it in the message. */
struct ChunkRequest {
  uint32_t slot;
  uint32_t kind;  // TB_CHUNK_*
  uint32_t npages;
  uint32_t layout;
  uint32_t part;  // 0: none that SEGMENTS has told of
  uint64_t sequence;
  uint64_t map_lsn;
  std::vector<TbRun> runs, copied, placed;
};

struct PartRequest {
  uint32_t kind;                   // TB_PART_*
  std::span<const uint8_t> bytes;  // what its kind says
};

struct FilePartRequest {
  TbFilePart part;
  std::vector<TbPartColumn> columns;
  std::span<const uint8_t> bytes;  // that they point to, within bounds
};

/* All throw ProtocolError. */
QueryRequest parse_query(std::span<const uint8_t> payload);
ContinuationRequest parse_continuation(std::span<const uint8_t> bytes);
LayoutRequest parse_layout(std::span<const uint8_t> payload);
PrepareRequest parse_prepare(std::span<const uint8_t> payload);
ChunkRequest parse_chunk(std::span<const uint8_t> payload);
SnapshotRequest parse_snapshot(std::span<const uint8_t> payload);
SegmentsRequest parse_segments(std::span<const uint8_t> payload);
PartRequest parse_part(std::span<const uint8_t> payload);
/* Of a part that is a file. */
FilePartRequest parse_file_part(std::span<const uint8_t> bytes);

}  // namespace turbine
