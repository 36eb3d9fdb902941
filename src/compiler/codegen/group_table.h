/*
 * group_table.h - emits look-up and insertion in a TbGroupTable.
 *
 * Open addressing, linear probing; buckets hold group numbers. Rows keep the hash. So most
 * mismatches cost one comparison, and tables grow without looking at keys. NULL keys equal each
 * other, float keys follow PostgreSQL (NaN = NaN, -0 = 0), text keys compare by bytes.
 *
 * Host: one thread owns the table, and has checked that there is room. GPU: all threads share it. A
 * thread claims an empty bucket with BUSY, writes the row, fences, then publishes the group number.
 * A thread that sees BUSY waits. Rows are read with volatile loads, since another multiprocessor
 * may have written them a moment ago.
 */
#pragma once

#include "compiler/codegen/accumulators.h"
#include "compiler/codegen/key_values.h"

namespace turbine {

class GroupTableEmitter {
 public:
  GroupTableEmitter(RowEmitter& rows, const Program& program, const GroupLayout& layout)
      : rows_(rows), program_(program), layout_(layout) {}

  /* Loads the table's fields; again where the table may have moved. */
  void bind(llvm::Value* table);

  /* Evaluates the keys of the current row; or takes them from where they were kept. */
  void eval_keys(llvm::Value* active);
  void set_keys(llvm::ArrayRef<RowValue> keys) { keys_.assign(keys.begin(), keys.end()); }
  llvm::ArrayRef<RowValue> keys() const { return keys_; }
  llvm::Value* hash();        // i64
  llvm::Value* text_bytes();  // i64: arena bytes that a new group needs, or nullptr

  /* Group number (i32) of the evaluated keys, inserted if new. */
  llvm::Value* find_or_insert(llvm::Value* hash);
  /* The same on the GPU; TB_NONE where there was no room (table->full is set). */
  llvm::Value* find_or_insert_atomic(llvm::Value* hash, Accumulators& accumulators);

  llvm::Value* row(llvm::Value* group);  // pointer of a group number's row
  llvm::Value* bucket_pointer(llvm::Value* hash);

  /* Host: for look-ups that come soon. i1: the table is so large that they wait for memory. */
  llvm::Value* is_large();
  bool has_text_keys() const;
  void prefetch(llvm::Value* address);
  void prefetch_row(llvm::Value* hash);   // that the bucket names, which is there
  void prefetch_text(llvm::Value* hash);  // the keys that the row names, which is there

 private:
  llvm::Value* first_candidate(llvm::Value* hash);
  llvm::Value* text_equal(const RowValue& key, const GroupField& field, llvm::Value* row, bool shared);
  llvm::Value* keys_equal(llvm::Value* row, bool shared);
  void write_keys(llvm::Value* row, llvm::Value* arena_offset);
  llvm::Value* padded(llvm::Value* length);
  llvm::Value* load_row(llvm::Type* type, llvm::Value* row, uint64_t offset, bool shared);

  RowEmitter& rows_;
  const Program& program_;
  const GroupLayout& layout_;
  llvm::Value *table_ = nullptr, *buckets_ = nullptr, *mask_ = nullptr, *group_rows_ = nullptr, *arena_ = nullptr;
  llvm::SmallVector<RowValue, 4> keys_;
};

}  // namespace turbine
