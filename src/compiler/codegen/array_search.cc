/*
 * array_search.cc - emits x op ANY (array) and x op ALL (array).
 *
 * Arrays of integers, dates and times come sorted (TB_PARAM_ARRAY): equality halves them. Others
 * are gone through, from the first element. Called by RowEmitter::eval.
 */
#include <cstddef>

#include "compiler/codegen/loop_emitter.h"
#include "compiler/codegen/row_emitter.h"
#include "turbine/integer_equality.h"
#include "turbine/kernel.h"

namespace turbine {

using llvm::Value;

namespace {

/* What x = ANY (array) and x <> ALL (array) are made of, of types that compare as integers of at most 64 bits. */
bool compares_integers(uint32_t function, bool any) {
  if (tb_function_equals_integers(function)) return any;
  switch (function) {
    case TB_FN_INT2NE:
    case TB_FN_INT4NE:
    case TB_FN_INT8NE:
    case TB_FN_INT24NE:
    case TB_FN_INT42NE:
    case TB_FN_INT28NE:
    case TB_FN_INT82NE:
    case TB_FN_INT48NE:
    case TB_FN_INT84NE:
    case TB_FN_DATE_NE:
    case TB_FN_TIMESTAMP_NE:
    case TB_FN_TIMESTAMPTZ_NE:
    case TB_FN_NUM64NE: return !any;
    default: return false;
  }
}

}  // namespace

RowValue RowEmitter::eval_array(const TbExpr& e, bool any, Value* active) {
  return compares_integers(e.index, any) ? search_sorted(e, any, active) : search_all(e, any, active);
}

/*
 * lo = 0, hi = n;
 * while (lo < hi && !found)
 *   mid = (lo + hi) / 2;  found = array[mid] == x;  if (array[mid] < x) lo = mid + 1; else hi = mid;
 * unknown = array.length > 0 && (x is NULL || the last element is NULL)
 */
RowValue RowEmitter::search_sorted(const TbExpr& e, bool any, Value* active) {
  const auto args = program_.args(e);
  const RowValue x = eval(args[0], active);
  const TbExpr& array_expr = program_.expr(args[1]);
  const RowValue array = param(array_expr.index);
  const uint32_t element_type = program_.params()[array_expr.index].type;
  const uint32_t width = tb_type_width(element_type);
  Value* zero = ir_.getInt64(0);

  Value* count = ir_.CreateZExt(array.length, ir_.getInt64Ty());
  if (array.null) count = ir_.CreateSelect(array.null, zero, count);
  Value* filled = ir_.CreateICmpNE(count, zero);
  Value* nulls = ir_.CreateInBoundsGEP(ir_.getInt8Ty(), array.value, ir_.CreateMul(count, ir_.getInt64(width)));
  const Carried last = emit_if(*this, "array.last", filled, {ir_.getFalse()}, [&]() -> Carried {
    Value* at = index(ir_.getInt8Ty(), nulls, ir_.CreateSub(count, ir_.getInt64(1)));
    return {ir_.CreateICmpNE(ir_.CreateLoad(ir_.getInt8Ty(), at), ir_.getInt8(0))};
  });
  Value* end = ir_.CreateSub(count, ir_.CreateZExt(last[0], ir_.getInt64Ty()));
  Value* wanted = active ? ir_.CreateSelect(active, end, zero) : end;
  if (x.null) wanted = ir_.CreateSelect(x.null, zero, wanted);
  Value* key = ir_.CreateSExt(x.value, ir_.getInt64Ty());

  const Carried result = emit_while(
      *this, "array.search", {zero, wanted, ir_.getFalse()},
      [&](const Carried& now) { return ir_.CreateAnd(ir_.CreateICmpULT(now[0], now[1]), ir_.CreateNot(now[2])); },
      [&](const Carried& now) -> Carried {
        Value* mid = ir_.CreateLShr(ir_.CreateAdd(now[0], now[1]), ir_.getInt64(1));
        Value* at = ir_.CreateInBoundsGEP(ir_.getInt8Ty(), array.value, ir_.CreateMul(mid, ir_.getInt64(width)));
        Value* element = ir_.CreateSExt(ir_.CreateLoad(memory_type(element_type), at), ir_.getInt64Ty());
        Value* below = ir_.CreateICmpSLT(element, key);
        return {ir_.CreateSelect(below, ir_.CreateAdd(mid, ir_.getInt64(1)), now[0]),
                ir_.CreateSelect(below, now[1], mid), ir_.CreateICmpEQ(element, key)};
      });

  Value* unknown = ir_.CreateAnd(filled, x.null ? ir_.CreateOr(x.null, last[0]) : last[0]);
  RowValue out;
  out.value = any ? result[2] : ir_.CreateNot(result[2]);
  out.null = ir_.CreateAnd(ir_.CreateNot(result[2]), unknown);
  if (array.null) out.null = ir_.CreateOr(out.null, array.null);
  return out;
}

/*
 * found = false, unknown = false;
 * for (j = 0; j < array.length; j++)
 *   r = f(x, array[j]);  found |= r is <any: true, all: false>;  unknown |= r is NULL
 */
RowValue RowEmitter::search_all(const TbExpr& e, bool any, Value* active) {
  const auto args = program_.args(e);
  const RowValue x = eval(args[0], active);
  const TbExpr& array_expr = program_.expr(args[1]);
  const RowValue array = param(array_expr.index);
  const uint32_t element_type = program_.params()[array_expr.index].type;
  const uint32_t width = tb_type_width(element_type);

  llvm::Function* parent = ir_.GetInsertBlock()->getParent();
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(builder_.context(), name, parent); };
  llvm::BasicBlock *head = block("array.loop"), *body = block("array.element"), *done = block("array.done");
  Value* count = ir_.CreateZExt(array.length, ir_.getInt64Ty());
  if (array.null) count = ir_.CreateSelect(array.null, ir_.getInt64(0), count);
  if (active) count = ir_.CreateSelect(active, count, ir_.getInt64(0));
  Value* nulls = ir_.CreateInBoundsGEP(ir_.getInt8Ty(), array.value, ir_.CreateMul(count, ir_.getInt64(width)));
  Value* errors_before = errors_ ? errors_ : ir_.getInt32(0);
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  ir_.CreateBr(head);

  ir_.SetInsertPoint(head);
  llvm::PHINode* j = ir_.CreatePHI(ir_.getInt64Ty(), 2, "element");
  llvm::PHINode* found = ir_.CreatePHI(ir_.getInt1Ty(), 2);
  llvm::PHINode* unknown = ir_.CreatePHI(ir_.getInt1Ty(), 2);
  llvm::PHINode* errors = ir_.CreatePHI(ir_.getInt32Ty(), 2);
  j->addIncoming(ir_.getInt64(0), before);
  found->addIncoming(ir_.getFalse(), before);
  unknown->addIncoming(ir_.getFalse(), before);
  errors->addIncoming(errors_before, before);
  ir_.CreateCondBr(ir_.CreateAnd(ir_.CreateICmpULT(j, count), ir_.CreateNot(found)), body, done);

  ir_.SetInsertPoint(body);
  errors_ = nullptr;
  RowValue element;
  element.null = ir_.CreateICmpNE(ir_.CreateLoad(ir_.getInt8Ty(), index(ir_.getInt8Ty(), nulls, j)), ir_.getInt8(0));
  Value* at = ir_.CreateInBoundsGEP(ir_.getInt8Ty(), array.value, ir_.CreateMul(j, ir_.getInt64(width)));
  if (tb_type_is_text(element_type)) {
    element.length = load(ir_.getInt32Ty(), at, offsetof(TbTextView, length));
    Value* offset = ir_.CreateZExt(load(ir_.getInt32Ty(), at, offsetof(TbTextView, offset)), ir_.getInt64Ty());
    element.value = ir_.CreateInBoundsGEP(ir_.getInt8Ty(), params_base_, offset);
  } else {
    element.value = ir_.CreateLoad(memory_type(element_type), at);
    if (element_type == TB_TYPE_BOOL) element.value = ir_.CreateICmpNE(element.value, ir_.getInt8(0));
  }
  RowValue r = eval_call(e.index, {x, element}, e, program_.expr(args[0]).scale, active);
  Value* hit = and_maybe(any ? r.value : ir_.CreateNot(r.value), not_null(r));
  Value* unknown_next = ir_.CreateOr(unknown, r.null ? r.null : ir_.getFalse());
  Value* errors_next = errors_ ? ir_.CreateOr(errors, errors_) : errors;
  Value* j_next = ir_.CreateAdd(j, ir_.getInt64(1));
  llvm::BasicBlock* body_end = ir_.GetInsertBlock();
  j->addIncoming(j_next, body_end);
  found->addIncoming(hit, body_end);
  unknown->addIncoming(unknown_next, body_end);
  errors->addIncoming(errors_next, body_end);
  ir_.CreateBr(head);

  ir_.SetInsertPoint(done);
  errors_ = errors;
  RowValue out;
  out.value = any ? static_cast<Value*>(found) : ir_.CreateNot(found);
  out.null = ir_.CreateAnd(ir_.CreateNot(found), unknown);
  if (array.null) out.null = ir_.CreateOr(out.null, array.null);
  return out;
}

}  // namespace turbine
