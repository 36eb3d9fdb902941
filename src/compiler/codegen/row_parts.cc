/*
 * row_parts.cc - parts of expressions as functions, and calls of them.
 *
 * A part finds the row's columns in the caller's frame, an array of slots on its stack, and leaves its result there:
 *
 *   SLOT  CONTENTS
 *      0  result of the part that was called last
 *    1..  columns that parts read, in the order of ExpressionParts::place
 *
 * It reads its parameters itself, and returns TB_ERR_* bits. It is called only if its value is wanted, so nothing in
 * it asks again. An expression may stand in several loops of a module: all of them call the same functions.
 *
 * Called by RowEmitter::eval. It must never keep a result in slot 0 beyond the next call.
 */
#include <cstddef>

#include "compiler/codegen/loop_emitter.h"
#include "compiler/codegen/row_emitter.h"

namespace turbine {

using llvm::Value;

namespace {

/* A value in the frame. */
struct Slot {
  uint8_t value[16];
  uint32_t length;  // text
  uint8_t null;
  uint8_t found;  // of a result: an arm of the CASE was taken
  uint8_t unused[10];
};
static_assert(sizeof(Slot) == 32);

}  // namespace

const ExpressionPart& RowEmitter::part(uint32_t expr, Range range) {
  std::unique_ptr<ExpressionPart>& known = builder_.parts()[{expr, range.begin, range.end}];
  if (known) return *known;
  auto fresh = std::make_unique<ExpressionPart>();
  llvm::Type* pointer = ir_.getPtrTy();
  fresh->function = llvm::Function::Create(
      llvm::FunctionType::get(ir_.getInt32Ty(), {pointer, pointer, pointer}, false), llvm::GlobalValue::InternalLinkage,
      "part", builder_.module());
  fresh->function->addFnAttr(llvm::Attribute::NoUnwind);
  fresh->function->addFnAttr(llvm::Attribute::NoInline);
  fresh->columns.assign(program_.columns().size(), false);
  llvm::IRBuilder<> ir(llvm::BasicBlock::Create(builder_.context(), "entry", fresh->function));
  RowEmitter body(builder_, program_, ir, parts_);
  body.begin_part(*fresh);
  body.emit_part(*fresh, expr, range);
  known = std::move(fresh);
  return *known;
}

void RowEmitter::begin_part(ExpressionPart& part) {
  in_part_ = &part;
  frame_ = part.function->getArg(0);
  params_base_ = part.function->getArg(1);
  bytes_ = part.function->getArg(2);
  begin_row(nullptr);
}

/*
 * frame[0] = value;
 * return errors;
 */
void RowEmitter::emit_part(ExpressionPart& part, uint32_t expr, Range range) {
  Value* found = nullptr;
  const RowValue value = range.begin == range.end ? eval_here(expr, nullptr) : eval_group(expr, range, &found);
  write_slot(frame_, program_.expr(expr), value);
  if (found) store(ir_.CreateZExt(found, ir_.getInt8Ty()), frame_, offsetof(Slot, found));
  part.nullable = value.null != nullptr;
  part.raises = errors_ != nullptr;
  ir_.CreateRet(errors_ ? errors_ : ir_.getInt32(0));
}

RowValue RowEmitter::eval_group(uint32_t expr, Range range, Value** found) {
  const TbExpr& e = program_.expr(expr);
  if (e.op != TB_EXPR_CASE) return eval_list(expr, range, nullptr);
  Arms arms;
  eval_arms(expr, range, nullptr, arms);
  for (const auto& [condition, value] : arms) *found = or_maybe(*found, condition);
  RowValue none = null_of(e);
  none.null = nullptr;
  return select_arm(arms, none);
}

/*
 * if (active) { errors = part(frame, params, bytes); value = frame[0]; }
 * else value = 0, which nobody looks at.
 */
RowValue RowEmitter::call_part(uint32_t expr, Range range, Value* active, Value** found) {
  const ExpressionPart& called = part(expr, range);
  const TbExpr& e = program_.expr(expr);
  put_into_frame(called.columns);
  const bool text = tb_type_is_text(e.type);
  Carried none = {text ? bytes_ : llvm::Constant::getNullValue(type_of(e.type)), ir_.getInt32(0), ir_.getInt32(0),
                  ir_.getFalse(), ir_.getFalse()};
  auto flag = [&](uint64_t offset) { return ir_.CreateICmpNE(load(ir_.getInt8Ty(), frame(), offset), ir_.getInt8(0)); };
  auto call = [&]() -> Carried {
    Value* errors = ir_.CreateCall(called.function, {frame(), params_base_, bytes_});
    Value* value = load(memory_type(e.type), frame(), offsetof(Slot, value));
    if (e.type == TB_TYPE_BOOL) value = ir_.CreateICmpNE(value, ir_.getInt8(0));
    return {value, errors, text ? load(ir_.getInt32Ty(), frame(), offsetof(Slot, length)) : none[2],
            called.nullable ? flag(offsetof(Slot, null)) : none[3], found ? flag(offsetof(Slot, found)) : none[4]};
  };
  const Carried result = active ? emit_if(*this, "part", active, none, call) : call();
  if (called.raises) add_errors(result[1], nullptr);
  RowValue out;
  out.value = result[0];
  if (text) out.length = result[2];
  if (called.nullable) out.null = result[3];
  if (found) *found = result[4];
  return out;
}

Value* RowEmitter::frame() {
  if (!frame_) {
    llvm::BasicBlock& entry = ir_.GetInsertBlock()->getParent()->getEntryBlock();
    llvm::IRBuilder<> at_entry(&entry, entry.getFirstInsertionPt());
    llvm::Type* type = llvm::ArrayType::get(ir_.getInt8Ty(), sizeof(Slot) * (1 + parts_->places()));
    llvm::AllocaInst* frame = at_entry.CreateAlloca(type, nullptr, "frame");
    frame->setAlignment(llvm::Align(16));
    frame_ = frame;
  }
  return frame_;
}

Value* RowEmitter::slot_of(uint32_t column) { return at(frame(), sizeof(Slot) * (1 + parts_->place(column))); }

void RowEmitter::write_slot(Value* slot, const TbExpr& type, const RowValue& v) {
  Value* value = type.type == TB_TYPE_BOOL ? ir_.CreateZExt(v.value, ir_.getInt8Ty()) : v.value;
  store(value, slot, offsetof(Slot, value));
  if (v.length) store(v.length, slot, offsetof(Slot, length));
  if (v.null) store(ir_.CreateZExt(v.null, ir_.getInt8Ty()), slot, offsetof(Slot, null));
}

/* Where a part calls another one its caller has done so. */
void RowEmitter::put_into_frame(const std::vector<bool>& columns) {
  for (uint32_t c = 0; c < columns.size(); c++) {
    if (!columns[c]) continue;
    if (in_part_) {
      in_part_->columns[c] = true;
      continue;
    }
    if (framed_[c]) continue;
    TbExpr column{};
    column.op = TB_EXPR_COLUMN;
    column.type = program_.columns()[c].type;
    column.index = c;
    const RowValue v = eval_column(column);
    write_slot(slot_of(c), column, v);
    if (!v.null && (program_.columns()[c].flags & TB_COL_NULLABLE))
      store(ir_.getInt8(0), slot_of(c), offsetof(Slot, null));
    framed_[c] = true;
  }
}

/* What a hash or an id of a text serves, no expression asks for. */
RowValue RowEmitter::read_from_frame(uint32_t column) {
  const TbColumn& c = program_.columns()[column];
  in_part_->columns[column] = true;
  Value* slot = slot_of(column);
  RowValue v;
  v.value = load(memory_type(c.type), slot, offsetof(Slot, value));
  if (c.type == TB_TYPE_BOOL) v.value = ir_.CreateICmpNE(v.value, ir_.getInt8(0));
  if (tb_type_is_text(c.type)) v.length = load(ir_.getInt32Ty(), slot, offsetof(Slot, length));
  if (c.flags & TB_COL_NULLABLE)
    v.null = ir_.CreateICmpNE(load(ir_.getInt8Ty(), slot, offsetof(Slot, null)), ir_.getInt8(0));
  return v;
}

}  // namespace turbine
