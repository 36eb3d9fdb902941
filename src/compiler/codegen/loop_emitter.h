/*
 * loop_emitter.h - counted loops with carried values, the only loop form that
 * pipelines use.
 *
 *   for (i = begin; i < end; i += step) carried = body(i, carried);
 */
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include "compiler/codegen/row_emitter.h"

namespace turbine {

using Carried = llvm::SmallVector<llvm::Value*, 8>;

struct LoopOptions {
  llvm::Value* step = nullptr;  // i64; nullptr: 1
  /* All memory accesses that carry this access group are independent between
   * iterations: lets the vectoriser skip run-time alias checks. */
  llvm::MDNode* parallel_group = nullptr;
};

/* Emits the loop at the builder's position and leaves it after the loop.
 * Returns the carried values at the end (`init` if there was no iteration). */
Carried emit_loop(RowEmitter& rows, const char* name, llvm::Value* begin, llvm::Value* end, const Carried& init,
                  llvm::function_ref<Carried(llvm::Value* i, const Carried& carried)> body,
                  const LoopOptions& options = {});

/* if (cond) carried = body(); the carried values otherwise stay `init`. */
Carried emit_if(RowEmitter& rows, const char* name, llvm::Value* cond, const Carried& init,
                llvm::function_ref<Carried()> body);

/* A fresh access group for one loop. */
llvm::MDNode* new_access_group(RowEmitter& rows);

}  // namespace turbine
