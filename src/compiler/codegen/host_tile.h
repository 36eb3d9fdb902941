/*
 * host_tile.h - a tile of the host's tb_pipeline: the rows, scratch arrays and exits that filters, joins and
 * sinks emit their loops with.
 *
 * Emission follows the data: each step emits its loops over the batch that it is given, then the rest of the
 * pipeline. A batch has up to TB_TILE_ROWS places. The first one of a tile are the tile's rows; a join that fans
 * out fills a batch of its own, whose places are pairs of an outer tuple and a match. Filters and the other joins
 * drop places: they keep a list of those alive, and move nothing else. Matches are stored by place.
 */
#pragma once

#include <functional>

#include "compiler/codegen/loop_emitter.h"
#include "turbine/kernel.h"

namespace turbine {

struct TupleBatch {
  llvm::Value* rows = nullptr;       // uint32 rows of the chunk by place; nullptr: the tile's own, in order
  llvm::Value* selection = nullptr;  // where a list of places has room: uint32[TB_TILE_ROWS]
  llvm::Value* places = nullptr;     // `selection` if in use; nullptr: all places are alive
  llvm::Value* count = nullptr;      // i64: places alive
  std::vector<llvm::Value*> matches;  // one per join: uint32 rows of its table by place; nullptr: not kept
};

class HostTile {
 public:
  HostTile(ModuleBuilder& builder, const Program& program);

  /* Loads arguments in the entry block, once each: the columns, of which `late` are decoded when they are read;
   * then, behind what else is loaded there, the scratch memory. */
  void bind_columns(llvm::Value* args, llvm::Value* tables, const std::vector<bool>& late);
  void bind_scratch();
  /* Loops that follow are over the tile whose first row (i64, of the chunk) this is. */
  void begin(llvm::Value* start) { start_ = start; }

  const Program& program() const { return program_; }
  llvm::IRBuilder<>& ir() { return ir_; }
  RowEmitter& rows() { return rows_; }
  llvm::Value* start() const { return start_; }

  /* A field of TbPipelineArgs: its value; `amount` more than before; a value of its own. */
  llvm::Value* field(llvm::Type* type, uint64_t offset) { return rows_.load(type, args_, offset); }
  void add_to_field(uint64_t offset, llvm::Value* amount);
  void set_field(uint64_t offset, llvm::Value* value) { rows_.store(value, args_, offset); }
  /* Adds bits (i32; nullptr: none) to the chunk's errors. */
  void or_errors(llvm::Value* bits);

  /* An array that stays the caller's, of bytes, or of a uint32 per place. Throws std::runtime_error if the scratch
   * memory, TB_SCRATCH_SIZE bytes, has no room left. */
  llvm::Value* take_scratch(uint64_t bytes);
  llvm::Value* take_words() { return take_scratch(4 * TB_TILE_ROWS); }
  llvm::Value* word_at(llvm::Value* words, llvm::Value* i) { return rows_.index(ir_.getInt32Ty(), words, i); }
  /* Arrays that are free between steps, one element per place: uint8, uint64, uint32. */
  llvm::Value* mask() const { return mask_; }
  llvm::Value* hashes() const { return hashes_; }
  llvm::Value* words() const { return words_; }

  /* A batch with a selection of its own, and neither rows nor matches. */
  TupleBatch new_batch();
  /* Starts the k-th tuple that is alive; returns its place (i64). */
  llvm::Value* begin_tuple(const TupleBatch& b, llvm::Value* k, llvm::MDNode* access_group = nullptr);
  /* Code for the tuple that comes so many later, to prefetch what it reads. */
  struct Ahead {
    uint64_t distance;
    std::function<void()> prefetch;
  };
  /* Keeps the tuples for which `keeps` (i1, of the tuple begun) holds; in place. */
  void keep_tuples(const char* name, TupleBatch& b, llvm::function_ref<llvm::Value*()> keeps,
                   const Ahead* ahead = nullptr);
  /* Keeps the places whose byte in mask() is set, of a batch whose places are all alive. */
  void keep_masked(TupleBatch& b);

  /* Asks for room for `rows` more groups or stored rows and `bytes` of text if `enough` (i1) does not hold.
   * Returns from the pipeline if there is none. What has been loaded of a table before is stale after this. */
  void emit_room(llvm::Value* enough, llvm::Value* rows, llvm::Value* bytes);
  /* Returns from the pipeline, as stopped, if `stop` (i1) holds. */
  void emit_stop(llvm::Value* stop);

 private:
  ModuleBuilder& builder_;
  const Program& program_;
  llvm::IRBuilder<> ir_;
  RowEmitter rows_;
  llvm::Value *args_ = nullptr, *start_ = nullptr, *scratch_ = nullptr;
  uint64_t scratch_used_ = 0;
  llvm::Value *mask_ = nullptr, *hashes_ = nullptr, *words_ = nullptr;
};

}  // namespace turbine
