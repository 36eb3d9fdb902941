/*
 * join_probe.cc - emits the probing of a TbJoinTable for one row.
 *
 * Called by the joins' loops of both targets. Join tables are immutable: emitted code
 * only reads them.
 */
#include "compiler/codegen/join_probe.h"

#include <llvm/IR/Intrinsics.h>

#include <cstddef>

#include "compiler/codegen/filter.h"
#include "engine/program/kept_row_layout.h"
#include "turbine/kernel.h"

namespace turbine {

using llvm::BasicBlock;
using llvm::Value;

JoinProbe::JoinProbe(RowEmitter& rows, const Program& program, uint32_t join)
    : rows_(rows), join_(program.joins()[join]), index_(join) {
  for (uint32_t key : program.join_keys(join_)) {
    exprs_.push_back(key);
    types_.push_back(program.expr(key).type);
  }
}

Value* JoinProbe::field(llvm::Type* type, uint64_t offset) { return rows_.load(type, table_, offset); }

Value* JoinProbe::mark(Value* loaded) {
  if (group_) llvm::cast<llvm::Instruction>(loaded)->setMetadata(llvm::LLVMContext::MD_access_group, group_);
  return loaded;
}

void JoinProbe::bind(Value* tables) {
  auto& ir = rows_.ir();
  llvm::Type *i32 = ir.getInt32Ty(), *i64 = ir.getInt64Ty();
  auto within = [&](Value* offset) { return ir.CreateInBoundsGEP(ir.getInt8Ty(), table_, offset); };
  if (series()) {
    kind_ = ir.getInt32(TB_TABLE_ALL);
    return;
  }
  table_ = rows_.load(ir.getPtrTy(), tables, index_ * sizeof(void*));
  nrows_ = field(i64, offsetof(TbJoinTable, nrows));
  kind_ = ir.CreateSelect(ir.CreateICmpEQ(nrows_, ir.getInt64(0)), ir.getInt32(0),
                          field(i32, offsetof(TbJoinTable, kind)));
  key_min_ = field(i64, offsetof(TbJoinTable, key_min));
  key_span_ = field(i64, offsetof(TbJoinTable, key_span));
  bucket_mask_ = field(i64, offsetof(TbJoinTable, bucket_mask));
  buckets_ = within(field(i64, offsetof(TbJoinTable, buckets)));
  Value* next = field(i64, offsetof(TbJoinTable, next));
  next_ = within(next);
  has_next_ = ir.CreateICmpNE(next, ir.getInt64(0));
  bytes_ = within(field(i64, offsetof(TbJoinTable, bytes)));
  key_values_.clear();
  for (size_t i = 0; i < types_.size(); i++)
    key_values_.push_back(within(field(i64, offsetof(TbJoinTable, columns) + i * 16)));
}

bool JoinProbe::integer_key() const { return !series() && types_.size() == 1 && is_integer_key(types_[0]); }

bool JoinProbe::dense_keys() const {
  for (uint32_t key : exprs_)
    if (!is_dense(rows_.program(), key)) return false;
  return true;
}

void JoinProbe::eval_keys() {
  keys_.clear();
  any_null_ = nullptr;
  for (uint32_t key : exprs_) {
    keys_.push_back(rows_.eval(key, nullptr));
    any_null_ = rows_.or_maybe(any_null_, keys_.back().null);
  }
}

/*
 * place = key - key_min; hit = place < key_span (and not NULL); else place = 0,
 * which the table has. In 32 bits for narrow keys: key_min and key_min + key_span
 * are of the key's type, so that the difference cannot wrap into the span.
 */
JoinMatch JoinProbe::in_span(Value** place) {
  auto& ir = rows_.ir();
  Value* key = keys_[0].value;
  llvm::Type* type = key->getType()->getIntegerBitWidth() <= 32 ? ir.getInt32Ty() : ir.getInt64Ty();
  Value* distance = ir.CreateSub(ir.CreateSExt(key, type), ir.CreateTrunc(key_min_, type));
  JoinMatch match;
  match.hit = ir.CreateICmpULT(distance, ir.CreateTrunc(key_span_, type));
  if (any_null_) match.hit = ir.CreateAnd(match.hit, ir.CreateNot(any_null_));
  distance = ir.CreateSelect(match.hit, distance, llvm::ConstantInt::get(type, 0));
  match.row = ir.CreateTrunc(distance, ir.getInt32Ty());
  *place = ir.CreateZExt(distance, ir.getInt64Ty());
  return match;
}

JoinMatch JoinProbe::dense() {
  auto& ir = rows_.ir();
  Value* place;
  JoinMatch match = in_span(&place);
  // One load of both halves of the TbRankWord.
  Value* word = mark(ir.CreateLoad(ir.getInt64Ty(), rows_.index(ir.getInt64Ty(), buckets_, ir.CreateLShr(place, 5))));
  Value* bits = ir.CreateTrunc(word, ir.getInt32Ty());
  Value* bit = ir.CreateShl(ir.getInt32(1), ir.CreateAnd(match.row, ir.getInt32(31)));
  match.hit = ir.CreateAnd(match.hit, ir.CreateICmpNE(ir.CreateAnd(bits, bit), ir.getInt32(0)));
  Value* below = ir.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, ir.CreateAnd(bits, ir.CreateSub(bit, ir.getInt32(1))));
  match.row = ir.CreateAdd(ir.CreateTrunc(ir.CreateLShr(word, 32), ir.getInt32Ty()), below);
  return match;
}

JoinMatch JoinProbe::direct() {
  auto& ir = rows_.ir();
  Value* place;
  JoinMatch match = in_span(&place);
  Value* bucket = mark(ir.CreateLoad(ir.getInt32Ty(), rows_.index(ir.getInt32Ty(), buckets_, place)));
  match.hit = ir.CreateAnd(match.hit, ir.CreateICmpNE(bucket, ir.getInt32(0)));
  match.row = ir.CreateSub(bucket, ir.getInt32(1));
  return match;
}

JoinMatch JoinProbe::first_of_all() { return {rows_.ir().getTrue(), rows_.ir().getInt32(0)}; }

JoinMatch JoinProbe::first_of_series() {
  auto& ir = rows_.ir();
  Value* some = ir.CreateICmpSGT(keys_[0].value, ir.getInt32(0));
  if (any_null_) some = ir.CreateAnd(some, ir.CreateNot(any_null_));
  return {some, ir.getInt32(0)};
}

Value* JoinProbe::next_of_series(Value* number) {
  auto& ir = rows_.ir();
  // The look-up has noted the key's errors.
  Value* noted = rows_.take_errors();
  eval_keys();
  rows_.take_errors();
  if (noted) rows_.add_errors(noted, nullptr);
  Value* after = ir.CreateAdd(number, ir.getInt32(1));
  Value* there = ir.CreateAnd(ir.CreateICmpNE(number, ir.getInt32(TB_NONE)), ir.CreateICmpSLT(after, keys_[0].value));
  if (any_null_) there = ir.CreateAnd(there, ir.CreateNot(any_null_));
  return ir.CreateSelect(there, after, ir.getInt32(TB_NONE));
}

Value* JoinProbe::hash() { return join_hash(rows_, types_, keys_); }

void JoinProbe::prefetch(Value* hash) {
  auto& ir = rows_.ir();
  Value* bucket = rows_.index(ir.getInt64Ty(), buckets_, ir.CreateAnd(hash, bucket_mask_));
  ir.CreateIntrinsic(llvm::Intrinsic::prefetch, {ir.getPtrTy()},
                     {bucket, ir.getInt32(0), ir.getInt32(3), ir.getInt32(1)});
}

Value* JoinProbe::keys_equal(Value* row) {
  auto& ir = rows_.ir();
  Value* all = nullptr;
  for (size_t i = 0; i < keys_.size(); i++) {
    Value* equal;
    if (tb_type_is_text(types_[i])) {
      Value* view = rows_.index(ir.getInt128Ty(), key_values_[i], row);
      Value* length = rows_.load(ir.getInt32Ty(), view, offsetof(TbTextView, length));
      Value* offset = ir.CreateZExt(rows_.load(ir.getInt32Ty(), view, offsetof(TbTextView, offset)), ir.getInt64Ty());
      Value* bytes = ir.CreateInBoundsGEP(ir.getInt8Ty(), bytes_, offset);
      equal = rows_.call_rt("rt_key_eq_text", {keys_[i].value, keys_[i].length, bytes, length});
    } else {
      llvm::Type* type = rows_.memory_type(types_[i]);
      equal = key_equal(rows_, types_[i], keys_[i].value, ir.CreateLoad(type, rows_.index(type, key_values_[i], row)));
    }
    all = rows_.and_maybe(all, equal);
  }
  return all;
}

/*
 * if (some key is NULL) miss;
 * for (bucket = hash & mask;; bucket = (bucket + 1) & mask) {
 *   if (buckets[bucket] == 0) miss;
 *   if (buckets[bucket] >> 32 == hash >> 32 && keys equal) hit buckets[bucket] - 1;
 * }
 */
JoinMatch JoinProbe::hashed(Value* hash) {
  auto& ir = rows_.ir();
  llvm::Function* parent = ir.GetInsertBlock()->getParent();
  auto block = [&](const char* name) { return BasicBlock::Create(rows_.builder().context(), name, parent); };
  BasicBlock *before = ir.GetInsertBlock(), *probe = block("join.probe"), *occupied = block("join.occupied"),
             *compare = block("join.compare"), *next = block("join.next"), *found = block("join.found");
  Value* home = ir.CreateAnd(hash, bucket_mask_);
  Value* tag = ir.CreateLShr(hash, 32);
  if (any_null_)
    ir.CreateCondBr(any_null_, found, probe);
  else
    ir.CreateBr(probe);

  ir.SetInsertPoint(probe);
  llvm::PHINode* bucket = ir.CreatePHI(ir.getInt64Ty(), 2, "bucket");
  bucket->addIncoming(home, before);
  Value* entry = ir.CreateLoad(ir.getInt64Ty(), rows_.index(ir.getInt64Ty(), buckets_, bucket));
  ir.CreateCondBr(ir.CreateICmpEQ(entry, ir.getInt64(0)), found, occupied);

  ir.SetInsertPoint(occupied);
  ir.CreateCondBr(ir.CreateICmpEQ(ir.CreateLShr(entry, 32), tag), compare, next);

  ir.SetInsertPoint(compare);
  Value* row = ir.CreateSub(ir.CreateTrunc(entry, ir.getInt32Ty()), ir.getInt32(1));
  Value* equal = keys_equal(ir.CreateZExt(row, ir.getInt64Ty()));
  BasicBlock* compared = ir.GetInsertBlock();
  ir.CreateCondBr(equal, found, next);

  ir.SetInsertPoint(next);
  bucket->addIncoming(ir.CreateAnd(ir.CreateAdd(bucket, ir.getInt64(1)), bucket_mask_), next);
  ir.CreateBr(probe);

  ir.SetInsertPoint(found);
  llvm::PHINode* match = ir.CreatePHI(ir.getInt32Ty(), 3, "match");
  if (any_null_) match->addIncoming(ir.getInt32(TB_NONE), before);
  match->addIncoming(ir.getInt32(TB_NONE), probe);
  match->addIncoming(row, compared);
  return {ir.CreateICmpNE(match, ir.getInt32(TB_NONE)), match};
}

/* for (bucket = hash & mask; buckets[bucket] != 0 && buckets[bucket] >> 32 != hash >> 32; bucket++); */
Value* JoinProbe::candidate(Value* hash) {
  auto& ir = rows_.ir();
  auto entry_at = [&](Value* bucket) {
    return ir.CreateLoad(ir.getInt64Ty(), rows_.index(ir.getInt64Ty(), buckets_, bucket));
  };
  Value* tag = ir.CreateLShr(hash, 32);
  Value* home = ir.CreateAnd(hash, bucket_mask_);
  const Carried end = emit_while(
      rows_, "candidate", {home, entry_at(home)},
      [&](const Carried& now) -> Value* {
        Value* empty = ir.CreateICmpEQ(now[1], ir.getInt64(0));
        return ir.CreateNot(ir.CreateOr(empty, ir.CreateICmpEQ(ir.CreateLShr(now[1], 32), tag)));
      },
      [&](const Carried& now) -> Carried {
        Value* bucket = ir.CreateAnd(ir.CreateAdd(now[0], ir.getInt64(1)), bucket_mask_);
        return {bucket, entry_at(bucket)};
      },
      Branch::kWhole);
  return ir.CreateSub(ir.CreateTrunc(end[1], ir.getInt32Ty()), ir.getInt32(1));
}

/* Row 0 in place of none: it is there. */
static Value* row_or_first(llvm::IRBuilder<>& ir, Value* candidate) {
  Value* none = ir.CreateICmpEQ(candidate, ir.getInt32(TB_NONE));
  return ir.CreateZExt(ir.CreateSelect(none, ir.getInt32(0), candidate), ir.getInt64Ty());
}

void JoinProbe::prefetch_keys(Value* candidate) {
  auto& ir = rows_.ir();
  Value* row = row_or_first(ir, candidate);
  for (size_t i = 0; i < types_.size(); i++) {
    Value* at = rows_.index(ir.getIntNTy(8 * tb_type_width(types_[i])), key_values_[i], row);
    ir.CreateIntrinsic(llvm::Intrinsic::prefetch, {ir.getPtrTy()},
                       {at, ir.getInt32(0), ir.getInt32(3), ir.getInt32(1)});
  }
  if (join_.flags & TB_JOIN_UNIQUE) return;
  Value* link = ir.CreateSelect(has_next_, rows_.index(ir.getInt32Ty(), next_, row), table_);
  ir.CreateIntrinsic(llvm::Intrinsic::prefetch, {ir.getPtrTy()},
                     {link, ir.getInt32(0), ir.getInt32(3), ir.getInt32(1)});
}

/* Nearly always the candidate is the match: no branch on whether there is one, and one
 * that is never taken for two keys of the same tag. */
JoinMatch JoinProbe::hashed_at(Value* candidate, Value* hash) {
  auto& ir = rows_.ir();
  Value* there = ir.CreateICmpNE(candidate, ir.getInt32(TB_NONE));
  if (any_null_) there = ir.CreateAnd(there, ir.CreateNot(any_null_));
  Value* equal = keys_equal(row_or_first(ir, candidate));
  Value* hit = ir.CreateAnd(there, equal);
  Value* mistaken = ir.CreateAnd(there, ir.CreateNot(equal));
  const Carried end = emit_if(
      rows_, "join.again", mistaken, {hit, candidate},
      [&]() -> Carried {
        const JoinMatch match = hashed(hash);
        return {match.hit, match.row};
      },
      Branch::kWhole);
  return {end[0], end[1]};
}

JoinMatch JoinProbe::noted() {
  auto& ir = rows_.ir();
  Value* row = rows_.match_by_entry(index_, [&]() -> Value* {
    eval_keys();
    const JoinMatch match = hashed(hash());
    return ir.CreateSelect(match.hit, match.row, ir.getInt32(TB_NONE));
  });
  keys_.clear();
  return {ir.CreateICmpNE(row, ir.getInt32(TB_NONE)), row};
}

JoinMatch JoinProbe::any_kind() {
  auto& ir = rows_.ir();
  auto carried = [](JoinMatch m) -> Carried { return {m.hit, m.row}; };
  auto none = [&]() -> Carried { return {ir.getFalse(), ir.getInt32(TB_NONE)}; };
  if (!by_entry()) eval_keys();
  if (series()) return first_of_series();
  std::vector<SwitchCase> cases;
  if (keyless()) {
    cases.push_back({TB_TABLE_ALL, [&] { return carried(first_of_all()); }});
  } else if (by_entry()) {
    Value* errors = nullptr;
    cases.push_back({TB_TABLE_HASH, [&]() -> Carried {
                       const JoinMatch match = noted();
                       errors = rows_.take_errors();
                       return {match.hit, match.row, errors ? errors : ir.getInt32(0)};
                     }});
    const Carried found = emit_switch(rows_, "join", kind_, cases, [&]() -> Carried {
      return {ir.getFalse(), ir.getInt32(TB_NONE), ir.getInt32(0)};
    });
    if (errors) rows_.add_errors(found[2], nullptr);
    return {found[0], found[1]};
  } else {
    cases.push_back({TB_TABLE_HASH, [&] { return carried(hashed(hash())); }});
    if (integer_key()) {
      cases.push_back({TB_TABLE_DIRECT, [&] { return carried(direct()); }});
      cases.push_back({TB_TABLE_DENSE, [&] { return carried(dense()); }});
    }
  }
  const Carried found = emit_switch(rows_, "join", kind_, cases, none);
  return {found[0], found[1]};
}

Value* JoinProbe::next(Value* row) {
  auto& ir = rows_.ir();
  if (series()) return next_of_series(row);
  Value* none = ir.CreateICmpEQ(row, ir.getInt32(TB_NONE));
  if (keyless()) {
    Value* after = ir.CreateAdd(row, ir.getInt32(1));
    Value* there = ir.CreateICmpULT(ir.CreateZExt(after, ir.getInt64Ty()), nrows_);
    return ir.CreateSelect(ir.CreateOr(none, ir.CreateNot(there)), ir.getInt32(TB_NONE), after);
  }
  // Without chains, or without a row, the load goes to the header.
  Value* chained = ir.CreateAnd(has_next_, ir.CreateNot(none));
  Value* at = rows_.index(ir.getInt32Ty(), next_, ir.CreateZExt(row, ir.getInt64Ty()));
  Value* link = ir.CreateLoad(ir.getInt32Ty(), ir.CreateSelect(chained, at, table_));
  return ir.CreateSelect(chained, ir.CreateSub(link, ir.getInt32(1)), ir.getInt32(TB_NONE));
}

}  // namespace turbine
