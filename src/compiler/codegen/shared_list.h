/*
 * shared_list.h - entries that a block of a GPU's threads collects in the memory they share.
 *
 * An entry is some words of 32 bits. Threads that arrive together take their places with one addition in shared
 * memory; a counter in device memory that every warp adds to would be what most of a kernel's time goes to.
 */
#pragma once

#include "compiler/codegen/row_emitter.h"

namespace turbine {

class SharedList {
 public:
  /* Of at most `room` entries. */
  SharedList(RowEmitter& rows, const char* name, uint32_t words, uint32_t room);

  uint32_t room() const { return room_; }

  /* One thread, and a barrier before the next append(). */
  void clear();
  /* A place (i32) that may be beyond the room: then there is none. Any threads of the block. */
  llvm::Value* append();
  /* Where a word of an entry is; `place`: i32. */
  llvm::Value* word(uint32_t which, llvm::Value* place);
  /* Entries (i32), or more where there was no room; after a barrier. */
  llvm::Value* size();

 private:
  RowEmitter& rows_;
  const uint32_t room_;
  llvm::GlobalVariable *count_, *entries_;
};

/* All threads of the block wait for one another here, and see what the others have written before. */
void emit_block_barrier(RowEmitter& rows);

/* A word that the threads of a block share; what it holds at first is undefined. */
llvm::GlobalVariable* make_shared_word(RowEmitter& rows, llvm::Type* type, const char* name);

}  // namespace turbine
