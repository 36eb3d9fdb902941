/*
 * row_store.cc - emits the writing of kept rows to the columns of a TbRowStore.
 *
 * Called by the sinks of PROJECT and BUILD. It must never reserve room: its callers have
 * done so.
 */
#include "compiler/codegen/row_store.h"

#include <algorithm>
#include <cstddef>

#include "turbine/grid.h"
#include "turbine/kernel.h"

namespace turbine {

using llvm::Value;

RowStoreEmitter::RowStoreEmitter(RowEmitter& rows, const Program& program)
    : rows_(rows),
      nkeys_(program.sink() == TB_SINK_BUILD ? program.keys().size() : 0),
      keeps_ids_(program.sink() == TB_SINK_BUILD) {
  auto add = [&](uint32_t expr, bool key) {
    const TbExpr& e = program.expr(expr);
    const bool may_be_null = e.flags & TB_EX_NULLABLE;
    columns_.push_back({expr, e.type, key, may_be_null && (!key || program.keeps_null_keys())});
  };
  if (nkeys_ != 0)
    for (uint32_t key : program.keys()) add(key, true);
  for (uint32_t output : program.outputs()) add(output, false);
}

bool RowStoreEmitter::drops_null_keys() const {
  if (rows_.program().keeps_null_keys()) return false;
  for (size_t i = 0; i < nkeys_; i++)
    if (rows_.program().expr(columns_[i].expr).flags & TB_EX_NULLABLE) return true;
  return false;
}

void RowStoreEmitter::bind(Value* store) {
  auto& ir = rows_.ir();
  arena_ = rows_.load(ir.getPtrTy(), store, offsetof(TbRowStore, arena));
  if (nkeys_ != 0) hashes_ = rows_.load(ir.getPtrTy(), store, offsetof(TbRowStore, hashes));
  Value* data = rows_.load(ir.getPtrTy(), store, offsetof(TbRowStore, columns));
  for (size_t i = 0; i < columns_.size(); i++) {
    const uint64_t base = i * sizeof(TbColumnData);
    columns_[i].values = rows_.load(ir.getPtrTy(), data, base + offsetof(TbColumnData, values));
    if (columns_[i].nullable) columns_[i].valid = rows_.load(ir.getPtrTy(), data, base + offsetof(TbColumnData, valid));
  }
}

RowValue RowStoreEmitter::value(const Column& column) {
  const RowValue v = rows_.eval(column.expr, nullptr);
  return column.key ? canonical_key(rows_, column.type, v) : v;
}

Value* RowStoreEmitter::null_key() {
  Value* any = nullptr;
  for (size_t i = 0; i < nkeys_; i++) any = rows_.or_maybe(any, rows_.eval(columns_[i].expr, nullptr).null);
  return any;
}

/* The length of a text, 0 for NULL. */
static Value* text_length(RowEmitter& rows, const RowValue& v) {
  auto& ir = rows.ir();
  return v.null ? ir.CreateSelect(v.null, ir.getInt32(0), v.length) : v.length;
}

Value* RowStoreEmitter::text_bytes() {
  auto& ir = rows_.ir();
  Value* total = nullptr;
  for (size_t i = 0; i < columns_.size(); i++) {
    if (!is_text(i)) continue;
    Value* length = ir.CreateZExt(text_length(rows_, rows_.eval(columns_[i].expr, nullptr)), ir.getInt64Ty());
    total = total ? ir.CreateAdd(total, length) : length;
  }
  return total;
}

/* Of a NULL key it is any hash, but only what is there is touched. */
Value* RowStoreEmitter::hash() {
  llvm::SmallVector<uint32_t, 4> types;
  llvm::SmallVector<RowValue, 4> keys;
  for (size_t i = 0; i < nkeys_; i++) {
    types.push_back(columns_[i].type);
    keys.push_back(rows_.eval(columns_[i].expr, nullptr));
    if (is_text(i)) keys.back().length = text_length(rows_, keys.back());
  }
  return join_hash(rows_, types, keys);
}

void RowStoreEmitter::write_hash(Value* at) {
  auto& ir = rows_.ir();
  ir.CreateStore(hash(), rows_.index(ir.getInt64Ty(), hashes_, at));
}

bool RowStoreEmitter::is_edges(size_t column) const {
  const TbExpr& e = rows_.program().expr(columns_[column].expr);
  return e.op == TB_EXPR_GRID && e.index == TB_GRID_EDGES;
}

/* Only a plain column's bytes are known by where they lie, and shapes that are not reduced. */
bool RowStoreEmitter::repeats_text(size_t column) const {
  const Program& program = rows_.program();
  const auto joins = program.joins();
  return is_text(column) && (program.expr(columns_[column].expr).op == TB_EXPR_COLUMN || is_edges(column)) &&
         std::any_of(joins.begin(), joins.end(), [](const TbJoin& join) { return join.kind == TB_JOIN_SERIES; });
}

RowValue RowStoreEmitter::text(size_t column) {
  RowValue v = value(columns_[column]);
  v.length = text_length(rows_, v);
  return v;
}

void RowStoreEmitter::repeat(size_t column, Value* at) {
  auto& ir = rows_.ir();
  const Column& c = columns_[column];
  Value* before = ir.CreateSub(at, ir.getInt64(1));
  auto copy = [&](llvm::Type* type, Value* values) {
    ir.CreateStore(ir.CreateLoad(type, rows_.index(type, values, before)), rows_.index(type, values, at));
  };
  copy(ir.getInt128Ty(), c.values);
  if (c.nullable) copy(ir.getInt8Ty(), c.valid);
}

Carried RowStoreEmitter::store_edges(uint32_t expr, Value* view, Value* arena_offset) {
  llvm::SmallVector<Value*, 8> operands = {view, arena_, arena_offset};
  for (uint32_t arg : rows_.program().args(rows_.program().expr(expr))) {
    const RowValue v = rows_.eval(arg, nullptr);
    operands.push_back(v.value);
    if (v.length) operands.push_back(v.length);
  }
  rows_.call_rt("rt_grid_store_edges", operands);
  return {};
}

Value* RowStoreEmitter::write(size_t column, Value* at, Value* arena_offset) {
  auto& ir = rows_.ir();
  const Column& c = columns_[column];
  const RowValue v = value(c);
  if (c.nullable) {
    Value* valid = v.null ? ir.CreateZExt(ir.CreateNot(v.null), ir.getInt8Ty()) : ir.getInt8(1);
    ir.CreateStore(valid, rows_.index(ir.getInt8Ty(), c.valid, at));
  }
  if (!is_text(column)) {
    llvm::Type* type = rows_.memory_type(c.type);
    Value* stored = c.type == TB_TYPE_BOOL ? ir.CreateZExt(v.value, type) : v.value;
    ir.CreateStore(stored, rows_.index(type, c.values, at));
    return arena_offset;
  }
  Value* length = text_length(rows_, v);
  Value* view = rows_.index(ir.getInt128Ty(), c.values, at);
  auto store_text = [&]() -> Carried {
    rows_.call_rt("rt_store_text", {view, arena_, arena_offset, v.value, length});
    return {};
  };
  if (is_edges(column)) {
    // if (edges) the shape as it is; else, if it is not NULL, what is written only here
    Value* reduced = ir.CreateAnd(ir.CreateIsNull(v.value), ir.CreateICmpNE(length, ir.getInt32(0)));
    emit_if(rows_, "edges.reduced", reduced, {}, [&] { return store_edges(c.expr, view, arena_offset); });
    emit_if(rows_, "edges.whole", ir.CreateNot(reduced), {}, store_text);
  } else {
    store_text();
  }
  if (v.id && keeps_ids_ && !c.key) {
    // Rows that are joined with it are grouped by it.
    Value* prefix = rows_.load(ir.getInt32Ty(), view, offsetof(TbTextView, prefix));
    Value* has_id = ir.CreateICmpNE(v.id, ir.getInt32(0));
    rows_.store(ir.CreateSelect(has_id, v.hash, prefix), view, offsetof(TbTextView, prefix));
    rows_.store(v.id, view, offsetof(TbTextView, id));
  }
  return ir.CreateAdd(arena_offset, ir.CreateZExt(length, ir.getInt64Ty()));
}

}  // namespace turbine
