/*
 * block_fold.h - sums and extremes over the threads of a GPU's block, each added to a state in device memory by one
 * atomic operation.
 *
 * Thousands of warps that add to the same few words wait for each other longer than a simple aggregate takes. So the
 * warps put their values into shared memory, and after a barrier the block's warps share these out among themselves.
 *
 *   for (each value) { slot.state = where to; slot.values[warp] = the warp's; }
 *   barrier
 *   for (i = warp; i < values; i += warps) *slot[i].state += all of slot[i].values
 *
 * Called by the epilogue of tb_reduce. All threads of a block must get there.
 */
#pragma once

#include <vector>

#include "compiler/codegen/row_emitter.h"

namespace turbine {

class BlockFold {
 public:
  explicit BlockFold(RowEmitter& rows) : rows_(rows) {}

  /* When emit() is called: *state += the threads' values, of type double, i64 or i128. */
  void add_sum(llvm::Value* state, llvm::Value* value);
  /* *state = the least or largest of it and the threads' keys (i64), as Accumulators orders values of this type. */
  void add_extreme(llvm::Value* state, llvm::Value* key, uint32_t type, bool least);
  void emit();

 private:
  struct Entry {
    llvm::Value *state, *value;
  };
  /* What the same bodies of rt/group_state.cc fold. */
  struct Kind {
    const char *put, *fold;
    uint32_t type;  // TB_NONE: of sums, which need none
    std::vector<Entry> entries;
  };
  void add(const char* put, const char* fold, uint32_t type, Entry entry);
  void emit_slots(size_t first, size_t end, llvm::Value* slots);

  RowEmitter& rows_;
  std::vector<Kind> kinds_;
};

}  // namespace turbine
