/*
 * row_emitter.cc - emits the evaluation of expressions for one row.
 *
 * Called by the loops of both targets. Cheap operations must never branch, and no error
 * counts for a row that the query does not look at.
 */
#include "compiler/codegen/row_emitter.h"

#include <llvm/IR/Intrinsics.h>

#include <bit>
#include <cstddef>

#include "compiler/codegen/loop_emitter.h"
#include "turbine/grid.h"
#include "turbine/kernel.h"
#include "turbine/model.h"
#include "turbine/point_column.h"

namespace turbine {

using llvm::Value;

namespace {

/* Calls at least this dear are branched around where nobody wants them. */
constexpr uint32_t kBranchCost = 12;

/* Weight of one function's expressions. NVIDIA's assembler grows faster with its input than LLVM does, and on the
 * host an expression in one piece may be vectorised. */
constexpr uint32_t kMostWeightHost = 256;
constexpr uint32_t kMostWeightGpu = 192;

}  // namespace

RowEmitter::RowEmitter(ModuleBuilder& builder, const Program& program, llvm::IRBuilder<>& ir)
    : RowEmitter(builder, program, ir,
                 std::make_shared<ExpressionParts>(program, builder.gpu() ? kMostWeightGpu : kMostWeightHost)) {}

RowEmitter::RowEmitter(ModuleBuilder& builder, const Program& program, llvm::IRBuilder<>& ir,
                       std::shared_ptr<const ExpressionParts> parts)
    : builder_(builder),
      program_(program),
      ir_(ir),
      params_(program.params().size()),
      parts_(std::move(parts)),
      entry_results_(program) {}

llvm::Type* RowEmitter::type_of(uint32_t tb_type) {
  switch (tb_type) {
    case TB_TYPE_BOOL: return ir_.getInt1Ty();
    case TB_TYPE_INT2: return ir_.getInt16Ty();
    case TB_TYPE_INT4:
    case TB_TYPE_DATE: return ir_.getInt32Ty();
    case TB_TYPE_FLOAT4: return ir_.getFloatTy();
    case TB_TYPE_FLOAT8: return ir_.getDoubleTy();
    case TB_TYPE_NUM128: return ir_.getInt128Ty();
    case TB_TYPE_TEXT:
    case TB_TYPE_BPCHAR:
    case TB_TYPE_GEOMETRY: return ir_.getPtrTy();
    default: return ir_.getInt64Ty();
  }
}

llvm::Type* RowEmitter::memory_type(uint32_t tb_type) {
  return tb_type == TB_TYPE_BOOL ? ir_.getInt8Ty() : type_of(tb_type);
}

Value* RowEmitter::at(Value* base, uint64_t offset) {
  return offset == 0 ? base : ir_.CreateInBoundsGEP(ir_.getInt8Ty(), base, ir_.getInt64(offset));
}

Value* RowEmitter::load(llvm::Type* type, Value* base, uint64_t offset) {
  return ir_.CreateLoad(type, at(base, offset));
}

void RowEmitter::store(Value* value, Value* base, uint64_t offset) { ir_.CreateStore(value, at(base, offset)); }

Value* RowEmitter::index(llvm::Type* element, Value* base, Value* i) { return ir_.CreateInBoundsGEP(element, base, i); }

/* What the views of a column count from: its own bytes, if it has them. */
Value* RowEmitter::text_base(Value* columns, uint64_t column, Value* bytes) {
  Value* own = load(ir_.getPtrTy(), columns, column + offsetof(TbColumnData, bytes));
  return ir_.CreateSelect(ir_.CreateIsNull(own), bytes, own);
}

void RowEmitter::bind(Value* columns, Value* bytes, Value* params, Value* tables) {
  bytes_ = bytes;
  params_base_ = params;
  const auto cols = program_.columns();
  columns_.resize(cols.size());
  for (uint32_t i = 0; i < cols.size(); i++) {
    if (cols[i].join != 0) {
      bind_payload(i, tables);
      continue;
    }
    if (!columns) continue;
    const uint64_t base = i * sizeof(TbColumnData);
    columns_[i].values = load(ir_.getPtrTy(), columns, base + offsetof(TbColumnData, values));
    if (cols[i].flags & TB_COL_NULLABLE)
      columns_[i].valid = load(ir_.getPtrTy(), columns, base + offsetof(TbColumnData, valid));
    columns_[i].bytes = tb_type_is_text(cols[i].type) ? text_base(columns, base, bytes) : bytes;
  }
  // What only parts read they load themselves: hundreds of values would be in nobody's registers.
  for (uint32_t i = 0; i < program_.params().size(); i++)
    if (parts_->is_read_outside(i)) params_[i] = load_param(i);
}

void RowEmitter::bind_codes(const std::vector<bool>& late, Value* codes) {
  llvm::Type *i32 = ir_.getInt32Ty(), *i64 = ir_.getInt64Ty(), *pointer = ir_.getPtrTy();
  llvm::StructType* element = llvm::StructType::get(i64, i64, i32, i32, pointer, i64);
  static_assert(sizeof(TbColumnCodes) == 40 && offsetof(TbColumnCodes, row_mask) == 32);
  // Where there are no codes, every value is its own, and every view its row's.
  std::vector<llvm::Constant*> values;
  for (size_t i = 0; i < program_.source_columns(); i++) {
    const uint32_t type = program_.columns()[i].type;
    const bool text = tb_type_is_text(type);
    const auto shift = text ? 0 : static_cast<uint32_t>(std::countr_zero(tb_type_width(type)));
    const uint64_t all = ~uint64_t{0};
    values.push_back(llvm::ConstantStruct::get(
        element, {ir_.getInt64(0), ir_.getInt64(text ? 0 : all), ir_.getInt32(shift), ir_.getInt32(~uint32_t{0}),
                  llvm::ConstantPointerNull::get(ir_.getPtrTy()), ir_.getInt64(all)}));
  }
  llvm::ArrayType* array = llvm::ArrayType::get(element, values.size());
  auto* plain = new llvm::GlobalVariable(builder_.module(), array, true, llvm::GlobalValue::PrivateLinkage,
                                         llvm::ConstantArray::get(array, values), "plain");
  codes = ir_.CreateSelect(ir_.CreateIsNull(codes), plain, codes);
  for (uint32_t i = 0; i < program_.source_columns(); i++) {
    if (!late[i]) continue;
    bind_codes_of(i, at(codes, i * sizeof(TbColumnCodes)));
    Value* views = columns_[i].views;
    columns_[i].dictionary = views;
    if (views) columns_[i].views = ir_.CreateSelect(ir_.CreateIsNull(views), columns_[i].values, views);
  }
}

void RowEmitter::bind_codes_of(uint32_t column, Value* codes) {
  llvm::Type *i32 = ir_.getInt32Ty(), *i64 = ir_.getInt64Ty();
  const uint32_t column_type = program_.columns()[column].type;
  const bool text = tb_type_is_text(column_type);
  llvm::Type* type = text ? i32 : ir_.getIntNTy(8 * tb_type_width(column_type));
  BoundColumn& bound = columns_[column];
  bound.base = load(type, codes, offsetof(TbColumnCodes, base));
  bound.mask = load(type, codes, offsetof(TbColumnCodes, mask));
  bound.shift = ir_.CreateZExt(load(i32, codes, offsetof(TbColumnCodes, shift)), i64);
  bound.valid_mask = ir_.CreateZExt(load(i32, codes, offsetof(TbColumnCodes, valid_mask)), i64);
  if (!text) return;
  bound.views = load(ir_.getPtrTy(), codes, offsetof(TbColumnCodes, views));
  bound.row_mask = load(i64, codes, offsetof(TbColumnCodes, row_mask));
}

std::vector<RowEmitter::ReadColumn> RowEmitter::read_columns() const {
  std::vector<ReadColumn> columns;
  for (uint32_t i = 0; i < program_.source_columns(); i++)
    if (columns_[i].mask && !columns_[i].values->use_empty())
      columns.push_back({columns_[i].values, columns_[i].shift});
  return columns;
}

void RowEmitter::bind_places(Value* places, Value* entry_results) {
  places_ = true;
  for (uint32_t i = 0; i < program_.source_columns(); i++) {
    const TbColumn& column = program_.columns()[i];
    Value* place = at(places, i * sizeof(TbColumnPlace));
    BoundColumn& bound = columns_[i];
    bound = {};
    bound.values = load(ir_.getPtrTy(), place, offsetof(TbColumnData, values));
    if (column.flags & TB_COL_NULLABLE) bound.valid = load(ir_.getPtrTy(), place, offsetof(TbColumnData, valid));
    bound.bytes = tb_type_is_text(column.type) ? text_base(place, 0, bytes_) : bytes_;
    bind_codes_of(i, at(place, offsetof(TbColumnPlace, codes)));
    bind_results_of(i, entry_results, bound.views);
    if (tb_type_width(column.type) > sizeof(uint64_t) && !tb_type_is_text(column.type)) bound.mask = nullptr;
  }
}

/* A table's columns are its keys, then its outputs. */
void RowEmitter::bind_payload(uint32_t column, Value* tables) {
  const TbColumn& c = program_.columns()[column];
  const uint32_t join = c.join - 1u;
  if (program_.joins()[join].kind == TB_JOIN_SERIES) return;
  const uint64_t place = offsetof(TbJoinTable, columns) + (program_.joins()[join].nkeys + c.attnum - 1u) * 16ull;
  auto within = [&](Value* table, Value* offset) { return ir_.CreateInBoundsGEP(ir_.getInt8Ty(), table, offset); };
  BoundColumn& bound = columns_[column];
  bound.table = load(ir_.getPtrTy(), tables, join * sizeof(void*));
  bound.values = within(bound.table, load(ir_.getInt64Ty(), bound.table, place));
  bound.bytes = within(bound.table, load(ir_.getInt64Ty(), bound.table, offsetof(TbJoinTable, bytes)));
  if (!(c.flags & TB_COL_STORED_NULLABLE)) return;
  // Without NULLs there may be no array: the header's first byte, the kind, is not 0.
  Value* offset = load(ir_.getInt64Ty(), bound.table, place + 8);
  bound.valid = within(bound.table, offset);
  bound.valid_mask = ir_.CreateSExt(ir_.CreateICmpNE(offset, ir_.getInt64(0)), ir_.getInt64Ty());
}

const RowValue& RowEmitter::param(uint32_t i) {
  if (!params_[i].value) params_[i] = load_param(i);
  return params_[i];
}

RowValue RowEmitter::load_param(uint32_t i) {
  const TbParamShape& shape = program_.params()[i];
  const uint64_t base = sizeof(TbParamBlock) + i * sizeof(TbParam);
  RowValue v;
  if (shape.flags & TB_PARAM_NULLABLE)
    v.null = ir_.CreateICmpNE(load(ir_.getInt8Ty(), params_base_, base + offsetof(TbParam, is_null)), ir_.getInt8(0));
  if ((shape.flags & TB_PARAM_ARRAY) || tb_type_is_text(shape.type)) {
    Value* offset = load(ir_.getInt64Ty(), params_base_, base + offsetof(TbParam, offset));
    v.value = ir_.CreateInBoundsGEP(ir_.getInt8Ty(), params_base_, offset);
    v.length = load(ir_.getInt32Ty(), params_base_, base + offsetof(TbParam, length));
  } else {
    v.value = load(memory_type(shape.type), params_base_, base + offsetof(TbParam, value));
    if (shape.type == TB_TYPE_BOOL) v.value = ir_.CreateICmpNE(v.value, ir_.getInt8(0));
  }
  return v;
}

void RowEmitter::begin_row(Value* row, llvm::MDNode* access_group) {
  row_ = row;
  access_group_ = access_group;
  errors_ = nullptr;
  loaded_.assign(program_.columns().size(), RowValue{});
  framed_.assign(program_.columns().size(), false);
  known_.clear();
  narrows_.clear();
  locals_.clear();
  steps_ = nullptr;
  matches_.assign(program_.joins().size(), nullptr);
}

Value* RowEmitter::and_maybe(Value* a, Value* b) {
  if (!a) return b;
  if (!b) return a;
  return ir_.CreateAnd(a, b);
}

Value* RowEmitter::or_maybe(Value* a, Value* b) {
  if (!a) return b;
  if (!b) return a;
  return ir_.CreateOr(a, b);
}

/* Equal questions have one answer, so that what was evaluated under it is found again. */
Value* RowEmitter::narrow(Value* active, Value* condition, bool opposite) {
  Value*& narrowed = narrows_[{active, condition, opposite}];
  if (narrowed) return narrowed;
  narrowed = and_maybe(active, opposite ? ir_.CreateNot(condition) : condition);
  if (active && narrowed != active && llvm::isa<llvm::Instruction>(narrowed)) narrowed_.emplace(narrowed, active);
  return narrowed;
}

bool RowEmitter::is_narrowed_from(Value* active, Value* wider) const {
  if (!wider) return true;
  while (active && active != wider) {
    const auto found = narrowed_.find(active);
    active = found == narrowed_.end() ? nullptr : found->second;
  }
  return active == wider;
}

Value* RowEmitter::not_null(const RowValue& v) { return v.null ? ir_.CreateNot(v.null) : nullptr; }

Value* RowEmitter::truth(const RowValue& v) { return and_maybe(v.value, not_null(v)); }

void RowEmitter::add_errors(Value* bits, Value* when) {
  if (when) bits = ir_.CreateSelect(when, bits, ir_.getInt32(0));
  errors_ = errors_ ? ir_.CreateOr(errors_, bits) : bits;
}

Value* RowEmitter::error_slot() {
  if (!error_slot_) {
    llvm::BasicBlock& entry = ir_.GetInsertBlock()->getParent()->getEntryBlock();
    llvm::IRBuilder<> at_entry(&entry, entry.getFirstInsertionPt());
    error_slot_ = at_entry.CreateAlloca(ir_.getInt32Ty(), nullptr, "row_errors");
  }
  return error_slot_;
}

Value* RowEmitter::mark(Value* loaded) {
  if (access_group_)
    llvm::cast<llvm::Instruction>(loaded)->setMetadata(llvm::LLVMContext::MD_access_group, access_group_);
  return loaded;
}

RowEmitter::ColumnPlace RowEmitter::source_place(uint32_t column) {
  const BoundColumn& bound = columns_[column];
  ColumnPlace place{nullptr, nullptr, bound.bytes};
  if (bound.valid) {
    Value* at = bound.valid_mask ? ir_.CreateAnd(row_, bound.valid_mask) : row_;
    Value* valid = mark(ir_.CreateLoad(ir_.getInt8Ty(), index(ir_.getInt8Ty(), bound.valid, at)));
    place.null = ir_.CreateICmpEQ(valid, ir_.getInt8(0));
  }
  place.value = index(ir_.getIntNTy(8 * tb_type_width(program_.columns()[column].type)), bound.values, row_);
  return place;
}

/* Without a match nothing of the table but its header is sure to exist: loads go
 * there, and yield NULL. */
RowEmitter::ColumnPlace RowEmitter::payload_place(uint32_t column) {
  const TbColumn& c = program_.columns()[column];
  const BoundColumn& bound = columns_[column];
  Value* match = matches_[c.join - 1u];
  if (!match) throw std::runtime_error("a column is used before its join");
  Value* row = ir_.CreateZExt(match, ir_.getInt64Ty());
  Value* none = nullptr;
  if (program_.may_lack_match(c.join - 1u)) none = ir_.CreateICmpEQ(match, ir_.getInt32(TB_NONE));
  auto safe = [&](Value* pointer) { return none ? ir_.CreateSelect(none, bound.table, pointer) : pointer; };
  ColumnPlace place{nullptr, none, bound.bytes};
  if (bound.valid) {
    Value* at_valid = index(ir_.getInt8Ty(), bound.valid, ir_.CreateAnd(row, bound.valid_mask));
    Value* valid = mark(ir_.CreateLoad(ir_.getInt8Ty(), safe(at_valid)));
    place.null = or_maybe(none, ir_.CreateICmpEQ(valid, ir_.getInt8(0)));
  }
  place.value = safe(index(ir_.getIntNTy(8 * tb_type_width(c.type)), bound.values, row));
  return place;
}

void RowEmitter::prefetch_text(uint32_t column, bool bytes) {
  constexpr uint64_t kLine = 64, kLines = 4;
  auto prefetch = [&](Value* at) {
    ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {ir_.getPtrTy()},
                        {at, ir_.getInt32(0), ir_.getInt32(3), ir_.getInt32(1)});
  };
  const ColumnPlace place = payload_place(column);
  if (!bytes) return prefetch(place.value);
  Value* offset = ir_.CreateZExt(load(ir_.getInt32Ty(), place.value, offsetof(TbTextView, offset)), ir_.getInt64Ty());
  for (uint64_t i = 0; i < kLines; i++)
    prefetch(index(ir_.getInt8Ty(), place.bytes, ir_.CreateAdd(offset, ir_.getInt64(i * kLine))));
}

/* base + (element & mask), in the element's width. Codes are unaligned, which a GPU does not load: there it is
 * the aligned word around the element, shifted. */
Value* RowEmitter::load_element(uint32_t column) {
  const BoundColumn& bound = columns_[column];
  llvm::Type* type = bound.mask->getType();
  Value* element;
  if (places_) {
    // A stretch is small: 32 bits, which cost a GPU half of what 64 do.
    static_assert(uint64_t{TB_STRETCH_ROWS} * sizeof(uint64_t) < uint64_t{1} << 32);
    constexpr uint32_t kByteInWord = sizeof(uint64_t) - 1;
    llvm::Type *i32 = ir_.getInt32Ty(), *i64 = ir_.getInt64Ty();
    Value* offset = ir_.CreateShl(ir_.CreateTrunc(row_, i32), ir_.CreateTrunc(bound.shift, i32));
    Value* at = index(ir_.getInt8Ty(), bound.values, ir_.CreateZExt(ir_.CreateAnd(offset, ~kByteInWord), i64));
    Value* word = mark(ir_.CreateAlignedLoad(i64, at, llvm::Align(sizeof(uint64_t))));
    Value* bits = ir_.CreateZExt(ir_.CreateShl(ir_.CreateAnd(offset, kByteInWord), 3), i64);
    element = ir_.CreateTrunc(ir_.CreateLShr(word, bits), type);
  } else {
    Value* at = index(ir_.getInt8Ty(), bound.values, ir_.CreateShl(row_, bound.shift));
    element = mark(ir_.CreateAlignedLoad(type, at, llvm::Align(1)));
  }
  return ir_.CreateAdd(ir_.CreateAnd(element, bound.mask), bound.base);
}

Value* RowEmitter::load_coded(uint32_t column) {
  return ir_.CreateBitCast(load_element(column), memory_type(program_.columns()[column].type));
}

Value* RowEmitter::coded_view(uint32_t column) {
  const BoundColumn& bound = columns_[column];
  Value* entry = ir_.CreateZExt(load_element(column), ir_.getInt64Ty());
  return index(ir_.getInt128Ty(), bound.views, ir_.CreateAdd(entry, ir_.CreateAnd(row_, bound.row_mask)));
}

RowValue RowEmitter::eval_column(const TbExpr& e) {
  RowValue& v = loaded_[e.index];
  if (v.value) return v;
  if (in_part_) return v = read_from_frame(e.index);
  const TbColumn& column = program_.columns()[e.index];
  // A series has no table: the match is the value.
  if (column.join != 0 && program_.joins()[column.join - 1u].kind == TB_JOIN_SERIES) {
    v.value = matches_[column.join - 1u];
    if (!v.value) throw std::runtime_error("a number is used before its series");
    return v;
  }
  const ColumnPlace place = column.join == 0 ? source_place(e.index) : payload_place(e.index);
  v.null = place.null;
  if (tb_type_is_text(column.type)) {
    Value* view = columns_[e.index].views ? coded_view(e.index) : place.value;
    auto word = [&](uint64_t at) { return mark(load(ir_.getInt32Ty(), view, at)); };
    v.length = word(offsetof(TbTextView, length));
    v.id = word(offsetof(TbTextView, id));
    v.hash = word(offsetof(TbTextView, prefix));
    Value* offset = word(offsetof(TbTextView, offset));
    // The view of a NULL is undefined: an empty text is safe to touch.
    if (v.null) {
      v.length = ir_.CreateSelect(v.null, ir_.getInt32(0), v.length);
      offset = ir_.CreateSelect(v.null, ir_.getInt32(0), offset);
    }
    v.value = ir_.CreateInBoundsGEP(ir_.getInt8Ty(), place.bytes, ir_.CreateZExt(offset, ir_.getInt64Ty()));
  } else if (columns_[e.index].mask) {
    v.value = load_coded(e.index);
  } else {
    v.value = mark(ir_.CreateLoad(memory_type(column.type), place.value));
  }
  if (column.type == TB_TYPE_BOOL) v.value = ir_.CreateICmpNE(v.value, ir_.getInt8(0));
  return v;
}

Value* RowEmitter::call_rt(llvm::StringRef symbol, llvm::ArrayRef<Value*> operands) {
  llvm::Function* callee = builder_.rt(symbol);
  llvm::FunctionType* type = callee->getFunctionType();
  llvm::SmallVector<Value*, 8> flat;
  for (Value* operand : operands) {
    const unsigned position = flat.size();
    if (position >= type->getNumParams()) throw std::runtime_error("too many operands for " + symbol.str());
    llvm::Type* wanted = type->getParamType(position);
    if (operand->getType()->isIntegerTy(128) && wanted->isIntegerTy(64)) {
      flat.push_back(ir_.CreateTrunc(operand, ir_.getInt64Ty()));
      flat.push_back(ir_.CreateTrunc(ir_.CreateLShr(operand, 64), ir_.getInt64Ty()));
    } else if (operand->getType() != wanted) {
      throw std::runtime_error("operand " + std::to_string(position) + " of " + symbol.str() + " has another type");
    } else {
      flat.push_back(operand);
    }
  }
  if (flat.size() != type->getNumParams()) throw std::runtime_error("too few operands for " + symbol.str());
  llvm::CallInst* call = ir_.CreateCall(callee, flat);
  call->setAttributes(callee->getAttributes());
  call->setCallingConv(callee->getCallingConv());
  if (!type->getReturnType()->isStructTy()) return call;
  // A 128-bit result comes as two registers.
  Value* low = ir_.CreateZExt(ir_.CreateExtractValue(call, 0), ir_.getInt128Ty());
  Value* high = ir_.CreateZExt(ir_.CreateExtractValue(call, 1), ir_.getInt128Ty());
  return ir_.CreateOr(low, ir_.CreateShl(high, 64));
}

RowValue RowEmitter::call_now(const TbFunction& fn, llvm::ArrayRef<RowValue> args, const TbExpr& e, int16_t arg_scale,
                              Value* active) {
  llvm::SmallVector<Value*, 8> operands;
  RowValue result;
  for (const RowValue& arg : args) {
    operands.push_back(arg.value);
    if (arg.length) operands.push_back(arg.length);
    result.null = or_maybe(result.null, arg.null);
  }
  if (fn.flags & TB_FN_SCALED) {
    operands.push_back(ir_.getInt32(arg_scale));
    operands.push_back(ir_.getInt32(e.scale));
  }
  llvm::BasicBlock& entry = ir_.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.getFirstInsertionPt());
  if (fn.flags & TB_FN_BUILDS) {
    // A place of its own for each call: the row may use several results at once.
    llvm::AllocaInst* built = at_entry.CreateAlloca(llvm::ArrayType::get(ir_.getInt8Ty(), TB_BUILT_BYTES), nullptr,
                                                    "built");
    built->setAlignment(llvm::Align(sizeof(uint64_t)));
    operands.push_back(built);
  }
  llvm::AllocaInst *out_text = nullptr, *out_length = nullptr, *out_null = nullptr;
  if (tb_type_is_text(fn.result)) {
    out_text = at_entry.CreateAlloca(ir_.getPtrTy());
    out_length = at_entry.CreateAlloca(ir_.getInt32Ty());
    operands.push_back(out_text);
    operands.push_back(out_length);
  }
  if (fn.flags & TB_FN_NULLS) {
    out_null = at_entry.CreateAlloca(ir_.getInt8Ty(), nullptr, "is_null");
    ir_.CreateStore(ir_.getInt8(0), out_null);
    operands.push_back(out_null);
  }
  if (fn.flags & TB_FN_RAISES) {
    ir_.CreateStore(ir_.getInt32(0), error_slot());
    operands.push_back(error_slot());
  }
  Value* returned = call_rt(fn.symbol, operands);
  if (fn.flags & TB_FN_RAISES)
    add_errors(ir_.CreateLoad(ir_.getInt32Ty(), error_slot()), and_maybe(active, not_null(result)));
  if (out_null)
    result.null = or_maybe(result.null, ir_.CreateICmpNE(ir_.CreateLoad(ir_.getInt8Ty(), out_null), ir_.getInt8(0)));
  if (out_text) {
    result.value = ir_.CreateLoad(ir_.getPtrTy(), out_text);
    result.length = ir_.CreateLoad(ir_.getInt32Ty(), out_length);
    if (result.null) result.length = ir_.CreateSelect(result.null, ir_.getInt32(0), result.length);
  } else {
    result.value = returned;
  }
  return result;
}

RowValue RowEmitter::eval_call(uint32_t function, llvm::ArrayRef<RowValue> args, const TbExpr& e, int16_t arg_scale,
                               Value* active) {
  const TbFunction& fn = tb_functions[function];
  Value* wanted = active;
  for (const RowValue& arg : args) wanted = and_maybe(wanted, not_null(arg));
  if (!wanted || fn.cost < kBranchCost || tb_type_is_text(fn.result)) return call_now(fn, args, e, arg_scale, active);

  // if (wanted) result = fn(args); else result = 0, which nobody looks at.
  llvm::Function* parent = ir_.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  llvm::BasicBlock* call = llvm::BasicBlock::Create(builder_.context(), "call", parent);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(builder_.context(), "called", parent);
  ir_.CreateCondBr(wanted, call, after);
  ir_.SetInsertPoint(call);
  Value* errors_before = errors_;
  errors_ = nullptr;
  llvm::SmallVector<RowValue, 4> present(args.begin(), args.end());
  for (RowValue& arg : present) arg.null = nullptr;
  RowValue result = call_now(fn, present, e, arg_scale, nullptr);
  Value* errors_called = errors_;
  llvm::BasicBlock* call_end = ir_.GetInsertBlock();
  ir_.CreateBr(after);
  ir_.SetInsertPoint(after);
  llvm::PHINode* phi = ir_.CreatePHI(result.value->getType(), 2);
  phi->addIncoming(llvm::Constant::getNullValue(phi->getType()), before);
  phi->addIncoming(result.value, call_end);
  llvm::PHINode* null = nullptr;
  if (result.null) {
    null = ir_.CreatePHI(ir_.getInt1Ty(), 2);
    null->addIncoming(ir_.getFalse(), before);
    null->addIncoming(result.null, call_end);
  }
  if (errors_called) {
    llvm::PHINode* bits = ir_.CreatePHI(ir_.getInt32Ty(), 2);
    bits->addIncoming(ir_.getInt32(0), before);
    bits->addIncoming(errors_called, call_end);
    errors_ = errors_before ? ir_.CreateOr(errors_before, bits) : bits;
  } else {
    errors_ = errors_before;
  }
  RowValue out;
  out.value = phi;
  out.null = null;
  for (const RowValue& arg : args) out.null = or_maybe(out.null, arg.null);
  return out;
}

RowValue RowEmitter::select(Value* cond, const RowValue& a, const RowValue& b) {
  RowValue v;
  v.value = ir_.CreateSelect(cond, a.value, b.value);
  if (a.length) v.length = ir_.CreateSelect(cond, a.length, b.length);
  if (a.null || b.null)
    v.null = ir_.CreateSelect(cond, a.null ? a.null : ir_.getFalse(), b.null ? b.null : ir_.getFalse());
  return v;
}

RowValue RowEmitter::null_of(const TbExpr& e) {
  RowValue v;
  v.null = ir_.getTrue();
  v.value = llvm::Constant::getNullValue(type_of(e.type));
  if (tb_type_is_text(e.type)) {
    v.value = bytes_;
    v.length = ir_.getInt32(0);
  }
  return v;
}

/*
 * AND: stops at the first false, as PostgreSQL does: later operands are wanted
 * only while none was false. OR: the mirror image.
 */
RowValue RowEmitter::eval_logic(const Operands& operands, bool is_and, Value* active) {
  Value *all = nullptr, *decided = nullptr;
  bool nullable = false;
  for (size_t i = 0; i < operands.count; i++) {
    Value* wanted = decided ? narrow(active, decided, true) : active;
    RowValue v = operands.eval(i, wanted);
    nullable |= v.null != nullptr;
    Value* neutral = is_and ? v.value : ir_.CreateNot(v.value);   // keeps going
    Value* deciding = ir_.CreateNot(neutral);
    neutral = and_maybe(neutral, not_null(v));
    deciding = and_maybe(deciding, not_null(v));
    all = and_maybe(all, neutral);
    decided = or_maybe(decided, deciding);
  }
  RowValue out;
  out.value = is_and ? all : decided;
  if (nullable) out.null = ir_.CreateNot(ir_.CreateOr(all, decided));
  return out;
}

RowValue RowEmitter::eval_test(const TbExpr& e, Value* active) {
  RowValue v = eval(program_.args(e)[0], active);
  Value* is_null = v.null ? v.null : ir_.getFalse();
  RowValue out;
  switch (e.op) {
    case TB_EXPR_NOT:
      out.value = ir_.CreateNot(v.value);
      out.null = v.null;
      break;
    case TB_EXPR_IS_NULL: out.value = is_null; break;
    case TB_EXPR_IS_NOT_NULL: out.value = ir_.CreateNot(is_null); break;
    case TB_EXPR_IS_TRUE: out.value = truth(v); break;
    case TB_EXPR_IS_NOT_TRUE: out.value = ir_.CreateNot(truth(v)); break;
    case TB_EXPR_IS_FALSE: out.value = and_maybe(ir_.CreateNot(v.value), not_null(v)); break;
    default: out.value = ir_.CreateNot(and_maybe(ir_.CreateNot(v.value), not_null(v))); break;
  }
  return out;
}

RowValue RowEmitter::eval_case(uint32_t expr, Value* active) {
  Arms arms;
  Value* remaining = eval_arms(expr, parts_->operands(expr), active, arms);
  return select_arm(arms, eval(program_.args(program_.expr(expr)).back(), remaining));
}

/* Appends those of a CASE; returns the condition under which none was taken. */
Value* RowEmitter::eval_arms(uint32_t expr, Range range, Value* active, Arms& arms) {
  const auto args = program_.args(program_.expr(expr));
  const std::vector<Range> groups = parts_->groups(expr, range);
  Value* remaining = active;
  for (const Range& group : groups) {
    Value* found = nullptr;
    const RowValue value = call_part(expr, group, remaining, &found);
    arms.emplace_back(found, value);
    remaining = narrow(remaining, found, true);
  }
  if (!groups.empty()) return remaining;
  for (size_t i = range.begin; i < range.end; i += 2) {
    Value* cond = truth(eval(args[i], remaining));
    arms.emplace_back(cond, eval(args[i + 1], narrow(remaining, cond)));
    remaining = narrow(remaining, cond, true);
  }
  return remaining;
}

RowValue RowEmitter::select_arm(const Arms& arms, RowValue otherwise) {
  for (size_t i = arms.size(); i-- > 0;) otherwise = select(arms[i].first, arms[i].second, otherwise);
  return otherwise;
}

RowValue RowEmitter::eval_coalesce(const Operands& operands, Value* active) {
  llvm::SmallVector<RowValue, 4> values;
  Value* wanted = active;
  for (size_t i = 0; i < operands.count; i++) {
    values.push_back(operands.eval(i, wanted));
    if (!values.back().null) break;
    wanted = narrow(wanted, values.back().null);
  }
  RowValue out = values.back();
  for (size_t i = values.size() - 1; i-- > 0;) out = select(ir_.CreateNot(values[i].null), values[i], out);
  return out;
}

RowValue RowEmitter::eval_distinct(const TbExpr& e, Value* active) {
  const auto args = program_.args(e);
  RowValue a = eval(args[0], active), b = eval(args[1], active);
  const int16_t scale = program_.expr(args[0]).scale;
  RowValue equal = eval_call(e.index, {a, b}, e, scale, active);
  Value* a_null = a.null ? a.null : ir_.getFalse();
  Value* b_null = b.null ? b.null : ir_.getFalse();
  RowValue out;
  out.value = ir_.CreateSelect(ir_.CreateOr(a_null, b_null), ir_.CreateXor(a_null, b_null), ir_.CreateNot(equal.value));
  return out;
}

/*
 * best = args[0];
 * for (v in args[1..]) if (v is not NULL && (best is NULL || best < v)) best = v;
 */
RowValue RowEmitter::eval_extreme(const TbExpr& e, const Operands& operands, bool greatest, Value* active) {
  RowValue best = operands.eval(0, active);
  for (size_t i = 1; i < operands.count; i++) {
    const RowValue v = operands.eval(i, active);
    const RowValue less = eval_call(e.index, {greatest ? best : v, greatest ? v : best}, e, e.scale, active);
    Value* take = and_maybe(less.value, not_null(less));
    if (best.null) take = ir_.CreateOr(take, best.null);
    take = and_maybe(take, not_null(v));
    const bool never_null = best.null == nullptr || v.null == nullptr;
    best = select(take, v, best);
    if (never_null) best.null = nullptr;
  }
  return best;
}

RowValue RowEmitter::eval_rescale(const TbExpr& e, Value* active) {
  const uint32_t arg = program_.args(e)[0];
  const TbExpr& from = program_.expr(arg);
  RowValue v = eval(arg, active);
  const bool wide = from.type == TB_TYPE_NUM128 || e.type == TB_TYPE_NUM128;
  if (wide && from.type == TB_TYPE_NUM64) v.value = ir_.CreateSExt(v.value, ir_.getInt128Ty());
  if (from.scale != e.scale) {
    if (!wide && e.scale > from.scale) {
      // The planner bounds the digits of NUM64: a plain product fits.
      int64_t factor = 1;
      for (int i = from.scale; i < e.scale; i++) factor *= 10;
      v.value = ir_.CreateMul(v.value, ir_.getInt64(factor));
    } else {
      ir_.CreateStore(ir_.getInt32(0), error_slot());
      v.value = call_rt(wide ? "rt_num128_rescale" : "rt_num64_rescale",
                        {v.value, ir_.getInt32(from.scale), ir_.getInt32(e.scale), error_slot()});
      add_errors(ir_.CreateLoad(ir_.getInt32Ty(), error_slot()), and_maybe(active, not_null(v)));
    }
  }
  if (wide && e.type == TB_TYPE_NUM64) {
    ir_.CreateStore(ir_.getInt32(0), error_slot());
    v.value = call_rt("rt_num128_to_num64", {v.value, error_slot()});
    add_errors(ir_.CreateLoad(ir_.getInt32Ty(), error_slot()), and_maybe(active, not_null(v)));
  }
  return v;
}

/* w[0] + w[1] * x[0] + ... */
Value* RowEmitter::eval_linear(Value* weights, llvm::ArrayRef<Value*> x) {
  auto weight = [&](uint64_t i) {
    Value* loaded = load(ir_.getDoubleTy(), weights, i * sizeof(double));
    // Nothing writes parameters while code runs: a loop loads them once.
    llvm::cast<llvm::LoadInst>(loaded)->setMetadata(llvm::LLVMContext::MD_invariant_load,
                                                    llvm::MDNode::get(builder_.context(), {}));
    return loaded;
  };
  Value* sum = weight(0);
  for (size_t i = 0; i < x.size(); i++)
    sum = ir_.CreateIntrinsic(llvm::Intrinsic::fma, {ir_.getDoubleTy()}, {weight(i + 1), x[i], sum});
  return sum;
}

/* The row's values go to the stack, from where an inlined body takes them into registers. */
Value* RowEmitter::eval_nearest(const TbExpr& e, const RowValue& centroids, llvm::ArrayRef<Value*> x) {
  llvm::BasicBlock& entry = ir_.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.getFirstInsertionPt());
  llvm::Type* type = llvm::ArrayType::get(ir_.getDoubleTy(), x.size());
  Value* values = at_entry.CreateAlloca(type, nullptr, "model_row");
  for (size_t i = 0; i < x.size(); i++) store(x[i], values, i * sizeof(double));
  return call_rt(e.index == TB_MODEL_NEAREST ? "rt_nearest" : "rt_nearest_distance",
                 {centroids.value, centroids.length, values, ir_.getInt32(static_cast<uint32_t>(x.size()))});
}

/* NULL if one of the row's values is; the model is none. */
RowValue RowEmitter::eval_model(const TbExpr& e, Value* active) {
  const auto args = program_.args(e);
  const bool has_array = tb_model_has_array(e.index);
  const RowValue model = has_array ? eval(args[0], active) : RowValue{};
  llvm::SmallVector<Value*, 16> x;
  RowValue out;
  for (uint32_t arg : args.subspan(has_array ? 1 : 0)) {
    const RowValue v = eval(arg, active);
    x.push_back(v.value);
    out.null = or_maybe(out.null, v.null);
  }
  if (e.index == TB_MODEL_PRODUCT) {
    out.value = x[0];
    for (Value* factor : llvm::drop_begin(x)) out.value = ir_.CreateFMul(out.value, factor);
    return out;
  }
  if (tb_model_has_centroids(e.index)) {
    Value* wanted = and_maybe(active, not_null(out));
    auto search = [&]() -> Carried { return {eval_nearest(e, model, x)}; };
    out.value = wanted ? emit_if(*this, "nearest", wanted, {llvm::Constant::getNullValue(type_of(e.type))}, search)[0]
                       : search()[0];
    return out;
  }
  out.value = eval_linear(model.value, x);
  if (e.index == TB_MODEL_LOGISTIC) out.value = call_rt("rt_logistic", {out.value});
  if (e.index == TB_MODEL_VARIANCE) out.value = call_rt("rt_logistic_variance", {out.value});
  if (e.index == TB_MODEL_SOFTPLUS) out.value = call_rt("rt_softplus", {out.value});
  return out;
}

/* Geometries, then numbers. */
RowValue RowEmitter::eval_grid(const TbExpr& e, Value* active) {
  llvm::SmallVector<Value*, 8> operands;
  RowValue out;
  for (uint32_t arg : program_.args(e)) {
    const RowValue v = eval(arg, active);
    operands.push_back(v.value);
    if (v.length) operands.push_back(v.length);
    out.null = or_maybe(out.null, v.null);
  }
  if (e.index == TB_GRID_CELL || e.index == TB_GRID_FILLED || e.index >= TB_GRID_WHOLE) {
    out.value = call_rt(e.index == TB_GRID_CELL     ? "rt_grid_cell"
                        : e.index == TB_GRID_FILLED ? "rt_grid_filled"
                        : e.index == TB_GRID_WHOLE  ? "rt_grid_whole"
                                                    : "rt_grid_first",
                        operands);
    return out;
  }
  if (e.index == TB_GRID_EDGES) {
    llvm::BasicBlock& entry = ir_.GetInsertBlock()->getParent()->getEntryBlock();
    llvm::IRBuilder<> at_entry(&entry, entry.getFirstInsertionPt());
    operands.push_back(at_entry.CreateAlloca(ir_.getInt32Ty(), nullptr, "edges_length"));
    out.value = call_rt("rt_grid_edges", operands);
    out.length = ir_.CreateLoad(ir_.getInt32Ty(), operands.back());
    return out;
  }
  const char* symbol = e.index == TB_GRID_CELLS      ? "rt_grid_cells"
                       : e.index == TB_GRID_POINT    ? "rt_grid_point"
                       : e.index == TB_GRID_CONTAINS ? "rt_grid_contains"
                       : e.index == TB_GRID_COVERS   ? "rt_grid_covers"
                                                     : "rt_grid_intersects";
  Value* wanted = and_maybe(active, not_null(out));
  operands.push_back(error_slot());
  ir_.CreateStore(ir_.getInt32(0), error_slot());
  auto call = [&]() -> Carried { return {call_rt(symbol, operands)}; };
  // A predicate costs more than a branch.
  out.value = wanted && tb_grid_is_predicate(e.index) ? emit_if(*this, "in_cell", wanted, {ir_.getFalse()}, call)[0]
                                                      : call()[0];
  add_errors(ir_.CreateLoad(ir_.getInt32Ty(), error_slot()), wanted);
  return out;
}

/* The bytes of the point, built in a place of its own: what reads them finds them in registers once all is inlined. */
RowValue RowEmitter::eval_point(const TbExpr& e, Value* active) {
  llvm::BasicBlock& entry = ir_.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.getFirstInsertionPt());
  llvm::AllocaInst* built = at_entry.CreateAlloca(llvm::ArrayType::get(ir_.getInt8Ty(), TB_BUILT_BYTES), nullptr,
                                                  "point");
  built->setAlignment(llvm::Align(sizeof(uint64_t)));
  llvm::SmallVector<Value*, 6> operands = {ir_.getInt32(e.index)};
  RowValue out;
  for (uint32_t arg : program_.args(e)) {
    const RowValue v = eval(arg, active);
    operands.push_back(v.value);
    out.null = or_maybe(out.null, v.null);
  }
  while (operands.size() <= TB_MOST_COORDINATES) operands.push_back(llvm::ConstantFP::get(ir_.getDoubleTy(), 0));
  operands.push_back(built);
  out.length = call_rt("rt_point_of_coordinates", operands);
  out.value = built;
  if (out.null) out.length = ir_.CreateSelect(out.null, ir_.getInt32(0), out.length);
  return out;
}

/* Errors of the condition become a value, where PostgreSQL decides then. What was evaluated for it is forgotten: its
 * errors must not be lost elsewhere. */
RowValue RowEmitter::eval_undecided(const TbExpr& e, Value* active) {
  const auto args = program_.args(e);
  Value* where = args.size() > 1 ? truth(eval(args[1], active)) : nullptr;
  const LoadScope scope(*this);
  Value* errors_before = take_errors();
  const bool possible = e.op == TB_EXPR_POSSIBLE;
  const RowValue condition = eval(args[0], possible || !where ? active : narrow(active, where));
  Value* errors = take_errors();
  errors_ = errors_before;
  Value* undecided = errors ? and_maybe(ir_.CreateICmpNE(errors, ir_.getInt32(0)), where) : ir_.getFalse();
  RowValue out;
  out.value = possible ? ir_.CreateOr(truth(condition), undecided) : undecided;
  if (possible && where && errors) add_errors(errors, ir_.CreateNot(where));
  return out;
}

/* What several expressions use is evaluated once where it can be: once in each function. */
RowValue RowEmitter::eval(uint32_t expr, Value* active) {
  // Several aggregates may have one argument: the optimizer does not join two look-ups that may note a result.
  const bool shared = parts_->is_shared(expr) || has_entry_result(expr);
  if (shared) {
    const auto found = known_.find(expr);
    if (found != known_.end() && is_narrowed_from(active, found->second.active)) return found->second.value;
  }
  const RowValue value = has_entry_result(expr) ? eval_by_entry(expr, active) : eval_anew(expr, active);
  if (shared) known_[expr] = {value, active};
  return value;
}

RowValue RowEmitter::eval_anew(uint32_t expr, Value* active) {
  return parts_->is_part(expr) ? call_part(expr, {0, 0}, active) : eval_here(expr, active);
}

/* AND, OR, COALESCE, GREATEST, LEAST: of such lists the list is the same as of their operands. */
RowValue RowEmitter::eval_list(uint32_t expr, Range range, Value* active) {
  const TbExpr& e = program_.expr(expr);
  const auto args = program_.args(e);
  const std::vector<Range> groups = parts_->groups(expr, range);
  auto group = [&](size_t i, Value* wanted) { return call_part(expr, groups[i], wanted); };
  auto operand = [&](size_t i, Value* wanted) { return eval(args[range.begin + i], wanted); };
  Operands operands{range.end - range.begin, operand};
  if (!groups.empty()) operands = {groups.size(), group};
  switch (e.op) {
    case TB_EXPR_AND: return eval_logic(operands, true, active);
    case TB_EXPR_OR: return eval_logic(operands, false, active);
    case TB_EXPR_COALESCE: return eval_coalesce(operands, active);
    default: return eval_extreme(e, operands, e.op == TB_EXPR_GREATEST, active);
  }
}

RowValue RowEmitter::eval_here(uint32_t expr, Value* active) {
  const TbExpr& e = program_.expr(expr);
  switch (e.op) {
    case TB_EXPR_COLUMN: return eval_column(e);
    case TB_EXPR_PARAM: return param(e.index);
    case TB_EXPR_CALL: {
      llvm::SmallVector<RowValue, 4> args;
      int16_t scale = 0;
      bool scaled = false;
      for (uint32_t arg : program_.args(e)) {
        args.push_back(eval(arg, active));
        const TbExpr& operand = program_.expr(arg);
        if (!scaled && tb_type_is_numeric(operand.type)) {
          scale = operand.scale;
          scaled = true;
        }
      }
      return eval_call(e.index, args, e, scale, active);
    }
    case TB_EXPR_AND:
    case TB_EXPR_OR:
    case TB_EXPR_COALESCE:
    case TB_EXPR_GREATEST:
    case TB_EXPR_LEAST: return eval_list(expr, parts_->operands(expr), active);
    case TB_EXPR_CASE: return eval_case(expr, active);
    case TB_EXPR_IS_DISTINCT: return eval_distinct(e, active);
    case TB_EXPR_ANY: return eval_array(e, true, active);
    case TB_EXPR_ALL: return eval_array(e, false, active);
    case TB_EXPR_RESCALE: return eval_rescale(e, active);
    case TB_EXPR_MODEL: return eval_model(e, active);
    case TB_EXPR_GRID: return eval_grid(e, active);
    case TB_EXPR_POINT: return eval_point(e, active);
    case TB_EXPR_POSSIBLE:
    case TB_EXPR_UNDECIDED: return eval_undecided(e, active);
    case TB_EXPR_SEQUENCE: return eval_sequence(e, active);
    case TB_EXPR_LOOP: return eval_loop(e, active);
    case TB_EXPR_LOCAL: return local(e.index);
    default: return eval_test(e, active);
  }
}

}  // namespace turbine
