/*
 * entry_results.cc - looks results of expressions over one text column up by the code of the row's text, and notes
 * those that nobody has computed yet; likewise groups, and matches of joins. engine/program/entry_results.h has the
 * layout.
 *
 * Called by RowEmitter::eval, by sinks and by joins. It must never note a result whose evaluation has raised: the next
 * row with that text has to raise, too.
 */
#include <cstddef>

#include "compiler/codegen/loop_emitter.h"
#include "compiler/codegen/row_emitter.h"
#include "turbine/kernel.h"

namespace turbine {

using llvm::Value;

/* Without results, every column reads its `none`. */
void RowEmitter::bind_entry_results(Value* entry_results) {
  if (entry_results_.empty()) return;
  const size_t size = program_.source_columns() * sizeof(TbEntryResults);
  llvm::Constant* zeros = llvm::ConstantAggregateZero::get(llvm::ArrayType::get(ir_.getInt8Ty(), size));
  auto* none = new llvm::GlobalVariable(builder_.module(), zeros->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                        zeros, "no_entry_results");
  none->setAlignment(llvm::Align(alignof(TbEntryResults)));
  entry_results = ir_.CreateSelect(ir_.CreateIsNull(entry_results), none, entry_results);
  for (uint32_t i = 0; i < program_.source_columns(); i++) {
    if (!columns_[i].dictionary) continue;
    bind_results_of(i, entry_results, columns_[i].dictionary);
    if (entry_results_.group_column() == i) bind_groups_of(i, entry_results, columns_[i].dictionary);
  }
}

/*
 * noted = views && views == of->views && of->results;
 * results = noted ? of->results : of->none;
 * results_mask = noted ? ~0 : 0;
 */
void RowEmitter::bind_results_of(uint32_t column, Value* entry_results, Value* views) {
  if (entry_results_.record_size(column) == 0) return;
  BoundColumn& bound = columns_[column];
  const uint64_t of = column * sizeof(TbEntryResults);
  Value* known = load(ir_.getPtrTy(), entry_results, of + offsetof(TbEntryResults, views));
  Value* results = load(ir_.getPtrTy(), entry_results, of + offsetof(TbEntryResults, results));
  Value* same = ir_.CreateAnd(ir_.CreateIsNotNull(views), ir_.CreateICmpEQ(views, known));
  bound.noted = ir_.CreateAnd(same, ir_.CreateIsNotNull(results));
  bound.results = ir_.CreateSelect(bound.noted, results, at(entry_results, of + offsetof(TbEntryResults, none)));
  bound.results_mask = ir_.CreateSExt(bound.noted, ir_.getInt64Ty());
}

/* The same of groups; without, `none` has a 0 for all. */
void RowEmitter::bind_groups_of(uint32_t column, Value* entry_results, Value* views) {
  BoundColumn& bound = columns_[column];
  const uint64_t of = column * sizeof(TbEntryResults);
  Value* known = load(ir_.getPtrTy(), entry_results, of + offsetof(TbEntryResults, views));
  Value* groups = load(ir_.getPtrTy(), entry_results, of + offsetof(TbEntryResults, groups));
  Value* same = ir_.CreateAnd(ir_.CreateIsNotNull(views), ir_.CreateICmpEQ(views, known));
  bound.groups_noted = ir_.CreateAnd(same, ir_.CreateIsNotNull(groups));
  bound.groups = ir_.CreateSelect(bound.groups_noted, groups, at(entry_results, of + offsetof(TbEntryResults, none)));
  bound.groups_mask = ir_.CreateSExt(bound.groups_noted, ir_.getInt64Ty());
}

/* Parts see no codes: what they evaluate they compute. */
bool RowEmitter::has_entry_result(uint32_t expr) const {
  if (in_part_) return false;
  const auto place = entry_results_.place(expr);
  return place && columns_[place->column].results;
}

/* (is_null ? 0 : 1 + code) & mask */
Value* RowEmitter::record_number(uint32_t column, Value* mask) {
  Value* record = ir_.CreateAdd(ir_.CreateZExt(load_element(column), ir_.getInt64Ty()), ir_.getInt64(1));
  if (Value* null = source_place(column).null) record = ir_.CreateSelect(null, ir_.getInt64(0), record);
  return ir_.CreateAnd(record, mask);
}

/* &results[record][place] */
Value* RowEmitter::result_place(const EntryResults::Place& place) {
  const BoundColumn& bound = columns_[place.column];
  Value* record = ir_.CreateMul(record_number(place.column, bound.results_mask),
                                ir_.getInt64(entry_results_.record_size(place.column)));
  return at(index(ir_.getInt8Ty(), bound.results, record), place.offset);
}

/* &groups[record] */
Value* RowEmitter::group_place() {
  const uint32_t column = *entry_results_.group_column();
  return index(ir_.getInt32Ty(), columns_[column].groups, record_number(column, columns_[column].groups_mask));
}

Value* RowEmitter::noted_group() { return ir_.CreateLoad(ir_.getInt32Ty(), group_place()); }

void RowEmitter::note_group(Value* group) {
  emit_if(*this, "note", columns_[*entry_results_.group_column()].groups_noted, {}, [&]() -> Carried {
    ir_.CreateStore(ir_.CreateAdd(group, ir_.getInt32(1)), group_place());
    return {};
  });
}

/*
 * word = *result_place();
 * if (word == 0 && active) word = ... the expression's result, noted ...;
 */
RowValue RowEmitter::eval_by_entry(uint32_t expr, Value* active) {
  const TbExpr& e = program_.expr(expr);
  const EntryResults::Place place = *entry_results_.place(expr);
  Value* result = result_place(place);
  Value* known = ir_.CreateLoad(ir_.getIntNTy(8 * place.width), result);

  // The first row with this text computes it; all rows do if there is no table, so neither way is called unlikely.
  Value* missing = ir_.CreateIsNull(known);
  RowValue computed;
  Value* errors = nullptr;
  const Carried out = emit_if(*this, "entry", and_maybe(active, missing), {known, ir_.getInt32(0)}, [&]() -> Carried {
    Value* word = compute_for_entry(expr, result, &computed, &errors);
    return {word, errors ? errors : ir_.getInt32(0)};
  });
  if (errors) add_errors(out[1], nullptr);
  return read_result(e, out[0], computed.null != nullptr);
}

bool RowEmitter::notes_match(uint32_t join) const {
  const auto place = entry_results_.match(join);
  return place && columns_[place->column].results;
}

/*
 * word = *result_place();
 * if (word == 0) { row = look_up(); word = row | 1 << 32; ... noted ... }
 * return (uint32_t) word;
 */
Value* RowEmitter::match_by_entry(uint32_t join, llvm::function_ref<Value*()> look_up) {
  const EntryResults::Place place = *entry_results_.match(join);
  Value* at = result_place(place);
  Value* known = ir_.CreateLoad(ir_.getInt64Ty(), at);
  Value* errors = nullptr;
  const Carried out = emit_if(*this, "match", ir_.CreateIsNull(known), {known, ir_.getInt32(0)}, [&]() -> Carried {
    const LoadScope scope(*this);
    Value* errors_before = take_errors();
    Value* row = look_up();
    errors = take_errors();
    errors_ = errors_before;
    Value* word = ir_.CreateOr(ir_.CreateZExt(row, ir_.getInt64Ty()), ir_.getInt64(uint64_t{1} << 32));
    Value* noted = columns_[place.column].noted;
    if (errors) noted = ir_.CreateAnd(noted, ir_.CreateIsNull(errors));
    emit_if(*this, "note", noted, {}, [&]() -> Carried {
      ir_.CreateStore(word, at);
      return {};
    });
    return {word, errors ? errors : ir_.getInt32(0)};
  });
  if (errors) add_errors(out[1], nullptr);
  return ir_.CreateTrunc(out[0], ir_.getInt32Ty());
}

/*
 * fresh = *result_place() == 0;
 * if (fresh && noted) *result_place() = 1;
 */
Value* RowEmitter::note_entry() {
  const EntryResults::Place place = *entry_results_.seen();
  Value* seen = result_place(place);
  Value* fresh = ir_.CreateIsNull(ir_.CreateLoad(ir_.getInt8Ty(), seen));
  emit_if(*this, "note", ir_.CreateAnd(fresh, columns_[place.column].noted), {}, [&]() -> Carried {
    ir_.CreateStore(ir_.getInt8(1), seen);
    return {};
  });
  return fresh;
}

/* What was loaded or evaluated for it is known in this branch alone. */
Value* RowEmitter::compute_for_entry(uint32_t expr, Value* place, RowValue* value, Value** errors) {
  const LoadScope scope(*this);
  Value* errors_before = take_errors();
  *value = eval_anew(expr, nullptr);
  *errors = take_errors();
  errors_ = errors_before;
  Value* word = result_word(program_.expr(expr), *value);
  const BoundColumn& bound = columns_[entry_results_.place(expr)->column];
  Value* noted = *errors ? ir_.CreateAnd(bound.noted, ir_.CreateIsNull(*errors)) : bound.noted;
  emit_if(*this, "note", noted, {}, [&]() -> Carried {
    ir_.CreateStore(word, place);
    return {};
  });
  return word;
}

/* As it is noted: never 0. */
Value* RowEmitter::result_word(const TbExpr& e, const RowValue& value) {
  if (e.type == TB_TYPE_BOOL) {
    Value* word = ir_.CreateSelect(value.value, ir_.getInt8(EntryResults::kTrue), ir_.getInt8(EntryResults::kFalse));
    return value.null ? ir_.CreateSelect(value.null, ir_.getInt8(EntryResults::kNullBool), word) : word;
  }
  constexpr uint32_t kShift = EntryResults::kStateShift;
  Value* state = ir_.getInt64(EntryResults::kValue << kShift);
  if (value.null) state = ir_.CreateSelect(value.null, ir_.getInt64(EntryResults::kNull << kShift), state);
  Value* bits = ir_.CreateBitCast(value.value, ir_.getIntNTy(8 * tb_type_width(e.type)));
  return ir_.CreateOr(ir_.CreateZExt(bits, ir_.getInt64Ty()), state);
}

RowValue RowEmitter::read_result(const TbExpr& e, Value* word, bool nullable) {
  RowValue out;
  if (e.type == TB_TYPE_BOOL) {
    out.value = ir_.CreateICmpEQ(word, ir_.getInt8(EntryResults::kTrue));
    if (nullable) out.null = ir_.CreateICmpEQ(word, ir_.getInt8(EntryResults::kNullBool));
    return out;
  }
  constexpr uint32_t kShift = EntryResults::kStateShift;
  Value* bits = ir_.CreateTrunc(word, ir_.getIntNTy(8 * tb_type_width(e.type)));
  out.value = ir_.CreateBitCast(bits, type_of(e.type));
  if (nullable) out.null = ir_.CreateICmpEQ(ir_.CreateLShr(word, kShift), ir_.getInt64(EntryResults::kNull));
  return out;
}

}  // namespace turbine
