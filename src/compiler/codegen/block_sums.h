/*
 * block_sums.h - sums over the threads of a GPU's block, each added to a word of device memory by one atomic addition.
 *
 * Thousands of warps that add to the same few words wait for each other longer than a simple aggregate takes. So the
 * warps put their sums into shared memory, and after a barrier the block's warps share these out among themselves.
 *
 *   for (each sum) { slot.state = where to; slot.sums[warp] = the warp's; }
 *   barrier
 *   for (i = warp; i < sums; i += warps) *slot[i].state += the sum of slot[i].sums
 *
 * Called by the epilogue of tb_reduce. All threads of a block must get there.
 */
#pragma once

#include <vector>

#include "compiler/codegen/row_emitter.h"

namespace turbine {

class BlockSums {
 public:
  explicit BlockSums(RowEmitter& rows) : rows_(rows) {}

  /* *state += the threads' values, of type double, i64 or i128; when emit() is called. */
  void add(llvm::Value* state, llvm::Value* value);
  void emit();

 private:
  struct Sum {
    llvm::Value *state, *value;
  };
  void emit_slots(const std::vector<Sum>& sums, size_t first, size_t end, llvm::Value* slots);

  RowEmitter& rows_;
  std::vector<Sum> floats_, words_, wide_;
};

}  // namespace turbine
