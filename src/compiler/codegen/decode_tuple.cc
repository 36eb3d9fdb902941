/*
 * decode_tuple.cc - emits the decoding of one heap tuple.
 *
 * Called by decode.cc once a compilation. Emitted code runs for each tuple, and must never trust a length or offset
 * of a tuple before it is checked: pages may be damaged or torn.
 */
#include "compiler/codegen/decode_tuple.h"

#include <llvm/IR/MDBuilder.h>

#include <cstddef>
#include <stdexcept>
#include <string>

#include "rt/heap_page.h"
#include "turbine/kernel.h"

namespace turbine {

namespace {

constexpr uint32_t kPresenceBits = 64;

/* Attributes that are always decoded by code of their own; behind them, so many
 * unreferenced ones in a row are skipped by a loop over a table. Code for each
 * of 1,600 attributes would take a minute to compile. */
constexpr uint32_t kSpecialised = 48;
constexpr uint32_t kStretch = 8;

/* Lies in the tuple as a varlena. */
bool is_variable(const TbColumn& column) {
  return tb_type_is_text(column.type) || tb_type_is_numeric(column.type) ||
         (column.flags & (TB_COL_DISPLAY_SCALE | TB_COL_COORDINATE));
}

/* Two columns may be one attribute; the walk notes the first, and the others
 * take its place from there. */
uint32_t first_column_of(std::span<const TbColumn> columns, uint32_t attnum) {
  for (uint32_t c = 0; c < columns.size(); c++)
    if (columns[c].attnum == attnum) return c;
  return TB_NONE;
}

}  // namespace

llvm::Value* device_pointer(ModuleBuilder& builder, llvm::IRBuilder<>& ir, llvm::Value* pointer) {
  constexpr unsigned kGlobal = 1;
  if (!builder.gpu()) return pointer;
  llvm::Value* global = ir.CreateAddrSpaceCast(pointer, ir.getPtrTy(kGlobal));
  return ir.CreateAddrSpaceCast(global, ir.getPtrTy());
}

TupleDecoder::TupleDecoder(ModuleBuilder& builder, const Program& program, llvm::IRBuilder<>& ir)
    : builder_(builder), program_(program), columns_(program.columns().first(program.source_columns())), ir_(ir) {
  check_columns();
  for (const TbColumn& column : columns_) last_ = std::max<uint32_t>(last_, column.attnum);
  column_of_.assign(last_, TB_NONE);
  for (uint32_t a = 0; a < last_; a++) column_of_[a] = first_column_of(columns_, a + 1);
}

void TupleDecoder::check_columns() const {
  for (const TbColumn& column : columns_) {
    if (column.flags & TB_COL_TID) continue;  // of no attribute
    const std::string name = "attribute " + std::to_string(column.attnum);
    const TbAttribute& attribute = program_.attributes()[column.attnum - 1];
    const int length = is_variable(column) ? -1 : static_cast<int>(tb_type_width(column.type));
    if (attribute.flags & TB_ATT_DROPPED) throw std::runtime_error(name + " is dropped");
    if (attribute.length != length) throw std::runtime_error(name + " can not hold a " + tb_type_name(column.type));
  }
}

bool TupleDecoder::may_be_absent(uint32_t column) const {
  const TbColumn& c = columns_[column];
  return (c.flags & TB_COL_NULLABLE) || c.missing_param != TB_NONE;
}

/* ---- small helpers ---- */

llvm::CallInst* TupleDecoder::call(llvm::StringRef symbol, llvm::ArrayRef<llvm::Value*> operands,
                                   const llvm::Twine& name) {
  llvm::Function* function = builder_.rt(symbol);
  llvm::CallInst* call = ir_.CreateCall(function, operands, function->getReturnType()->isVoidTy() ? "" : name);
  call->setCallingConv(function->getCallingConv());
  return call;
}

llvm::Value* TupleDecoder::at(llvm::Value* base, llvm::Value* offset) {
  return ir_.CreateInBoundsGEP(ir_.getInt8Ty(), base, ir_.CreateZExt(offset, ir_.getInt64Ty()));
}

llvm::Value* TupleDecoder::at(llvm::Value* base, uint64_t offset) {
  return ir_.CreateInBoundsGEP(ir_.getInt8Ty(), base, ir_.getInt64(offset));
}

llvm::Value* TupleDecoder::load(llvm::Type* type, llvm::Value* base, uint64_t offset, const char* name) {
  return ir_.CreateLoad(type, at(base, offset), name);
}

llvm::Value* TupleDecoder::or_maybe(llvm::Value* a, llvm::Value* b) {
  if (a == nullptr) return b;
  return b == nullptr ? a : ir_.CreateOr(a, b);
}

llvm::BasicBlock* TupleDecoder::block(const llvm::Twine& name) {
  return llvm::BasicBlock::Create(builder_.context(), name, ir_.GetInsertBlock()->getParent());
}

/* The integer that carries a value from tuple to column: the bits are the same. */
llvm::Type* TupleDecoder::memory_type(uint32_t type) { return ir_.getIntNTy(8 * tb_type_width(type)); }

/* ---- what is the same for all tuples ---- */

void TupleDecoder::bind(llvm::Value* args, llvm::Value* pages, llvm::Value* errors) {
  pages_ = pages;
  errors_ = errors;
  start_ = ir_.CreateAlloca(ir_.getInt32Ty(), nullptr, "start");
  llvm::Type* pointer = ir_.getPtrTy();
  llvm::Value* columns = load(pointer, args, offsetof(TbDecodeArgs, columns), "columns");
  llvm::Value* params = load(pointer, args, offsetof(TbDecodeArgs, params), "params");
  for (uint32_t c = 0; c < columns_.size(); c++) {
    const TbColumn& column = columns_[c];
    const uint64_t base = c * sizeof(TbColumnData);
    BoundColumn bound;
    bound.values = device_pointer(builder_, ir_,
                                  load(pointer, columns, base + offsetof(TbColumnData, values), "values"));
    if (column.flags & TB_COL_NULLABLE)
      bound.valid = device_pointer(builder_, ir_,
                                   load(pointer, columns, base + offsetof(TbColumnData, valid), "valid"));
    if (column.missing_param != TB_NONE) bound.missing = load_missing(column, params);
    bound_.push_back(bound);
  }
}

TupleDecoder::Missing TupleDecoder::load_missing(const TbColumn& column, llvm::Value* params) {
  llvm::Value* param = at(params, sizeof(TbParamBlock) + uint64_t{column.missing_param} * sizeof(TbParam));
  Missing missing;
  llvm::Value* is_null = load(ir_.getInt8Ty(), param, offsetof(TbParam, is_null), "missing.null");
  llvm::Value* known = ir_.CreateICmpEQ(is_null, ir_.getInt8(0));
  missing.valid = ir_.CreateZExt(known, ir_.getInt8Ty(), "missing.valid");
  if (tb_type_is_text(column.type)) {
    llvm::Value* length = load(ir_.getInt32Ty(), param, offsetof(TbParam, length), "missing.length");
    missing.defer = ir_.CreateAnd(known, ir_.CreateICmpNE(length, ir_.getInt32(0)));
    return missing;
  }
  llvm::Type* type = memory_type(column.type);
  llvm::Value* value = ir_.CreateAlignedLoad(
      type, at(param, offsetof(TbParam, value)),
      llvm::Align(kMaxAlign > tb_type_width(column.type) ? tb_type_width(column.type) : kMaxAlign), "missing.value");
  missing.value = ir_.CreateSelect(known, value, llvm::ConstantInt::get(type, 0));
  return missing;
}

/* ---- the walk over the attributes ---- */

llvm::Value* TupleDecoder::position(const Cursor& cursor) {
  return cursor.dynamic ? cursor.dynamic : ir_.getInt32(cursor.constant);
}

void TupleDecoder::align_to(Cursor& cursor, uint32_t align) {
  if (cursor.align >= align) return;
  if (cursor.dynamic) {
    cursor.dynamic = ir_.CreateAnd(ir_.CreateAdd(cursor.dynamic, ir_.getInt32(align - 1)), ir_.getInt32(~(align - 1)));
  } else {
    cursor.constant = (cursor.constant + align - 1) / align * align;
  }
  cursor.align = align;
}

void TupleDecoder::step_fixed(Cursor& cursor, const TbAttribute& attribute) {
  const uint32_t length = static_cast<uint32_t>(attribute.length);
  if (cursor.dynamic)
    cursor.dynamic = ir_.CreateAdd(cursor.dynamic, ir_.getInt32(length));
  else
    cursor.constant += length;
  const uint32_t known = cursor.dynamic ? length | cursor.align : cursor.constant;
  cursor.align = known == 0 ? kMaxAlign : std::min(kMaxAlign, known & (0 - known));
}

/* Over a varlena or cstring that is there; gives its start. */
llvm::Value* TupleDecoder::step_variable(Cursor& cursor, const TbAttribute& attribute, const Subject& subject,
                                         bool referenced, llvm::Value*& toasted) {
  llvm::Value* start = position(cursor);
  llvm::Value* end;
  if (attribute.length == -2) {
    align_to(cursor, attribute.align);
    start = position(cursor);
    end = call("rt_decode_cstring_end", {subject.data, start, subject.length}, "cstring.end");
  } else {
    end = call("rt_decode_varlena_end", {subject.data, start, subject.length, ir_.getInt32(attribute.align), start_},
               "varlena.end");
    start = ir_.CreateLoad(ir_.getInt32Ty(), start_, "varlena.start");
  }
  if (referenced)
    toasted = or_maybe(toasted, call("rt_decode_varlena_toasted", {subject.data, start, subject.length}, "toasted"));
  cursor.dynamic = end;
  cursor.align = 1;
  return start;
}

/* The end of the stretch of unreferenced attributes that starts here and is
 * worth a loop; else the attribute itself. */
uint32_t TupleDecoder::stretch_end(uint32_t attribute) const {
  uint32_t past = attribute;
  while (past < last_ && column_of_[past] == TB_NONE) past++;
  return attribute >= kSpecialised && past - attribute >= kStretch ? past : attribute;
}

llvm::Value* TupleDecoder::shapes() {
  if (shapes_ != nullptr) return shapes_;
  std::vector<uint32_t> words;
  for (uint32_t a = 0; a < last_; a++) {
    const TbAttribute& attribute = program_.attributes()[a];
    words.push_back(static_cast<uint16_t>(attribute.length) | uint32_t{attribute.align} << 16);
  }
  llvm::Constant* table = llvm::ConstantDataArray::get(builder_.context(), words);
  shapes_ = new llvm::GlobalVariable(builder_.module(), table->getType(), /*isConstant=*/true,
                                     llvm::GlobalValue::PrivateLinkage, table, "shapes");
  return shapes_;
}

void TupleDecoder::step_stretch(Cursor& cursor, const Subject& subject, uint32_t first, uint32_t past) {
  cursor.dynamic = call("rt_decode_skip",
                        {subject.tuple, subject.data, position(cursor), subject.length, shapes(), ir_.getInt32(first),
                         ir_.getInt32(past - first)},
                        "stretch.end");
  cursor.align = 1;
}

/* All attributes up to the last are there. */
TupleDecoder::Walk TupleDecoder::walk_complete(const Subject& subject) {
  Walk walk;
  walk.columns.resize(columns_.size());
  Cursor cursor;
  for (uint32_t a = 0; a < last_; a++) {
    if (const uint32_t past = stretch_end(a); past > a) {
      step_stretch(cursor, subject, a, past);
      a = past - 1;
      continue;
    }
    const TbAttribute& attribute = program_.attributes()[a];
    const uint32_t column = column_of_[a];
    llvm::Value* start;
    if (attribute.length > 0) {
      align_to(cursor, attribute.align);
      start = position(cursor);
      step_fixed(cursor, attribute);
    } else {
      start = step_variable(cursor, attribute, subject, column != TB_NONE, walk.toasted);
    }
    if (column == TB_NONE) continue;
    walk.columns[column].offset = start;
    if (may_be_absent(column)) walk.columns[column].absent = ir_.getFalse();
  }
  walk.end = position(cursor);
  walk.block = ir_.GetInsertBlock();
  return walk;
}

llvm::Value* TupleDecoder::present_bit(const Subject& subject, uint32_t attribute, Presence& presence) {
  const uint32_t word = attribute / kPresenceBits;
  if (presence.word != word)
    presence = {call("rt_decode_presence", {subject.tuple, ir_.getInt32(word)}, "presence"), word};
  const uint64_t bit = uint64_t{1} << (attribute % kPresenceBits);
  return ir_.CreateICmpNE(ir_.CreateAnd(presence.bits, ir_.getInt64(bit)), ir_.getInt64(0), "present");
}

/* A referenced attribute that is not there: NULL, its missing value, or a lie. */
void TupleDecoder::note_absence(Walk& walk, const Subject& subject, uint32_t column, llvm::Value* present) {
  const TbColumn& c = columns_[column];
  llvm::Value* absent = ir_.CreateNot(present);
  llvm::Value* has_missing = nullptr;
  if (bound_[column].missing) {
    has_missing = ir_.CreateICmpULT(subject.natts, ir_.getInt32(c.attnum));
    if (llvm::Value* defer = bound_[column].missing->defer)
      walk.toasted = or_maybe(walk.toasted, ir_.CreateAnd(has_missing, defer));
  }
  if (!(c.flags & TB_COL_NULLABLE)) {
    llvm::Value* lie = has_missing ? ir_.CreateAnd(absent, ir_.CreateNot(has_missing)) : absent;
    walk.corrupt = or_maybe(walk.corrupt, lie);
  }
  if (may_be_absent(column)) walk.columns[column].absent = absent;
}

/* Over an attribute that may not be there; gives its start, if it is. */
llvm::Value* TupleDecoder::step_maybe(Cursor& cursor, uint32_t a, const Subject& subject, llvm::Value* present,
                                      Walk& walk) {
  const TbAttribute& attribute = program_.attributes()[a];
  llvm::Value* before = position(cursor);
  const uint32_t align_before = cursor.align;
  Cursor after = cursor;
  after.dynamic = before;
  llvm::Value* start;
  if (attribute.length > 0) {
    align_to(after, attribute.align);
    start = after.dynamic;
    step_fixed(after, attribute);
    cursor.dynamic = ir_.CreateSelect(present, after.dynamic, before);
    cursor.align = std::min(align_before, after.align);
    return start;
  }
  llvm::BasicBlock* from = ir_.GetInsertBlock();
  llvm::BasicBlock* there = block("attribute.there");
  llvm::BasicBlock* next = block("attribute.next");
  ir_.CreateCondBr(present, there, next);
  ir_.SetInsertPoint(there);
  llvm::Value* toasted = nullptr;
  start = step_variable(after, attribute, subject, column_of_[a] != TB_NONE, toasted);
  there = ir_.GetInsertBlock();
  ir_.CreateBr(next);

  ir_.SetInsertPoint(next);
  auto merge = [&](llvm::Value* if_there, llvm::Value* if_not) {
    llvm::PHINode* phi = ir_.CreatePHI(if_there->getType(), 2);
    phi->addIncoming(if_there, there);
    phi->addIncoming(if_not, from);
    return phi;
  };
  cursor.dynamic = merge(after.dynamic, before);
  cursor.align = 1;
  llvm::Value* start_there = merge(start, ir_.getInt32(0));
  if (toasted) walk.toasted = or_maybe(walk.toasted, merge(toasted, ir_.getFalse()));
  return start_there;
}

/* Some attribute is NULL or after the tuple's last. Leading NOT NULL attributes
 * of fixed width keep constant offsets; only where they end depends on whether
 * the tuple has them. */
TupleDecoder::Walk TupleDecoder::walk_partial(const Subject& subject) {
  Walk walk;
  walk.columns.resize(columns_.size());
  Cursor cursor;
  bool prefix = true;
  Presence presence;
  llvm::Value* reach = ir_.getInt32(0);  // end of the last referenced value in the prefix
  // A tuple that ends inside the prefix has nothing behind it: its position does not matter.
  auto leave_prefix = [&](uint32_t a) {
    if (!prefix) return;
    llvm::Value* all = ir_.CreateICmpUGE(subject.natts, ir_.getInt32(a));
    cursor.dynamic = ir_.CreateSelect(all, position(cursor), reach);
    prefix = false;
  };
  for (uint32_t a = 0; a < last_; a++) {
    if (const uint32_t past = stretch_end(a); past > a) {
      leave_prefix(a);
      step_stretch(cursor, subject, a, past);
      a = past - 1;
      continue;
    }
    const TbAttribute& attribute = program_.attributes()[a];
    const uint32_t column = column_of_[a];
    llvm::Value* present = present_bit(subject, a, presence);
    llvm::Value* start;
    if (prefix && attribute.length > 0 && (attribute.flags & TB_ATT_NOTNULL)) {
      align_to(cursor, attribute.align);
      start = position(cursor);
      step_fixed(cursor, attribute);
      if (column != TB_NONE) reach = ir_.CreateSelect(present, position(cursor), reach);
    } else {
      leave_prefix(a);
      start = step_maybe(cursor, a, subject, present, walk);
    }
    if (column == TB_NONE) continue;
    walk.columns[column].offset = start;
    note_absence(walk, subject, column, present);
  }
  walk.end = prefix ? reach : position(cursor);
  walk.block = ir_.GetInsertBlock();
  return walk;
}

LocatedTuple TupleDecoder::locate(llvm::Value* page, llvm::Value* line_pointer) {
  llvm::BasicBlock* look = block("tuple.look");
  llvm::BasicBlock* plain = block("tuple.plain");
  llvm::BasicBlock* odd = block("tuple.odd");
  llvm::BasicBlock* partial = block("tuple.partial");
  llvm::BasicBlock* located = block("tuple.located");
  std::vector<llvm::BasicBlock*> insane = {ir_.GetInsertBlock(), odd};
  llvm::MDNode* likely = llvm::MDBuilder(builder_.context()).createBranchWeights(1000, 1);
  ir_.CreateCondBr(call("rt_decode_line_sane", {line_pointer}, "sane"), look, located, likely);

  ir_.SetInsertPoint(look);
  llvm::Value* tuple = at(page, ir_.CreateAnd(line_pointer, ir_.getInt32(0x7fff)));
  llvm::Value* length = ir_.CreateLShr(line_pointer, 17, "tuple.length");
  llvm::Value* natts = call("rt_decode_natts", {tuple}, "natts");
  ir_.CreateCondBr(call("rt_decode_tuple_plain", {tuple, ir_.getInt32(last_)}, "plain"), plain, odd);

  ir_.SetInsertPoint(plain);
  const Subject usual = {tuple, at(tuple, kPlainHeader),
                         ir_.CreateSub(length, ir_.getInt32(static_cast<uint32_t>(kPlainHeader)), "data.length"),
                         natts};
  const Walk complete = walk_complete(usual);
  ir_.CreateBr(located);

  ir_.SetInsertPoint(odd);
  ir_.CreateCondBr(call("rt_decode_tuple_sane", {tuple, length}, "sane"), partial, located, likely);
  ir_.SetInsertPoint(partial);
  llvm::Value* hoff = call("rt_decode_hoff", {tuple}, "hoff");
  const Subject other = {tuple, at(tuple, hoff), ir_.CreateSub(length, hoff, "data.length"), natts};
  const Walk some = walk_partial(other);
  ir_.CreateBr(located);

  ir_.SetInsertPoint(located);
  return join(usual, complete, other, some, insane);
}

LocatedTuple TupleDecoder::join(const Subject& usual, const Walk& complete, const Subject& other, const Walk& partial,
                                llvm::ArrayRef<llvm::BasicBlock*> insane) {
  auto status_of = [&](const Walk& walk, const Subject& subject) {
    llvm::IRBuilderBase::InsertPointGuard guard(ir_);
    ir_.SetInsertPoint(walk.block->getTerminator());
    llvm::Value* status = ir_.getInt32(kTupleRow);
    if (walk.toasted) status = ir_.CreateSelect(walk.toasted, ir_.getInt32(kTupleDeferred), status);
    llvm::Value* corrupt = or_maybe(ir_.CreateICmpUGT(walk.end, subject.length, "beyond"), walk.corrupt);
    return ir_.CreateSelect(corrupt, ir_.getInt32(kTupleCorrupt), status, "status");
  };
  auto merge = [&](llvm::Value* a, llvm::Value* b, llvm::Value* otherwise, const char* name) -> llvm::PHINode* {
    llvm::PHINode* phi = ir_.CreatePHI(a->getType(), 4, name);
    phi->addIncoming(a, complete.block);
    phi->addIncoming(b, partial.block);
    for (llvm::BasicBlock* from : insane) phi->addIncoming(otherwise, from);
    return phi;
  };
  auto merge_defined = [&](llvm::Value* a, llvm::Value* b, const char* name) {
    return merge(a, b, llvm::PoisonValue::get(a->getType()), name);
  };
  llvm::Value* whole = status_of(complete, usual);
  llvm::Value* some = status_of(partial, other);

  LocatedTuple tuple;
  tuple.status = merge(whole, some, ir_.getInt32(kTupleCorrupt), "status");
  tuple.tuple = merge_defined(usual.tuple, other.tuple, "tuple");
  tuple.data = merge_defined(usual.data, other.data, "data");
  tuple.natts = merge_defined(usual.natts, other.natts, "natts");
  tuple.columns.resize(columns_.size());
  for (uint32_t c = 0; c < tuple.columns.size(); c++) {
    const LocatedTuple::Column& a = complete.columns[c];
    const LocatedTuple::Column& b = partial.columns[c];
    if (a.offset == nullptr) continue;  // a second column of the same attribute
    tuple.columns[c].offset = merge_defined(a.offset, b.offset, "offset");
    if (a.absent) tuple.columns[c].absent = merge_defined(a.absent, b.absent, "absent");
  }
  for (uint32_t c = 0; c < tuple.columns.size(); c++)
    if (tuple.columns[c].offset == nullptr && !(columns_[c].flags & TB_COL_TID))
      tuple.columns[c] = tuple.columns[column_of_[columns_[c].attnum - 1]];
  return tuple;
}

/* ---- writing a row ---- */

void TupleDecoder::store(const LocatedTuple& tuple, llvm::Value* row, llvm::Value* tid) {
  for (uint32_t c = 0; c < columns_.size(); c++) {
    if (columns_[c].flags & TB_COL_TID)
      ir_.CreateStore(tid, ir_.CreateInBoundsGEP(ir_.getInt64Ty(), bound_[c].values, row));
    else if (is_variable(columns_[c]))
      store_variable(tuple, c, row);
    else
      store_fixed(tuple, c, row);
    if (bound_[c].valid) store_valid(tuple, c, row);
  }
}

/* i1: the tuple ends before the column's attribute. */
llvm::Value* TupleDecoder::is_short(const LocatedTuple& tuple, uint32_t column) {
  return ir_.CreateICmpULT(tuple.natts, ir_.getInt32(columns_[column].attnum));
}

/* Without a branch: an absent value is read from the tuple's header. */
void TupleDecoder::store_fixed(const LocatedTuple& tuple, uint32_t column, llvm::Value* row) {
  const TbColumn& c = columns_[column];
  const TbAttribute& attribute = program_.attributes()[c.attnum - 1];
  const LocatedTuple::Column& place = tuple.columns[column];
  llvm::Type* type = memory_type(c.type);
  llvm::Value* from = at(tuple.data, place.offset);
  if (place.absent) from = ir_.CreateSelect(place.absent, tuple.tuple, from);
  llvm::Value* value = ir_.CreateAlignedLoad(type, from, llvm::Align(attribute.align), "value");
  if (c.type == TB_TYPE_BOOL) value = ir_.CreateZExt(ir_.CreateICmpNE(value, ir_.getInt8(0)), ir_.getInt8Ty());
  if (place.absent) {
    llvm::Value* instead = llvm::ConstantInt::get(type, 0);
    if (bound_[column].missing)
      instead = ir_.CreateSelect(is_short(tuple, column), bound_[column].missing->value, instead);
    value = ir_.CreateSelect(place.absent, instead, value);
  }
  ir_.CreateStore(value, ir_.CreateInBoundsGEP(type, bound_[column].values, row));
}

/* A verdict unless the value (i1) fits its column. */
void TupleDecoder::note_unless(llvm::Value* fits) {
  llvm::Value* verdict = ir_.CreateSelect(fits, ir_.getInt32(0), ir_.getInt32(TB_ERR_UNREPRESENTABLE));
  ir_.CreateStore(ir_.CreateOr(ir_.CreateLoad(ir_.getInt32Ty(), errors_), verdict), errors_);
}

/* -10^digits < value < 10^digits */
llvm::Value* TupleDecoder::within_digits(llvm::Value* value_at, uint32_t digits) {
  uint64_t limit = 1;
  for (uint32_t i = 0; i < digits; i++) limit *= 10;
  llvm::Value* value = ir_.CreateLoad(ir_.getInt64Ty(), value_at, "value");
  llvm::Value* shifted = ir_.CreateAdd(value, ir_.getInt64(limit - 1));
  return ir_.CreateICmpULT(shifted, ir_.getInt64(2 * limit - 1), "within");
}

/* numeric and text: by the library, out of a varlena known to be inline. */
void TupleDecoder::store_variable(const LocatedTuple& tuple, uint32_t column, llvm::Value* row) {
  const TbColumn& c = columns_[column];
  const LocatedTuple::Column& place = tuple.columns[column];
  llvm::Value* value_at = ir_.CreateInBoundsGEP(memory_type(c.type), bound_[column].values, row);
  llvm::BasicBlock* next = nullptr;
  if (place.absent) {
    llvm::BasicBlock* there = block("value.there");
    llvm::BasicBlock* not_there = block("value.absent");
    next = block("value.next");
    ir_.CreateCondBr(place.absent, not_there, there);
    ir_.SetInsertPoint(not_there);
    store_absent(tuple, column, value_at);
    ir_.CreateBr(next);
    ir_.SetInsertPoint(there);
  }
  llvm::Value* varlena = at(tuple.data, place.offset);
  if (c.flags & TB_COL_DISPLAY_SCALE) {
    note_unless(call("rt_decode_display_scale", {varlena, value_at}, "fits"));
  } else if (c.flags & TB_COL_COORDINATE) {
    note_unless(call("rt_decode_coordinate", {varlena, ir_.getInt32(c.digits), value_at}, "fits"));
  } else if (tb_type_is_numeric(c.type)) {
    const char* symbol = c.type == TB_TYPE_NUM64 ? "rt_decode_num64" : "rt_decode_num128";
    llvm::Value* scale = ir_.getInt32(static_cast<uint32_t>(static_cast<int32_t>(c.scale)));
    note_unless(call(symbol, {varlena, scale, value_at}, "fits"));
    if (c.digits != 0) note_unless(within_digits(value_at, c.digits));
  } else {
    call(c.type == TB_TYPE_BPCHAR ? "rt_decode_bpchar" : "rt_decode_text", {pages_, varlena, value_at});
  }
  if (next) {
    ir_.CreateBr(next);
    ir_.SetInsertPoint(next);
  }
}

/* A value that is not in the tuple: all zero bytes, or the missing value. */
void TupleDecoder::store_absent(const LocatedTuple& tuple, uint32_t column, llvm::Value* value_at) {
  const TbColumn& c = columns_[column];
  llvm::Type* type = memory_type(c.type);
  llvm::Value* instead = llvm::ConstantInt::get(type, 0);
  if (bound_[column].missing && bound_[column].missing->value)
    instead = ir_.CreateSelect(is_short(tuple, column), bound_[column].missing->value, instead);
  const uint32_t width = tb_type_width(c.type);
  ir_.CreateAlignedStore(instead, value_at, llvm::Align(std::min(width, kMaxAlign)));
}

void TupleDecoder::store_valid(const LocatedTuple& tuple, uint32_t column, llvm::Value* row) {
  llvm::Value* valid = ir_.getInt8(1);
  if (llvm::Value* absent = tuple.columns[column].absent) {
    llvm::Value* instead = ir_.getInt8(0);
    if (bound_[column].missing)
      instead = ir_.CreateSelect(is_short(tuple, column), bound_[column].missing->valid, instead);
    valid = ir_.CreateSelect(absent, instead, valid);
  }
  ir_.CreateStore(valid, ir_.CreateInBoundsGEP(ir_.getInt8Ty(), bound_[column].valid, row));
}

}  // namespace turbine
