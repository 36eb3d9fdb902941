/*
 * part_kinds.h - which sources there are for the parts of a query's input, by kind.
 *
 * Kinds are known before the first query. Any thread may ask then.
 */
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "engine/program/program.h"
#include "engine/profile/query_profile.h"
#include "engine/source/segments/segment_source.h"
#include "engine/source/source.h"
#include "engine/storage/file_reading.h"
#include "engine/store/column_store.h"
#include "engine/threads/worker_pool.h"

namespace turbine {

/* What a query has for its sources. All of it outlives them. */
struct PartNeeds {
  ColumnStore& store;
  const Program& program;
  SegmentSource& segments;
  WorkerPool& workers;
  QueryProfile* profile;  // or null
  FileStorage storage;
};
using MakePartSource = std::unique_ptr<PartSource> (*)(const PartNeeds& needs);

/* By TbPartKind. Sources of tests add themselves before main(). */
std::map<uint32_t, MakePartSource>& part_kinds();

}  // namespace turbine
