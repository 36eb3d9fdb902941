/*
 * decode_segments.h - a kernel that turns columns of stored segments into columns as
 * tb_decode leaves them.
 *
 * The kernel of the GPU (decode_segments.cc) and the fake driver's both call decode_run().
 * Addresses are the device's.
 */
#pragma once

#include "turbine/types.h"

namespace turbine::cuda {

inline constexpr char kDecodeSegments[] = "tb_decode_segments";

/* A column of a segment: value i is base + element i, without a sign, or for texts
 * views[base + element i]. */
struct StoredPlace {
  const uint8_t* values;
  const uint8_t* valid;     // null: there are no NULLs
  const TbTextView* views;  // of a dictionary
  int64_t base;
  uint32_t width;  // bytes of an element: 0, 1, 2, 4, 8 or 16
  uint32_t reserved;
};

/* Rows of a segment that become rows of the chunk from `to` on. */
struct RowRun {
  uint32_t segment, first, count, to;
};

struct DecodedColumn {
  uint8_t* values;
  uint8_t* valid;  // null: the program says that there are no NULLs
  uint32_t width;  // bytes of a value: 1, 2, 4, 8 or 16
  uint32_t reserved;
};

struct DecodeSegmentsArgs {
  const StoredPlace* places;  // of column c of segment s: s * ncolumns + c
  const RowRun* runs;
  const DecodedColumn* columns;
  uint32_t nruns, ncolumns;
};

inline uint64_t stored_element(const StoredPlace& place, uint32_t i) {
  switch (place.width) {
    case 0: return 0;
    case 1: return place.values[i];
    case 2: return reinterpret_cast<const uint16_t*>(place.values)[i];
    case 4: return reinterpret_cast<const uint32_t*>(place.values)[i];
    default: return reinterpret_cast<const uint64_t*>(place.values)[i];
  }
}

/* One column of one run, by `threads` threads of which this is one. Jobs are numbered by run,
 * then by column. */
inline void decode_run(const DecodeSegmentsArgs& args, uint64_t job, uint32_t thread, uint32_t threads) {
  struct Wide {
    uint64_t low, high;
  };
  const RowRun run = args.runs[job / args.ncolumns];
  const uint64_t column = job % args.ncolumns;
  const StoredPlace place = args.places[run.segment * uint64_t{args.ncolumns} + column];
  const DecodedColumn to = args.columns[column];
  for (uint32_t i = thread; i < run.count; i += threads) {
    const uint32_t from = run.first + i;
    const uint64_t at = run.to + uint64_t{i};
    if (to.valid) to.valid[at] = place.valid ? place.valid[from] : 1;
    if (place.views) {
      const uint64_t entry = static_cast<uint64_t>(place.base) + stored_element(place, from);
      reinterpret_cast<Wide*>(to.values)[at] = reinterpret_cast<const Wide*>(place.views)[entry];
      continue;
    }
    if (to.width == 16) {
      reinterpret_cast<Wide*>(to.values)[at] = reinterpret_cast<const Wide*>(place.values)[from];
      continue;
    }
    const uint64_t value = static_cast<uint64_t>(place.base) + stored_element(place, from);
    switch (to.width) {
      case 1: to.values[at] = static_cast<uint8_t>(value); break;
      case 2: reinterpret_cast<uint16_t*>(to.values)[at] = static_cast<uint16_t>(value); break;
      case 4: reinterpret_cast<uint32_t*>(to.values)[at] = static_cast<uint32_t>(value); break;
      default: reinterpret_cast<uint64_t*>(to.values)[at] = value; break;
    }
  }
}

}  // namespace turbine::cuda
