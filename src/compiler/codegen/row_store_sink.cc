/*
 * row_store_sink.cc - the sinks PROJECT and BUILD of the host's tb_pipeline: room for the whole batch
 * first, then a loop for each column.
 *
 * Called by pipeline_host.cc once per compilation. What it emits runs for each batch of rows
 * that have passed filters and joins, and counts no row before all its columns are written.
 */
#include "compiler/codegen/row_store_sink.h"

#include <cstddef>

namespace turbine {

using llvm::Value;

RowStoreSink::RowStoreSink(HostTile& tile)
    : tile_(tile), rows_(tile.rows()), ir_(tile.ir()), store_(rows_, tile.program()) {}

void RowStoreSink::emit(TupleBatch b) {
  Value* store = tile_.field(ir_.getPtrTy(), offsetof(TbPipelineArgs, store));
  auto counter = [&](uint64_t offset) { return rows_.load(ir_.getInt64Ty(), store, offset); };

  // Nobody finds a row with a NULL key, so it need not be there.
  if (store_.drops_null_keys())
    tile_.keep_tuples("keys", b, [&]() -> Value* {
      Value* null = store_.null_key();
      return null ? ir_.CreateNot(null) : ir_.getTrue();
    });

  // Room for all rows and their texts.
  Value* bytes = emit_text_sizes(b);
  Value* rows_after = ir_.CreateAdd(counter(offsetof(TbRowStore, nrows)), b.count);
  Value* bytes_after = ir_.CreateAdd(counter(offsetof(TbRowStore, arena_used)), bytes);
  Value* room = ir_.CreateICmpULE(rows_after, counter(offsetof(TbRowStore, capacity)));
  room = ir_.CreateAnd(room, ir_.CreateICmpULE(bytes_after, counter(offsetof(TbRowStore, arena_capacity))));
  tile_.emit_room(room, b.count, bytes);

  // Hashes of keys, then the columns.
  store_.bind(store);
  Value* first = counter(offsetof(TbRowStore, nrows));
  if (store_.nkeys() != 0)
    emit_loop(rows_, "hashes", ir_.getInt64(0), b.count, {}, [&](Value* k, const Carried&) -> Carried {
      tile_.begin_tuple(b, k);
      store_.write_hash(ir_.CreateAdd(first, k));
      return {};
    });
  for (size_t column = 0; column < store_.columns(); column++)
    store_.repeats_text(column) ? emit_repeated_texts(b, column, first) : emit_column(b, column, first);

  // Only now the rows count.
  rows_.store(ir_.CreateAdd(first, b.count), store, offsetof(TbRowStore, nrows));
}

/* Bytes of the batch's texts. */
Value* RowStoreSink::emit_text_sizes(const TupleBatch& b) {
  bool any = false;
  for (size_t column = 0; column < store_.columns(); column++) any |= store_.is_text(column);
  if (!any) return ir_.getInt64(0);
  Carried end = emit_loop(rows_, "sizes", ir_.getInt64(0), b.count, {ir_.getInt64(0)},
                          [&](Value* k, const Carried& now) -> Carried {
                            tile_.begin_tuple(b, k);
                            return {ir_.CreateAdd(now[0], store_.text_bytes())};
                          });
  return end[0];
}

/* Text offsets run through the columns: all of one column, then the next one's. */
void RowStoreSink::emit_column(const TupleBatch& b, size_t column, Value* first) {
  Value* store = tile_.field(ir_.getPtrTy(), offsetof(TbPipelineArgs, store));
  Value* arena_used = rows_.load(ir_.getInt64Ty(), store, offsetof(TbRowStore, arena_used));
  Carried end = emit_loop(rows_, "column", ir_.getInt64(0), b.count, {arena_used, ir_.getInt32(0)},
                          [&](Value* k, const Carried& now) -> Carried {
                            tile_.begin_tuple(b, k);
                            Value* offset = store_.write(column, ir_.CreateAdd(first, k), now[0]);
                            Value* errors = rows_.take_errors();
                            return {offset, errors ? ir_.CreateOr(now[1], errors) : now[1]};
                          });
  tile_.or_errors(end[1]);
  if (store_.is_text(column)) rows_.store(end[0], store, offsetof(TbRowStore, arena_used));
}

/*
 * A text that is the one before, by address and length, is not copied again: its view is.
 *
 *   for (k) { same = text(k) is text(k - 1); if (same) view[first + k] = view[first + k - 1]; else copy; }
 */
void RowStoreSink::emit_repeated_texts(const TupleBatch& b, size_t column, Value* first) {
  Value* store = tile_.field(ir_.getPtrTy(), offsetof(TbPipelineArgs, store));
  Value* arena_used = rows_.load(ir_.getInt64Ty(), store, offsetof(TbRowStore, arena_used));
  const Carried none = {arena_used, llvm::ConstantPointerNull::get(ir_.getPtrTy()), ir_.getInt32(TB_NONE)};
  const Carried end = emit_loop(
      rows_, "repeated", ir_.getInt64(0), b.count, none, [&](Value* k, const Carried& now) -> Carried {
        tile_.begin_tuple(b, k);
        const RowValue text = store_.text(column);
        Value* at = ir_.CreateAdd(first, k);
        Value* same = ir_.CreateAnd(ir_.CreateICmpEQ(text.value, now[1]), ir_.CreateICmpEQ(text.length, now[2]));
        // An empty text and a NULL may lie at one address; what a row makes itself lies nowhere.
        same = ir_.CreateAnd(same, ir_.CreateICmpNE(text.length, ir_.getInt32(0)));
        same = ir_.CreateAnd(same, ir_.CreateIsNotNull(text.value));
        emit_if(rows_, "repeated.same", same, {}, [&]() -> Carried {
          store_.repeat(column, at);
          return {};
        });
        const Carried written = emit_if(rows_, "repeated.other", ir_.CreateNot(same), {now[0]},
                                        [&]() -> Carried { return {store_.write(column, at, now[0])}; });
        return {written[0], text.value, text.length};
      });
  rows_.store(end[0], store, offsetof(TbRowStore, arena_used));
}

}  // namespace turbine
