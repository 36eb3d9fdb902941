/*
 * loop_emitter.h - loops, conditionals and switches with carried values.
 *
 *   for (i = begin; i < end; i += step) carried = body(i, carried);
 */
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include <functional>
#include <vector>

#include "compiler/codegen/row_emitter.h"

namespace turbine {

using Carried = llvm::SmallVector<llvm::Value*, 8>;

struct LoopOptions {
  llvm::Value* step = nullptr;  // of the bounds' type; nullptr: 1
  /* All memory accesses that carry this access group are independent between
   * iterations: lets the vectoriser skip run-time alias checks. */
  llvm::MDNode* parallel_group = nullptr;
};

/* Emits the loop at the builder's position and leaves it after the loop.
 * Returns the carried values at the end (`init` if there was no iteration). */
Carried emit_loop(RowEmitter& rows, const char* name, llvm::Value* begin, llvm::Value* end, const Carried& init,
                  llvm::function_ref<Carried(llvm::Value* i, const Carried& carried)> body,
                  const LoopOptions& options = {});

/* How a condition of several terms becomes machine code: kWhole evaluates all terms and
 * branches once, for where each term alone would be mispredicted. */
enum class Branch { kSplit, kWhole };

/* while (cond(carried)) carried = body(carried). Returns the carried values of the
 * test that failed. */
Carried emit_while(RowEmitter& rows, const char* name, const Carried& init,
                   llvm::function_ref<llvm::Value*(const Carried& carried)> cond,
                   llvm::function_ref<Carried(const Carried& carried)> body, Branch branch = Branch::kSplit);

/* switch (value) { case c: return body(); ... default: return otherwise(); } All
 * bodies yield as many values, of the same types. */
struct SwitchCase {
  uint32_t value;
  std::function<Carried()> body;
};
Carried emit_switch(RowEmitter& rows, const char* name, llvm::Value* value, const std::vector<SwitchCase>& cases,
                    const std::function<Carried()>& otherwise);

/* if (cond) carried = body(); the carried values otherwise stay `init`. */
Carried emit_if(RowEmitter& rows, const char* name, llvm::Value* cond, const Carried& init,
                llvm::function_ref<Carried()> body, Branch branch = Branch::kSplit);

/* A fresh access group for one loop. */
llvm::MDNode* new_access_group(RowEmitter& rows);

}  // namespace turbine
