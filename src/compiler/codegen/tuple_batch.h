/*
 * tuple_batch.h - what the host's tile loops pass on from one step to the next.
 *
 * A batch has up to TB_TILE_ROWS places. The first one of a tile are the tile's
 * rows; a join that fans out fills a batch of its own, whose places are pairs of
 * an outer tuple and a match. Filters and the other joins drop places: they keep
 * a list of those alive, and move nothing else. Matches are stored by place.
 */
#pragma once

#include <llvm/IR/Value.h>

#include <vector>

namespace turbine {

struct TupleBatch {
  llvm::Value* rows = nullptr;       // uint32 rows of the chunk by place; nullptr: the tile's own, in order
  llvm::Value* selection = nullptr;  // where a list of places has room: uint32[TB_TILE_ROWS]
  llvm::Value* places = nullptr;     // `selection` if in use; nullptr: all places are alive
  llvm::Value* count = nullptr;      // i64: places alive
  std::vector<llvm::Value*> matches;  // a join each: uint32 rows of its table by place; nullptr: not kept
};

}  // namespace turbine
