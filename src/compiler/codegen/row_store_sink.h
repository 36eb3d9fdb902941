/*
 * row_store_sink.h - the sinks PROJECT and BUILD of the host's tb_pipeline.
 */
#pragma once

#include "compiler/codegen/host_tile.h"
#include "compiler/codegen/row_store.h"

namespace turbine {

class RowStoreSink {
 public:
  explicit RowStoreSink(HostTile& tile);

  /* Stores the tuples of a batch that are alive. BUILD leaves out those with a NULL key. */
  void emit(TupleBatch b);

 private:
  using Value = llvm::Value;

  Value* emit_text_sizes(const TupleBatch& b);
  void emit_column(const TupleBatch& b, size_t column, Value* first);
  void emit_repeated_texts(const TupleBatch& b, size_t column, Value* first);

  HostTile& tile_;
  RowEmitter& rows_;
  llvm::IRBuilder<>& ir_;
  RowStoreEmitter store_;
};

}  // namespace turbine
