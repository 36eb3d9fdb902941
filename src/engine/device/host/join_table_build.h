/*
 * join_table_build.h - the rows of a BUILD made into a join table.
 *
 * Generic over types: hashes and canonical keys come from generated code. All
 * steps run on the pool's threads where there are rows enough.
 */
#pragma once

#include "engine/device/host/kept_parts.h"
#include "engine/device/join_table.h"

namespace turbine {

/* Takes the stores, none null. Called by a query's thread, not the pool's.
 * Throws DeviceError. */
std::shared_ptr<const JoinTable> build_join_table(const KeptRowLayout& shape, KeptParts::Stores stores,
                                                  WorkerPool& pool, MemoryBudget& budget);

}  // namespace turbine
