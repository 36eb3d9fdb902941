/*
 * group_table.cc - emits look-up and insertion in a TbGroupTable.
 *
 * Called by aggregate_sink.cc (host) and pipeline_gpu.cc (GPUs). Emitted code must never make room
 * itself: it says that there is none.
 */
#include "compiler/codegen/group_table.h"

#include <algorithm>
#include <cstddef>

#include "compiler/codegen/loop_emitter.h"
#include "turbine/kernel.h"

namespace turbine {

using llvm::BasicBlock;
using llvm::Value;

namespace {

/* Looks at a bucket that another thread is filling, which takes it some microseconds: these take a hundred
 * milliseconds. */
constexpr uint32_t kBucketPatience = 1u << 16;

/* A table of so many buckets and its rows fit no core's own cache. */
constexpr uint64_t kLargeBuckets = 1u << 16;

}  // namespace

void GroupTableEmitter::bind(Value* table) {
  auto& ir = rows_.ir();
  table_ = table;
  buckets_ = rows_.load(ir.getPtrTy(), table, offsetof(TbGroupTable, buckets));
  mask_ = rows_.load(ir.getInt64Ty(), table, offsetof(TbGroupTable, bucket_mask));
  group_rows_ = rows_.load(ir.getPtrTy(), table, offsetof(TbGroupTable, rows));
  arena_ = rows_.load(ir.getPtrTy(), table, offsetof(TbGroupTable, arena));
}

void GroupTableEmitter::eval_keys(Value* active) {
  keys_.clear();
  for (uint32_t key : program_.keys()) keys_.push_back(rows_.eval(key, active));
}

/* Texts of one id are equal; else their bytes tell. */
Value* GroupTableEmitter::text_equal(const RowValue& key, const GroupField& field, Value* row, bool shared) {
  auto& ir = rows_.ir();
  auto compare = [&] {
    Value* offset = load_row(ir.getInt64Ty(), row, field.value_offset + offsetof(TbGroupText, offset), shared);
    Value* length = load_row(ir.getInt32Ty(), row, field.value_offset + offsetof(TbGroupText, length), shared);
    Value* bytes = ir.CreateInBoundsGEP(ir.getInt8Ty(), arena_, offset);
    return rows_.call_rt(shared ? "rt_key_eq_text_shared" : "rt_key_eq_text", {key.value, key.length, bytes, length});
  };
  if (!key.id) return compare();
  Value* stored = load_row(ir.getInt32Ty(), row, field.value_offset + offsetof(TbGroupText, capacity), shared);
  Value* same = ir.CreateAnd(ir.CreateICmpEQ(stored, key.id), ir.CreateICmpNE(stored, ir.getInt32(0)));
  return emit_if(rows_, "text.equal", ir.CreateNot(same), {ir.getTrue()}, [&]() -> Carried { return {compare()}; })[0];
}

Value* GroupTableEmitter::hash() {
  auto& ir = rows_.ir();
  Value* combined = nullptr;
  for (size_t i = 0; i < keys_.size(); i++) {
    Value* h = key_hash(rows_, layout_.keys[i].type, keys_[i]);
    if (keys_[i].null) h = ir.CreateSelect(keys_[i].null, ir.getInt64(0x9e3779b97f4a7c15ull + i), h);
    combined = combined ? rows_.call_rt("rt_hash_combine", {combined, h}) : h;
  }
  return combined;
}

/* A text's bytes in the arena: texts start 8-aligned, so that the GPU can compare
 * them by volatile words. */
Value* GroupTableEmitter::padded(Value* length) {
  auto& ir = rows_.ir();
  Value* rounded = ir.CreateAdd(ir.CreateZExt(length, ir.getInt64Ty()), ir.getInt64(7));
  return ir.CreateAnd(rounded, ir.getInt64(~uint64_t{7}));
}

Value* GroupTableEmitter::text_bytes() {
  auto& ir = rows_.ir();
  Value* total = nullptr;
  for (const RowValue& key : keys_) {
    if (!key.length) continue;
    Value* length = padded(key.length);
    total = total ? ir.CreateAdd(total, length) : length;
  }
  return total;
}

Value* GroupTableEmitter::row(Value* group) {
  auto& ir = rows_.ir();
  Value* offset = ir.CreateMul(ir.CreateZExt(group, ir.getInt64Ty()), ir.getInt64(layout_.row_size));
  return ir.CreateInBoundsGEP(ir.getInt8Ty(), group_rows_, offset);
}

Value* GroupTableEmitter::bucket_pointer(Value* hash) {
  return rows_.index(rows_.ir().getInt32Ty(), buckets_, rows_.ir().CreateAnd(hash, mask_));
}

Value* GroupTableEmitter::is_large() { return rows_.ir().CreateICmpUGE(mask_, rows_.ir().getInt64(kLargeBuckets)); }

bool GroupTableEmitter::has_text_keys() const {
  return std::any_of(layout_.keys.begin(), layout_.keys.end(),
                     [](const GroupField& key) { return tb_type_is_text(key.type) != 0; });
}

void GroupTableEmitter::prefetch(Value* address) {
  auto& ir = rows_.ir();
  ir.CreateIntrinsic(llvm::Intrinsic::prefetch, {ir.getPtrTy()},
                     {address, ir.getInt32(0), ir.getInt32(3), ir.getInt32(1)});
}

/* Of an empty bucket row 0, which is there. */
Value* GroupTableEmitter::first_candidate(Value* hash) {
  auto& ir = rows_.ir();
  Value* entry = ir.CreateLoad(ir.getInt32Ty(), bucket_pointer(hash));
  Value* group = ir.CreateSub(entry, ir.getInt32(1));
  return row(ir.CreateSelect(ir.CreateIsNull(entry), ir.getInt32(0), group));
}

void GroupTableEmitter::prefetch_row(Value* hash) { prefetch(first_candidate(hash)); }

void GroupTableEmitter::prefetch_text(Value* hash) {
  auto& ir = rows_.ir();
  Value* candidate = first_candidate(hash);
  for (const GroupField& key : layout_.keys) {
    if (!tb_type_is_text(key.type)) continue;
    Value* offset = rows_.load(ir.getInt64Ty(), candidate, key.value_offset + offsetof(TbGroupText, offset));
    prefetch(ir.CreateGEP(ir.getInt8Ty(), arena_, offset));
  }
}

Value* GroupTableEmitter::load_row(llvm::Type* type, Value* row, uint64_t offset, bool shared) {
  Value* v = rows_.load(type, row, offset);
  if (shared) llvm::cast<llvm::LoadInst>(v)->setVolatile(true);
  return v;
}

Value* GroupTableEmitter::keys_equal(Value* row, bool shared) {
  auto& ir = rows_.ir();
  Value* all = nullptr;
  for (size_t i = 0; i < keys_.size(); i++) {
    const GroupField& field = layout_.keys[i];
    const RowValue& key = keys_[i];
    Value* equal;
    if (tb_type_is_text(field.type)) {
      equal = text_equal(key, field, row, shared);
    } else {
      Value* stored = load_row(rows_.memory_type(field.type), row, field.value_offset, shared);
      equal = key_equal(rows_, field.type, key.value, stored);
    }
    if (key.null) {
      Value* stored_null = ir.CreateICmpEQ(load_row(ir.getInt8Ty(), row, field.valid_offset, shared), ir.getInt8(0));
      Value* some_null = ir.CreateOr(key.null, stored_null);
      equal = ir.CreateSelect(some_null, ir.CreateAnd(key.null, stored_null), equal);
    }
    all = rows_.and_maybe(all, equal);
  }
  return all;
}

void GroupTableEmitter::write_keys(Value* row, Value* arena_offset) {
  auto& ir = rows_.ir();
  for (size_t i = 0; i < keys_.size(); i++) {
    const GroupField& field = layout_.keys[i];
    const RowValue& key = keys_[i];
    if (tb_type_is_text(field.type)) {
      Value* length = ir.CreateZExt(key.length, ir.getInt64Ty());
      ir.CreateMemCpy(ir.CreateInBoundsGEP(ir.getInt8Ty(), arena_, arena_offset), llvm::Align(1), key.value,
                      llvm::Align(1), length);
      rows_.store(arena_offset, row, field.value_offset + offsetof(TbGroupText, offset));
      rows_.store(key.length, row, field.value_offset + offsetof(TbGroupText, length));
      rows_.store(key.id ? key.id : ir.getInt32(0), row, field.value_offset + offsetof(TbGroupText, capacity));
      arena_offset = ir.CreateAdd(arena_offset, padded(key.length));
    } else {
      Value* v = field.type == TB_TYPE_BOOL ? ir.CreateZExt(key.value, ir.getInt8Ty()) : key.value;
      rows_.store(v, row, field.value_offset);
    }
    Value* valid = key.null ? ir.CreateZExt(ir.CreateNot(key.null), ir.getInt8Ty()) : ir.getInt8(1);
    rows_.store(valid, row, field.valid_offset);
  }
}

/*
 * for (bucket = hash & mask;; bucket = (bucket + 1) & mask) {
 *   if (buckets[bucket] == 0) { insert; return new group; }
 *   group = buckets[bucket] - 1;
 *   if (rows[group].hash == hash && keys equal) return group;
 * }
 */
Value* GroupTableEmitter::find_or_insert(Value* hash) {
  auto& ir = rows_.ir();
  llvm::LLVMContext& context = rows_.builder().context();
  llvm::Function* parent = ir.GetInsertBlock()->getParent();
  auto block = [&](const char* name) { return BasicBlock::Create(context, name, parent); };
  BasicBlock *before = ir.GetInsertBlock(), *probe = block("probe"), *occupied = block("probe.occupied"),
             *compare = block("probe.compare"), *next = block("probe.next"), *insert = block("probe.insert"),
             *found = block("probe.found");
  Value* home = ir.CreateAnd(hash, mask_);
  ir.CreateBr(probe);

  // Is the bucket empty?
  ir.SetInsertPoint(probe);
  llvm::PHINode* bucket = ir.CreatePHI(ir.getInt64Ty(), 2, "bucket");
  bucket->addIncoming(home, before);
  Value* bucket_at = rows_.index(ir.getInt32Ty(), buckets_, bucket);
  Value* entry = ir.CreateLoad(ir.getInt32Ty(), bucket_at);
  ir.CreateCondBr(ir.CreateICmpEQ(entry, ir.getInt32(0)), insert, occupied);

  // Same hash?
  ir.SetInsertPoint(occupied);
  Value* group = ir.CreateSub(entry, ir.getInt32(1));
  Value* candidate = row(group);
  Value* same_hash = ir.CreateICmpEQ(rows_.load(ir.getInt64Ty(), candidate, 0), hash);
  ir.CreateCondBr(same_hash, compare, next);

  // Same keys?
  ir.SetInsertPoint(compare);
  Value* equal = keys_equal(candidate, false);
  BasicBlock* compared = ir.GetInsertBlock();
  ir.CreateCondBr(equal, found, next);

  // On to the next bucket.
  ir.SetInsertPoint(next);
  bucket->addIncoming(ir.CreateAnd(ir.CreateAdd(bucket, ir.getInt64(1)), mask_), next);
  ir.CreateBr(probe);

  // Number the group, fill the bucket.
  ir.SetInsertPoint(insert);
  Value* ngroups = rows_.load(ir.getInt64Ty(), table_, offsetof(TbGroupTable, ngroups));
  Value* fresh = ir.CreateTrunc(ngroups, ir.getInt32Ty());
  rows_.store(ir.CreateAdd(ngroups, ir.getInt64(1)), table_, offsetof(TbGroupTable, ngroups));
  ir.CreateStore(ir.CreateAdd(fresh, ir.getInt32(1)), bucket_at);
  // Write hash, keys, empty states.
  Value* new_row = row(fresh);
  ir.CreateMemSet(new_row, ir.getInt8(0), layout_.row_size, llvm::Align(8));
  rows_.store(hash, new_row, 0);
  Value* arena_offset = nullptr;
  if (Value* bytes = text_bytes()) {
    arena_offset = rows_.load(ir.getInt64Ty(), table_, offsetof(TbGroupTable, arena_used));
    rows_.store(ir.CreateAdd(arena_offset, bytes), table_, offsetof(TbGroupTable, arena_used));
  }
  write_keys(new_row, arena_offset);
  BasicBlock* inserted = ir.GetInsertBlock();
  ir.CreateBr(found);

  // Old group, or the new one.
  ir.SetInsertPoint(found);
  llvm::PHINode* result = ir.CreatePHI(ir.getInt32Ty(), 2, "group");
  result->addIncoming(group, compared);
  result->addIncoming(fresh, inserted);
  return result;
}

/*
 * for (bucket = hash & mask, patience = kBucketPatience;;) {
 *   entry = buckets[bucket];
 *   if (entry == 0) {
 *     if (table->full) return NONE;           // nothing enters any more
 *     entry = compare-and-swap(buckets[bucket], 0, BUSY);
 *   }
 *   if (entry == 0) {                         // the bucket is ours
 *     group = rt_group_reserve(table, text bytes, &arena offset);
 *     if (group == NONE) { buckets[bucket] = 0; return NONE; }
 *     write row; fence; buckets[bucket] = group + 1; return group;
 *   }
 *   if (entry == BUSY) {                      // its owner is about to publish
 *     if (--patience == 0) { table->full = 1; return NONE; }
 *     wait a little; continue;
 *   }
 *   if (keys equal) return entry - 1;
 *   bucket = (bucket + 1) & mask;
 * }
 *
 * The look at `full` comes before the claim: a frequent key that is not in a full table would otherwise have each of
 * its millions of rows claim its bucket and free it again, one after the other, while all others wait for them.
 * A thread that has lost patience says that the table is full: then it grows, and all rows look again.
 */
Value* GroupTableEmitter::find_or_insert_atomic(Value* hash, Accumulators& accumulators) {
  auto& ir = rows_.ir();
  llvm::LLVMContext& context = rows_.builder().context();
  llvm::Function* parent = ir.GetInsertBlock()->getParent();
  auto block = [&](const char* name) { return BasicBlock::Create(context, name, parent); };
  BasicBlock *before = ir.GetInsertBlock(), *probe = block("probe"), *claim = block("probe.claim"),
             *taken = block("probe.taken"), *occupied = block("probe.occupied"), *compare = block("probe.compare"),
             *next = block("probe.next"), *insert = block("probe.insert"), *write = block("probe.write"),
             *full = block("probe.full"), *found = block("probe.found"), *open = block("probe.open"),
             *busy = block("probe.busy"), *wait = block("probe.wait"), *impatient = block("probe.impatient");
  llvm::IRBuilder<> at_entry(&parent->getEntryBlock(), parent->getEntryBlock().getFirstInsertionPt());
  llvm::AllocaInst* arena_at = at_entry.CreateAlloca(ir.getInt64Ty(), nullptr, "arena_offset");
  Value* home = ir.CreateAnd(hash, mask_);
  Value* full_at = rows_.at(table_, offsetof(TbGroupTable, full));
  ir.CreateBr(probe);

  // Look at the bucket.
  ir.SetInsertPoint(probe);
  llvm::PHINode* bucket = ir.CreatePHI(ir.getInt64Ty(), 3, "bucket");
  bucket->addIncoming(home, before);
  llvm::PHINode* patience = ir.CreatePHI(ir.getInt32Ty(), 3, "patience");
  patience->addIncoming(ir.getInt32(kBucketPatience), before);
  Value* bucket_at = rows_.index(ir.getInt32Ty(), buckets_, bucket);
  llvm::LoadInst* seen = ir.CreateLoad(ir.getInt32Ty(), bucket_at);
  seen->setVolatile(true);
  ir.CreateCondBr(ir.CreateICmpEQ(seen, ir.getInt32(0)), open, taken);

  // A full table takes nothing in.
  ir.SetInsertPoint(open);
  llvm::LoadInst* is_full = ir.CreateLoad(ir.getInt32Ty(), full_at);
  is_full->setVolatile(true);
  ir.CreateCondBr(ir.CreateICmpEQ(is_full, ir.getInt32(0)), claim, found);

  // Make the bucket ours.
  ir.SetInsertPoint(claim);
  Value* swapped = rows_.call_rt("rt_bucket_claim", {bucket_at});
  ir.CreateCondBr(ir.CreateICmpEQ(swapped, ir.getInt32(0)), insert, taken);

  // Somebody else has it.
  ir.SetInsertPoint(taken);
  llvm::PHINode* entry = ir.CreatePHI(ir.getInt32Ty(), 2);
  entry->addIncoming(seen, probe);
  entry->addIncoming(swapped, claim);
  ir.CreateCondBr(ir.CreateICmpEQ(entry, ir.getInt32(TB_BUCKET_BUSY)), busy, occupied);

  // Its row is being written.
  ir.SetInsertPoint(busy);
  Value* left = ir.CreateSub(patience, ir.getInt32(1));
  ir.CreateCondBr(ir.CreateICmpEQ(left, ir.getInt32(0)), impatient, wait);

  // Look again a little later.
  ir.SetInsertPoint(wait);
  rows_.call_rt("rt_bucket_wait", {});
  bucket->addIncoming(bucket, wait);
  patience->addIncoming(left, wait);
  ir.CreateBr(probe);

  // Call the table full.
  ir.SetInsertPoint(impatient);
  llvm::StoreInst* give_up = ir.CreateStore(ir.getInt32(1), full_at);
  give_up->setVolatile(true);
  ir.CreateBr(found);

  // Same hash?
  ir.SetInsertPoint(occupied);
  Value* group = ir.CreateSub(entry, ir.getInt32(1));
  Value* candidate = row(group);
  ir.CreateCondBr(ir.CreateICmpEQ(load_row(ir.getInt64Ty(), candidate, 0, true), hash), compare, next);

  // Same keys?
  ir.SetInsertPoint(compare);
  Value* equal = keys_equal(candidate, true);
  BasicBlock* compared = ir.GetInsertBlock();
  ir.CreateCondBr(equal, found, next);

  // On to the next bucket.
  ir.SetInsertPoint(next);
  bucket->addIncoming(ir.CreateAnd(ir.CreateAdd(bucket, ir.getInt64(1)), mask_), next);
  patience->addIncoming(patience, next);
  ir.CreateBr(probe);

  // Reserve a row and text bytes.
  ir.SetInsertPoint(insert);
  Value* bytes = text_bytes();
  Value* fresh = rows_.call_rt("rt_group_reserve", {table_, bytes ? bytes : ir.getInt64(0), arena_at});
  ir.CreateCondBr(ir.CreateICmpEQ(fresh, ir.getInt32(TB_NONE)), full, write);

  // Write the row, then publish it.
  ir.SetInsertPoint(write);
  Value* new_row = row(fresh);
  ir.CreateMemSet(new_row, ir.getInt8(0), layout_.row_size, llvm::Align(8));
  rows_.store(hash, new_row, 0);
  write_keys(new_row, ir.CreateLoad(ir.getInt64Ty(), arena_at));
  accumulators.write_identities(new_row);
  rows_.call_rt("rt_bucket_publish", {bucket_at, ir.CreateAdd(fresh, ir.getInt32(1))});
  BasicBlock* written = ir.GetInsertBlock();
  ir.CreateBr(found);

  // Give the bucket back.
  ir.SetInsertPoint(full);
  rows_.call_rt("rt_bucket_publish", {bucket_at, ir.getInt32(0)});
  BasicBlock* not_written = ir.GetInsertBlock();
  ir.CreateBr(found);

  // A group, or none.
  ir.SetInsertPoint(found);
  llvm::PHINode* result = ir.CreatePHI(ir.getInt32Ty(), 5, "group");
  result->addIncoming(group, compared);
  result->addIncoming(fresh, written);
  for (BasicBlock* without : {open, impatient, not_written}) result->addIncoming(ir.getInt32(TB_NONE), without);
  return result;
}

}  // namespace turbine
