/*
 * key_values.cc - emits equality and canonical form of key values.
 *
 * Called for group keys and join keys. It must never decide about NULL: grouping and
 * joins differ there.
 */
#include "compiler/codegen/key_values.h"

namespace turbine {

using llvm::Value;

/* Of a text from its short hash, which views of dictionary entries have. */
static Value* text_key_hash(RowEmitter& rows, const RowValue& v) {
  auto& ir = rows.ir();
  auto compute = [&]() -> Carried { return {rows.call_rt("rt_short_text_hash", {v.value, v.length})}; };
  Value* hash = v.id ? emit_if(rows, "text.hash", ir.CreateICmpEQ(v.id, ir.getInt32(0)), {v.hash}, compute)[0]
                     : compute()[0];
  return rows.call_rt("rt_hash_int4", {hash});
}

Value* key_hash(RowEmitter& rows, uint32_t type, const RowValue& v) {
  switch (type) {
    case TB_TYPE_BOOL: return rows.call_rt("rt_hash_bool", {v.value});
    case TB_TYPE_INT2: return rows.call_rt("rt_hash_int2", {v.value});
    case TB_TYPE_INT4:
    case TB_TYPE_DATE: return rows.call_rt("rt_hash_int4", {v.value});
    case TB_TYPE_FLOAT4: return rows.call_rt("rt_hash_float4", {v.value});
    case TB_TYPE_FLOAT8: return rows.call_rt("rt_hash_float8", {v.value});
    case TB_TYPE_NUM128: return rows.call_rt("rt_hash_num128", {v.value});
    case TB_TYPE_TEXT:
    case TB_TYPE_BPCHAR: return text_key_hash(rows, v);
    default: return rows.call_rt("rt_hash_int8", {v.value});
  }
}

Value* key_equal(RowEmitter& rows, uint32_t type, Value* key, Value* stored) {
  auto& ir = rows.ir();
  if (type == TB_TYPE_BOOL) return ir.CreateICmpEQ(ir.CreateZExt(key, ir.getInt8Ty()), stored);
  if (!stored->getType()->isFloatingPointTy()) return ir.CreateICmpEQ(key, stored);
  Value* both_nan = ir.CreateAnd(ir.CreateFCmpUNO(stored, stored), ir.CreateFCmpUNO(key, key));
  return ir.CreateOr(ir.CreateFCmpOEQ(key, stored), both_nan);
}

RowValue canonical_key(RowEmitter& rows, uint32_t type, const RowValue& v) {
  if (type != TB_TYPE_FLOAT4 && type != TB_TYPE_FLOAT8) return v;
  auto& ir = rows.ir();
  RowValue out = v;
  // Adding 0 turns -0 into 0.
  Value* number = ir.CreateFAdd(v.value, llvm::ConstantFP::get(v.value->getType(), 0.0));
  Value* nan = llvm::ConstantFP::getNaN(v.value->getType());
  out.value = ir.CreateSelect(ir.CreateFCmpUNO(v.value, v.value), nan, number);
  return out;
}

Value* join_hash(RowEmitter& rows, llvm::ArrayRef<uint32_t> types, llvm::ArrayRef<RowValue> keys) {
  Value* combined = nullptr;
  for (size_t i = 0; i < keys.size(); i++) {
    Value* hash = key_hash(rows, types[i], keys[i]);
    combined = combined ? rows.call_rt("rt_hash_combine", {combined, hash}) : hash;
  }
  return combined;
}

}  // namespace turbine
