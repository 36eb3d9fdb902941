/*
 * accumulators.cc - emits aggregate states in registers and in group rows.
 *
 * Called by the sinks' emitters of both targets. Owns no loop. It must never emit a branch into
 * step(), except for MIN and MAX of text: host loops vectorise because there is none.
 */
#include "compiler/codegen/accumulators.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>

#include "turbine/kernel.h"
#include "turbine/mutant.h"
#include "turbine/state_text.h"

namespace turbine {

using llvm::Value;

namespace {

/* How many values each kind carries; what says whether there were any is shared (SeenRows). */
size_t carried_count(const TbAgg& agg) {
  if (tb_type_is_text(agg.type)) return 0;  // in memory
  switch (agg.kind) {
    case TB_AGG_COUNT: return 0;
    case TB_AGG_SUM_WIDE: return agg.type == TB_TYPE_NUM128 ? 1 : 2;
    default: return 1;
  }
}

constexpr uint32_t kBitsOfWord = 32;

/* Those whose code may come with a condition for NULL: COALESCE(x, 0) is never NULL, but its code asks whether x is.
 * One pass, since operands come before their users. */
std::vector<bool> expressions_that_tell_null(const Program& program) {
  std::vector<bool> tells(program.exprs().size());
  for (uint32_t i = 0; i < tells.size(); i++) {
    const TbExpr& e = program.expr(i);
    const bool has_statements = e.op == TB_EXPR_SEQUENCE || e.op == TB_EXPR_LOOP || e.op == TB_EXPR_LOCAL;
    tells[i] = has_statements || (e.flags & TB_EX_NULLABLE);
    for (uint32_t arg : program.args(e)) tells[i] = tells[i] || tells[arg];
  }
  return tells;
}

}  // namespace

Accumulators::Accumulators(RowEmitter& rows, const Program& program, const GroupLayout& layout)
    : rows_(rows), program_(program), layout_(layout), gpu_(rows.builder().gpu()) {
  size_t at = 0;
  const std::vector<bool> tells_null = expressions_that_tell_null(program);
  for (const TbAgg& agg : program.aggs()) {
    value_at_.push_back(at);
    at += carried_count(agg);
    // Aggregates that leave out the same rows
    const uint32_t null_of = agg.arg != TB_NONE && tells_null[agg.arg] ? agg.arg : TB_NONE;
    const auto same = [&](const SeenRows& seen) { return seen.filter == agg.filter && seen.null_of == null_of; };
    const auto found = std::find_if(seen_.begin(), seen_.end(), same);
    seen_of_.push_back(static_cast<size_t>(found - seen_.begin()));
    if (found == seen_.end()) seen_.push_back({agg.filter, null_of, false, 0});
    SeenRows& seen = seen_[seen_of_.back()];
    seen.counted |= !gpu_ || agg.kind == TB_AGG_COUNT;
  }
  for (SeenRows& seen : seen_)
    if (seen.counted) seen.at = at++;
  if (gpu_) {
    marks_at_ = at;
    at += (seen_.size() + kBitsOfWord - 1) / kBitsOfWord;
  }
  for (const TbAgg& agg : program.aggs()) {
    if (agg.kind != TB_AGG_SUM_FLOAT) continue;
    std::optional<size_t>& largest = largest_at(agg);
    if (!largest) largest = at++;
  }
}

uint32_t Accumulators::carried_words(const Program& program) {
  uint32_t words = 0;
  for (const TbAgg& agg : program.aggs())
    words += agg.kind == TB_AGG_COUNT ? 1 : carried_count(agg) * (agg.type == TB_TYPE_NUM128 ? 4 : 2);
  return words;
}

void Accumulators::require_supported(const TbAgg& agg) {
  if (rows_.builder().gpu() && agg.kind == TB_AGG_SUM_INT && agg.type == TB_TYPE_INT8)
    throw std::runtime_error("narrow sums of bigint have no GPU code");
  if (!min_max(agg)) return;
  if (rows_.builder().gpu() && agg.type == TB_TYPE_NUM128)
    throw std::runtime_error("min and max of wide numerics have no GPU code");
}

AggInput Accumulators::input(size_t i, Value* row_passes) {
  const TbAgg& agg = program_.aggs()[i];
  AggInput in;
  in.pass = row_passes;
  if (agg.filter != TB_NONE) in.pass = rows_.and_maybe(in.pass, rows_.truth(rows_.eval(agg.filter, row_passes)));
  if (agg.arg != TB_NONE) {
    RowValue v = rows_.eval(agg.arg, in.pass);
    in.value = v.value;
    in.length = v.length;
    if (!TB_MUTANT(null_is_aggregated)) in.pass = rows_.and_maybe(in.pass, rows_.not_null(v));
  }
  return in;
}

/*
 * Floats as integers in PostgreSQL's order:
 *   bits = NaN ? canonical NaN : v;  key = bits ^ ((bits >> width-1) logical >> 1)
 */
Value* Accumulators::to_key(uint32_t type, Value* v) {
  auto& ir = rows_.ir();
  if (type == TB_TYPE_BOOL) return ir.CreateZExt(v, ir.getInt8Ty());
  if (!is_float(type)) return v;
  llvm::Type* integer = type == TB_TYPE_FLOAT4 ? ir.getInt32Ty() : ir.getInt64Ty();
  const unsigned width = integer->getIntegerBitWidth();
  Value* nan = llvm::ConstantFP::getNaN(v->getType());
  v = ir.CreateSelect(ir.CreateFCmpUNO(v, v), nan, v);
  Value* bits = ir.CreateBitCast(v, integer);
  return ir.CreateXor(bits, ir.CreateLShr(ir.CreateAShr(bits, width - 1), 1));
}

Value* Accumulators::from_key(uint32_t type, Value* key) {
  auto& ir = rows_.ir();
  if (!is_float(type)) return key;
  const unsigned width = key->getType()->getIntegerBitWidth();
  Value* bits = ir.CreateXor(key, ir.CreateLShr(ir.CreateAShr(key, width - 1), 1));
  return ir.CreateBitCast(bits, rows_.type_of(type));
}

llvm::Constant* Accumulators::key_identity(const TbAgg& agg) {
  auto& ir = rows_.ir();
  unsigned width = tb_type_width(agg.type) * 8;
  llvm::APInt value = agg.kind == TB_AGG_MIN ? llvm::APInt::getSignedMaxValue(width)
                                             : llvm::APInt::getSignedMinValue(width);
  return llvm::ConstantInt::get(ir.getIntNTy(width), value);
}

Value* Accumulators::better(const TbAgg& agg, Value* a, Value* b) {
  return agg.kind == TB_AGG_MIN ? rows_.ir().CreateICmpSLT(a, b) : rows_.ir().CreateICmpSGT(a, b);
}

/* limit <= |v| && |v| < infinity; false of NaN */
Value* Accumulators::too_large_for_sum(uint32_t type, Value* v) {
  auto& ir = rows_.ir();
  Value* magnitude = ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v);
  Value* large = ir.CreateFCmpOGE(magnitude, llvm::ConstantFP::get(v->getType(), tb_float_sum_limit(type)));
  return ir.CreateAnd(large, ir.CreateFCmpOLT(magnitude, llvm::ConstantFP::getInfinity(v->getType())));
}

/*
 * A double's magnitude as an integer that grows with it, of infinities and NaN below that
 * of every finite one: (bits << 1) - (infinity << 1) + the least integer. So the largest of
 * many takes a shift, an addition and a maximum each. A GPU, whose registers have 32 bits,
 * looks at the upper half alone: the limits are powers of two.
 */
Value* Accumulators::finite_magnitude(Value* v) {
  auto& ir = rows_.ir();
  Value* bits = gpu_ ? ir.CreateIntrinsic(llvm::Intrinsic::nvvm_d2i_hi, {}, {v}) : ir.CreateBitCast(v, ir.getInt64Ty());
  return ir.CreateAdd(ir.CreateShl(bits, 1), magnitude_of(0));
}

/* Whether the largest finite_magnitude() is too large for a sum. */
Value* Accumulators::reaches_sum_limit(uint32_t type, Value* largest) {
  return rows_.ir().CreateICmpSGE(largest, magnitude_of(tb_float_sum_limit(type)));
}

llvm::ConstantInt* Accumulators::magnitude_of(double v) {
  const uint64_t infinity = std::bit_cast<uint64_t>(std::numeric_limits<double>::infinity());
  const uint64_t magnitude = (std::bit_cast<uint64_t>(v) << 1) - (infinity << 1) + (uint64_t{1} << 63);
  return gpu_ ? rows_.ir().getInt32(static_cast<uint32_t>(magnitude >> 32)) : rows_.ir().getInt64(magnitude);
}

Value* Accumulators::overflow_if(Value* cond, uint32_t bit) {
  return rows_.ir().CreateSelect(cond, rows_.ir().getInt32(bit), rows_.ir().getInt32(0));
}

Carried Accumulators::init() {
  auto& ir = rows_.ir();
  Carried out;
  for (const TbAgg& agg : program_.aggs()) {
    require_supported(agg);
    if (carried_count(agg) == 0) continue;
    switch (agg.kind) {
      case TB_AGG_SUM_INT: out.push_back(ir.getInt64(0)); break;
      case TB_AGG_SUM_WIDE:
        if (agg.type == TB_TYPE_NUM128) {
          out.push_back(llvm::ConstantInt::get(ir.getInt128Ty(), 0));
        } else {
          out.push_back(ir.getInt64(0));
          out.push_back(ir.getInt64(0));
        }
        break;
      case TB_AGG_SUM_FLOAT: out.push_back(llvm::ConstantFP::getNegativeZero(ir.getDoubleTy())); break;
      default: out.push_back(key_identity(agg)); break;
    }
  }
  for (const SeenRows& seen : seen_)
    if (seen.counted) out.push_back(llvm::ConstantInt::get(count_type(), 0));
  if (gpu_) out.append((seen_.size() + kBitsOfWord - 1) / kBitsOfWord, ir.getInt32(0));
  for (const auto& largest : {largest_float4_, largest_float8_})
    if (largest) out.push_back(nullptr);
  for (const auto& largest : {largest_float4_, largest_float8_})
    if (largest) out[*largest] = magnitude_of(0);
  out.push_back(ir.getInt32(0));  // errors
  return out;
}

Carried Accumulators::step(const Carried& carried, Value* row_passes) {
  auto& ir = rows_.ir();
  Carried out = carried;
  std::vector<bool> is_seen(seen_.size());
  for (size_t i = 0; i < program_.aggs().size(); i++) {
    const TbAgg& agg = program_.aggs()[i];
    const AggInput in = input(i, row_passes);
    if (!is_seen[seen_of_[i]]) note_seen(seen_of_[i], in.pass, out);
    is_seen[seen_of_[i]] = true;
    const size_t at = value_at_[i];
    auto kept = [&](Value* v, Value* neutral) { return in.pass ? ir.CreateSelect(in.pass, v, neutral) : v; };
    switch (agg.kind) {
      case TB_AGG_COUNT: break;
      case TB_AGG_SUM_INT: {
        Value* v = kept(ir.CreateSExt(in.value, ir.getInt64Ty()), ir.getInt64(0));
        if (agg.type == TB_TYPE_INT8) {
          Value* sum = ir.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_with_overflow, carried[at], v);
          out[at] = ir.CreateExtractValue(sum, 0);
          rows_.add_errors(overflow_if(ir.CreateExtractValue(sum, 1), TB_ERR_STATE_OVERFLOW), nullptr);
        } else {
          // No chunk has so many values that these could overflow.
          out[at] = ir.CreateAdd(carried[at], v);
        }
        break;
      }
      case TB_AGG_SUM_WIDE:
        if (agg.type == TB_TYPE_NUM128) {
          Value* v = kept(in.value, llvm::ConstantInt::get(ir.getInt128Ty(), 0));
          Value* sum = ir.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_with_overflow, carried[at], v);
          out[at] = ir.CreateExtractValue(sum, 0);
          if (gpu_) rows_.add_errors(too_wide_for_atomics(v), nullptr);
          rows_.add_errors(overflow_if(ir.CreateExtractValue(sum, 1), TB_ERR_STATE_OVERFLOW), nullptr);
        } else {
          Value* v = kept(in.value, ir.getInt64(0));
          out[at] = ir.CreateAdd(carried[at], ir.CreateAnd(v, ir.getInt64(0xffffffffu)));
          out[at + 1] = ir.CreateAdd(carried[at + 1], ir.CreateAShr(v, 32));
        }
        break;
      case TB_AGG_SUM_FLOAT: {
        Value* v = agg.type == TB_TYPE_FLOAT4 ? ir.CreateFPExt(in.value, ir.getDoubleTy()) : in.value;
        v = kept(v, llvm::ConstantFP::getNegativeZero(ir.getDoubleTy()));
        Value*& largest = out[*largest_at(agg)];
        largest = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, largest, finite_magnitude(v));
        Value* sum = ir.CreateFAdd(carried[at], v);
        // Reassociation is documented for float sums, and is what vectorises them.
        llvm::cast<llvm::Instruction>(sum)->setHasAllowReassoc(true);
        out[at] = sum;
        break;
      }
      default: {
        if (is_text_state(agg)) {
          if (gpu_) break;  // reserve_texts_of_warp()
          apply_text(agg, layout_.states[i], in, rows_.load(ir.getPtrTy(), table_, offsetof(TbGroupTable, rows)));
          break;
        }
        Value* key = kept(to_key(agg.type, in.value), key_identity(agg));
        out[at] = ir.CreateSelect(better(agg, key, carried[at]), key, carried[at]);
        break;
      }
    }
  }
  // The arguments were evaluated under `pass`: what is recorded counts.
  if (Value* errors = rows_.errors()) out.back() = ir.CreateOr(carried.back(), errors);
  return out;
}

/* counter += pass, or mark |= pass ? bit : 0 */
void Accumulators::note_seen(size_t which, Value* pass, Carried& carried) {
  auto& ir = rows_.ir();
  const SeenRows& seen = seen_[which];
  if (seen.counted) {
    Value* one = pass ? ir.CreateZExt(pass, count_type()) : llvm::ConstantInt::get(count_type(), 1);
    carried[seen.at] = ir.CreateAdd(carried[seen.at], one);
    return;
  }
  Value*& marks = carried[marks_at_ + which / kBitsOfWord];
  Value* bit = ir.getInt32(1u << which % kBitsOfWord);
  marks = ir.CreateOr(marks, pass ? ir.CreateSelect(pass, bit, ir.getInt32(0)) : bit);
}

/* The number of rows that aggregate `i` has seen (i64). */
Value* Accumulators::rows_seen(size_t i, const Carried& carried) {
  return rows_.ir().CreateZExt(carried[seen_[seen_of_[i]].at], rows_.ir().getInt64Ty());
}

/* TB_ERR_* bits of the rows and of the float sums' largest values. */
Value* Accumulators::errors_of(const Carried& carried) {
  auto& ir = rows_.ir();
  Value* errors = carried.back();
  auto add = [&](uint32_t type, std::optional<size_t> at) {
    if (at) errors = ir.CreateOr(errors, overflow_if(reaches_sum_limit(type, carried[*at]), TB_ERR_STATE_OVERFLOW));
  };
  add(TB_TYPE_FLOAT4, largest_float4_);
  add(TB_TYPE_FLOAT8, largest_float8_);
  return errors;
}

/* The 128-bit sum that `carried` holds from `at` on. */
Value* Accumulators::wide_sum(const TbAgg& agg, const Carried& carried, size_t at) {
  auto& ir = rows_.ir();
  if (agg.type == TB_TYPE_NUM128) return carried[at];
  Value* low = ir.CreateZExt(carried[at], ir.getInt128Ty());
  Value* high = ir.CreateSExt(carried[at + 1], ir.getInt128Ty());
  return ir.CreateAdd(low, ir.CreateShl(high, 32));
}

Value* Accumulators::combine_sum_wide(Value* sum, Value* state_row, const GroupField& field) {
  auto& ir = rows_.ir();
  Value* old = rows_.load(ir.getInt128Ty(), state_row, field.value_offset);
  Value* added = ir.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_with_overflow, old, sum);
  rows_.store(ir.CreateExtractValue(added, 0), state_row, field.value_offset);
  return overflow_if(ir.CreateExtractValue(added, 1), TB_ERR_STATE_OVERFLOW);
}

Value* Accumulators::fold(const Carried& carried, Value* state_row) {
  auto& ir = rows_.ir();
  Value* errors = errors_of(carried);
  for (size_t i = 0; i < program_.aggs().size(); i++) {
    const TbAgg& agg = program_.aggs()[i];
    const GroupField& field = layout_.states[i];
    const size_t at = value_at_[i];
    Value* seen = rows_seen(i, carried);
    if (agg.kind == TB_AGG_COUNT) {
      Value* old = rows_.load(ir.getInt64Ty(), state_row, field.value_offset);
      rows_.store(ir.CreateAdd(old, seen), state_row, field.value_offset);
      continue;
    }
    if (is_text_state(agg)) continue;  // step() has combined every row already
    Value* any = ir.CreateICmpNE(seen, ir.getInt64(0));
    Value* old_valid = rows_.load(ir.getInt8Ty(), state_row, field.valid_offset);
    Value* had = ir.CreateICmpNE(old_valid, ir.getInt8(0));
    llvm::Type* type = rows_.memory_type(field.type);
    if (agg.kind == TB_AGG_SUM_WIDE) {
      errors = ir.CreateOr(errors, combine_sum_wide(wide_sum(agg, carried, at), state_row, field));
    } else if (agg.kind == TB_AGG_SUM_INT) {
      Value* old = rows_.load(type, state_row, field.value_offset);
      Value* added = ir.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_with_overflow, old, carried[at]);
      rows_.store(ir.CreateExtractValue(added, 0), state_row, field.value_offset);
      errors = ir.CreateOr(errors, overflow_if(ir.CreateExtractValue(added, 1), TB_ERR_STATE_OVERFLOW));
    } else if (agg.kind == TB_AGG_SUM_FLOAT) {
      Value* old = rows_.load(type, state_row, field.value_offset);
      Value* sum = ir.CreateSelect(had, ir.CreateFAdd(old, carried[at]), carried[at]);
      rows_.store(ir.CreateSelect(any, sum, old), state_row, field.value_offset);
    } else {
      Value* old = rows_.load(type, state_row, field.value_offset);
      Value* wins = ir.CreateOr(ir.CreateNot(had), better(agg, carried[at], to_key(agg.type, old)));
      Value* value = from_key(agg.type, carried[at]);
      rows_.store(ir.CreateSelect(ir.CreateAnd(any, wins), value, old), state_row, field.value_offset);
    }
    rows_.store(ir.CreateOr(old_valid, ir.CreateZExt(any, ir.getInt8Ty())), state_row, field.valid_offset);
  }
  return errors;
}

Value* Accumulators::fold_of_block(const Carried& carried, Value* state_row, BlockFold& fold) {
  mark_states(carried, state_row);
  for (size_t i = 0; i < program_.aggs().size(); i++) {
    const TbAgg& agg = program_.aggs()[i];
    if (is_text_state(agg)) continue;
    Value* state = rows_.at(state_row, layout_.states[i].value_offset);
    if (agg.kind == TB_AGG_COUNT) {
      fold.add_sum(state, rows_seen(i, carried));
    } else if (agg.kind == TB_AGG_SUM_WIDE) {
      fold.add_sum(state, wide_sum(agg, carried, value_at_[i]));
    } else if (min_max(agg)) {
      Value* key = rows_.ir().CreateSExt(carried[value_at_[i]], rows_.ir().getInt64Ty());
      fold.add_extreme(state, key, agg.type, agg.kind == TB_AGG_MIN);
    } else {
      fold.add_sum(state, carried[value_at_[i]]);
    }
  }
  return errors_of(carried);
}

/* Sets the valid bytes of the states that have seen a value. */
void Accumulators::mark_states(const Carried& carried, Value* state_row) {
  auto& ir = rows_.ir();
  for (size_t first = 0; first < seen_.size(); first += kBitsOfWord) {
    Value* marks = carried[marks_at_ + first / kBitsOfWord];
    const size_t end = std::min(first + kBitsOfWord, seen_.size());
    for (size_t which = first; which < end; which++) {
      if (!seen_[which].counted) continue;
      Value* count = carried[seen_[which].at];
      Value* any = ir.CreateICmpNE(count, llvm::ConstantInt::get(count_type(), 0));
      marks = ir.CreateOr(marks, ir.CreateSelect(any, ir.getInt32(1u << (which - first)), ir.getInt32(0)));
    }
    std::vector<uint32_t> places;  // a bit, and the offset of a byte
    for (size_t i = 0; i < program_.aggs().size(); i++) {
      if (program_.aggs()[i].kind == TB_AGG_COUNT || is_text_state(program_.aggs()[i]) || seen_of_[i] < first ||
          seen_of_[i] >= end)
        continue;
      places.push_back(static_cast<uint32_t>(seen_of_[i] - first));
      places.push_back(layout_.states[i].valid_offset);
    }
    if (places.empty()) continue;
    const auto count = static_cast<uint32_t>(places.size() / 2);
    llvm::Constant* array = llvm::ConstantDataArray::get(rows_.builder().context(), places);
    auto* constant = new llvm::GlobalVariable(rows_.builder().module(), array->getType(), true,
                                              llvm::GlobalValue::PrivateLinkage, array, "marks");
    rows_.call_rt("rt_warp_mark", {state_row, marks, constant, ir.getInt32(count)});
  }
}

Value* Accumulators::apply(size_t i, const AggInput& in, Value* group_row) {
  auto& ir = rows_.ir();
  const TbAgg& agg = program_.aggs()[i];
  const GroupField& field = layout_.states[i];
  require_supported(agg);
  auto kept = [&](Value* v, Value* neutral) { return in.pass ? ir.CreateSelect(in.pass, v, neutral) : v; };
  Value* pass = in.pass ? in.pass : ir.getTrue();
  llvm::Type* type = rows_.memory_type(field.type);
  // Counts have no valid byte.
  if (agg.kind == TB_AGG_COUNT) {
    Value* old = rows_.load(type, group_row, field.value_offset);
    rows_.store(ir.CreateAdd(old, ir.CreateZExt(pass, ir.getInt64Ty())), group_row, field.value_offset);
    return nullptr;
  }
  if (is_text_state(agg)) {
    apply_text(agg, field, in, group_row);
    return nullptr;
  }
  // Was there a value before?
  Value* errors = nullptr;
  Value* old_valid = rows_.load(ir.getInt8Ty(), group_row, field.valid_offset);
  Value* had = ir.CreateICmpNE(old_valid, ir.getInt8(0));
  // Combine: a filtered row changes nothing.
  if (agg.kind == TB_AGG_SUM_WIDE) {
    Value* zero = llvm::ConstantInt::get(ir.getInt128Ty(), 0);
    errors = combine_sum_wide(kept(ir.CreateSExt(in.value, ir.getInt128Ty()), zero), group_row, field);
  } else if (agg.kind == TB_AGG_SUM_INT) {
    Value* old = rows_.load(type, group_row, field.value_offset);
    Value* v = kept(ir.CreateSExt(in.value, ir.getInt64Ty()), ir.getInt64(0));
    Value* added = ir.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_with_overflow, old, v);
    rows_.store(ir.CreateExtractValue(added, 0), group_row, field.value_offset);
    errors = overflow_if(ir.CreateExtractValue(added, 1), TB_ERR_STATE_OVERFLOW);
  } else if (agg.kind == TB_AGG_SUM_FLOAT) {
    Value* v = agg.type == TB_TYPE_FLOAT4 ? ir.CreateFPExt(in.value, ir.getDoubleTy()) : in.value;
    Value* old = rows_.load(type, group_row, field.value_offset);
    Value* sum = ir.CreateSelect(had, ir.CreateFAdd(old, v), v);
    errors = overflow_if(ir.CreateAnd(pass, too_large_for_sum(agg.type, v)), TB_ERR_STATE_OVERFLOW);
    rows_.store(ir.CreateSelect(pass, sum, old), group_row, field.value_offset);
  } else {
    Value* old = rows_.load(type, group_row, field.value_offset);
    Value* wins = ir.CreateOr(ir.CreateNot(had), better(agg, to_key(agg.type, in.value), to_key(agg.type, old)));
    Value* v = agg.type == TB_TYPE_BOOL ? to_key(agg.type, in.value) : in.value;
    rows_.store(ir.CreateSelect(ir.CreateAnd(pass, wins), v, old), group_row, field.value_offset);
  }
  // The state is valid now.
  rows_.store(ir.CreateOr(old_valid, ir.CreateZExt(pass, ir.getInt8Ty())), group_row, field.valid_offset);
  return errors;
}

/*
 * A 128-bit sum made of two 64-bit atomics cannot notice that it overflowed. Terms
 * below 2^86 cannot make it, in fewer than 2^40 rows; larger ones are left to
 * PostgreSQL. Sums of 64-bit values need no check.
 */
Value* Accumulators::too_wide_for_atomics(Value* v) {
  auto& ir = rows_.ir();
  llvm::Constant* limit = llvm::ConstantInt::get(ir.getInt128Ty(), llvm::APInt::getOneBitSet(128, 86));
  llvm::Constant* range = llvm::ConstantInt::get(ir.getInt128Ty(), llvm::APInt::getOneBitSet(128, 87));
  return overflow_if(ir.CreateICmpUGE(ir.CreateAdd(v, limit), range), TB_ERR_STATE_OVERFLOW);
}

Value* Accumulators::text_state_bytes(Value* row_passes) {
  auto& ir = rows_.ir();
  Value* total = ir.getInt64(0);
  for (size_t i = 0; i < program_.aggs().size(); i++) {
    if (!is_text_state(program_.aggs()[i])) continue;
    const AggInput in = input(i, row_passes);
    Value* length = ir.CreateZExt(in.length, ir.getInt64Ty());
    total = ir.CreateAdd(total, in.pass ? ir.CreateSelect(in.pass, length, ir.getInt64(0)) : length);
  }
  return total;
}

void Accumulators::apply_text(const TbAgg& agg, const GroupField& field, const AggInput& in, Value* group_row) {
  auto& ir = rows_.ir();
  emit_if(rows_, "text_state", in.pass ? in.pass : ir.getTrue(), {}, [&]() -> Carried {
    rows_.call_rt("rt_text_extreme",
                  {table_, rows_.at(group_row, field.value_offset), rows_.at(group_row, field.valid_offset), in.value,
                   in.length, ir.getInt1(agg.kind == TB_AGG_MIN)});
    return {};
  });
}

Value* Accumulators::apply_atomic(size_t i, const AggInput& in, Value* group_row, Value* peers) {
  auto& ir = rows_.ir();
  const TbAgg& agg = program_.aggs()[i];
  const GroupField& field = layout_.states[i];
  require_supported(agg);
  if (is_text_state(agg)) return nullptr;  // reserve_texts()
  Value* state = rows_.at(group_row, field.value_offset);
  Value* pass = in.pass ? in.pass : ir.getTrue();
  auto kept = [&](Value* v, Value* neutral) { return in.pass ? ir.CreateSelect(in.pass, v, neutral) : v; };
  if (agg.kind == TB_AGG_COUNT) {
    rows_.call_rt("rt_peers_count", {state, pass, peers});
    return nullptr;
  }
  Value* valid = rows_.at(group_row, field.valid_offset);
  if (agg.kind == TB_AGG_SUM_INT) {
    Value* v = kept(ir.CreateSExt(in.value, ir.getInt64Ty()), ir.getInt64(0));
    rows_.call_rt("rt_peers_sum_u64", {state, valid, v, pass, peers});
    return nullptr;
  }
  if (agg.kind == TB_AGG_SUM_WIDE) {
    Value* v = kept(ir.CreateSExt(in.value, ir.getInt128Ty()), llvm::ConstantInt::get(ir.getInt128Ty(), 0));
    rows_.call_rt("rt_peers_sum_i128", {state, valid, v, pass, peers});
    return agg.type == TB_TYPE_NUM128 ? too_wide_for_atomics(v) : nullptr;
  }
  if (agg.kind == TB_AGG_SUM_FLOAT) {
    Value* v = agg.type == TB_TYPE_FLOAT4 ? ir.CreateFPExt(in.value, ir.getDoubleTy()) : in.value;
    v = kept(v, llvm::ConstantFP::getNegativeZero(ir.getDoubleTy()));
    rows_.call_rt("rt_peers_sum_f64", {state, valid, v, pass, peers});
    return overflow_if(too_large_for_sum(agg.type, v), TB_ERR_STATE_OVERFLOW);
  }
  Value* key = ir.CreateSExt(kept(to_key(agg.type, in.value), key_identity(agg)), ir.getInt64Ty());
  const char* symbol = agg.kind == TB_AGG_MIN ? "rt_peers_min_key" : "rt_peers_max_key";
  rows_.call_rt(symbol, {state, valid, key, ir.getInt32(agg.type), pass, peers});
  return nullptr;
}

/* Longer texts have no place in a state's word. */
AggInput Accumulators::text_input(size_t i) {
  auto& ir = rows_.ir();
  const AggInput in = input(i, nullptr);
  Value* too_long = ir.CreateICmpUGT(in.length, ir.getInt32(TB_STATE_TEXT_MOST_BYTES));
  rows_.add_errors(overflow_if(too_long, TB_ERR_UNREPRESENTABLE), in.pass);
  Value* fits = ir.CreateNot(too_long);
  return {in.value, in.length, in.pass ? ir.CreateAnd(in.pass, fits) : fits};
}

void Accumulators::combine_text(size_t i, const AggInput& in, Value* table, Value* group_row, Value* peers) {
  const GroupField& field = layout_.states[i];
  rows_.call_rt("rt_peers_text_extreme",
                {table, rows_.at(group_row, field.value_offset), rows_.at(group_row, field.valid_offset), in.value,
                 in.length, in.pass, rows_.ir().getInt1(program_.aggs()[i].kind == TB_AGG_MIN), peers});
}

void Accumulators::reserve_texts(Value* table, Value* group_row, Value* peers) {
  for (size_t i = 0; i < program_.aggs().size(); i++)
    if (is_text_state(program_.aggs()[i])) combine_text(i, text_input(i), table, group_row, peers);
}

Carried Accumulators::init_texts() {
  auto& ir = rows_.ir();
  Carried none;
  for (const TbAgg& agg : program_.aggs()) {
    if (!is_text_state(agg)) continue;
    none.push_back(llvm::ConstantPointerNull::get(ir.getPtrTy()));
    none.push_back(ir.getInt32(0));
  }
  return none;
}

/*
 * if (pass && (!best || compare(text, best) < 0)) best = text;
 */
Carried Accumulators::step_texts(const Carried& carried) {
  auto& ir = rows_.ir();
  Carried next;
  for (size_t i = 0; i < program_.aggs().size(); i++) {
    const TbAgg& agg = program_.aggs()[i];
    if (!is_text_state(agg)) continue;
    const size_t at = next.size();
    const AggInput in = text_input(i);
    const Carried before = {carried[at], carried[at + 1]};
    next.append(emit_if(rows_, "text_step", in.pass, before, [&]() -> Carried {
      Value* first = ir.CreateIsNull(before[0]);
      const Carried order = emit_if(rows_, "text_order", ir.CreateNot(first), {ir.getInt32(0)}, [&]() -> Carried {
        return {rows_.call_rt("rt_text_compare", {in.value, in.length, before[0], before[1]})};
      });
      Value* zero = ir.getInt32(0);
      Value* better = agg.kind == TB_AGG_MIN ? ir.CreateICmpSLT(order[0], zero) : ir.CreateICmpSGT(order[0], zero);
      Value* wins = ir.CreateOr(first, better);
      return {ir.CreateSelect(wins, in.value, before[0]), ir.CreateSelect(wins, in.length, before[1])};
    }));
  }
  return next;
}

void Accumulators::reserve_texts_of_warp(const Carried& carried, Value* table, Value* state_row) {
  auto& ir = rows_.ir();
  Value* peers = rows_.call_rt("rt_warp_peers", {ir.getInt32(0)});
  size_t at = 0;
  for (size_t i = 0; i < program_.aggs().size(); i++) {
    if (!is_text_state(program_.aggs()[i])) continue;
    const AggInput best = {carried[at], carried[at + 1], ir.CreateIsNotNull(carried[at])};
    combine_text(i, best, table, state_row, peers);
    at += 2;
  }
}

void Accumulators::write_identities(Value* group_row) {
  for (size_t i = 0; i < program_.aggs().size(); i++) {
    const TbAgg& agg = program_.aggs()[i];
    if (is_text_state(agg))
      rows_.store(rows_.ir().getInt64(TB_STATE_TEXT_NONE), group_row, layout_.states[i].value_offset);
    else if (min_max(agg))
      rows_.store(from_key(agg.type, key_identity(agg)), group_row, layout_.states[i].value_offset);
    // As a sum of negative zeros alone is.
    if (agg.kind == TB_AGG_SUM_FLOAT)
      rows_.store(llvm::ConstantFP::getNegativeZero(rows_.ir().getDoubleTy()), group_row,
                  layout_.states[i].value_offset);
  }
}

}  // namespace turbine
