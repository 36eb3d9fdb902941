/*
 * row_store.h - emits the writing of a TbRowStore's columns: PROJECT its outputs,
 * BUILD its keys, then its outputs.
 *
 * Where a row goes and where its texts go is the caller's business: one thread
 * appends on the host, many reserve on the GPU.
 */
#pragma once

#include "compiler/codegen/key_values.h"
#include "compiler/codegen/loop_emitter.h"

namespace turbine {

class RowStoreEmitter {
 public:
  RowStoreEmitter(RowEmitter& rows, const Program& program);

  size_t columns() const { return columns_.size(); }
  size_t nkeys() const { return nkeys_; }
  bool is_text(size_t column) const { return tb_type_is_text(columns_[column].type); }
  /* Some row may have a NULL key, and is not to be kept. */
  bool drops_null_keys() const;

  /* Loads the store's fields; again where the store may have moved. */
  void bind(llvm::Value* store);

  /* Of the current row: whether some key is NULL (i1, or nullptr for never), the
   * bytes of its texts (i64, or nullptr if it has none), the hash of its keys. */
  llvm::Value* null_key();
  llvm::Value* text_bytes();
  llvm::Value* hash();

  /* Writes one column of the current row as row `at` (i64) of the store, a text's
   * bytes at `arena_offset` (i64). Returns the offset after them. */
  llvm::Value* write(size_t column, llvm::Value* at, llvm::Value* arena_offset);
  void write_hash(llvm::Value* at);

  /* A series makes several rows of one, side by side: whether this column is a text that they may share. Then a row's
   * text, of length 0 where it is NULL, at nullptr where it is the row's own; and row `at` as the row before it. */
  bool repeats_text(size_t column) const;
  RowValue text(size_t column);
  void repeat(size_t column, llvm::Value* at);

 private:
  struct Column {
    uint32_t expr, type;
    bool key, nullable;
    llvm::Value *values = nullptr, *valid = nullptr;
  };
  RowValue value(const Column& column);
  bool is_edges(size_t column) const;
  Carried store_edges(uint32_t expr, llvm::Value* view, llvm::Value* arena_offset);

  RowEmitter& rows_;
  const size_t nkeys_;
  const bool keeps_ids_;  // of views, for whoever groups by them; only join tables are read so
  std::vector<Column> columns_;
  llvm::Value *arena_ = nullptr, *hashes_ = nullptr;
};

}  // namespace turbine
