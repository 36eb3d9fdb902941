/*
 * group_fold.h - combining two rows of a group table: generic code over the
 * GroupLayout, for the merging of partial results.
 *
 * Generated code applies rows; this only meets partial states, so it need not
 * be fast per input row. Used by the host device's merge and wherever another
 * device folds partial rows on the host. Stateless after construction, and so
 * thread-safe. Rows need no alignment.
 */
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/group_layout.h"
#include "engine/program/program.h"

namespace turbine {

/* The bytes at an offset of an arena. The host's group tables have null for their arena, and addresses for offsets. */
inline uint8_t* arena_bytes(const uint8_t* arena, uint64_t offset) {
  return reinterpret_cast<uint8_t*>(reinterpret_cast<uintptr_t>(arena) + offset);
}

/* Where the text of folded rows goes. */
class FoldArena {
 public:
  virtual ~FoldArena() = default;
  virtual uint64_t reserve(uint32_t length) = 0;  // offset of `length` writable bytes; may move bytes()
  virtual uint8_t* bytes() = 0;
};

class VectorArena final : public FoldArena {
 public:
  uint64_t reserve(uint32_t length) override {
    const uint64_t offset = bytes_.size();
    bytes_.resize(offset + length);
    return offset;
  }
  uint8_t* bytes() override { return bytes_.data(); }
  uint64_t size() const { return bytes_.size(); }

 private:
  std::vector<uint8_t> bytes_;
};

class GroupFold {
 public:
  explicit GroupFold(const Program& program);

  const GroupLayout& layout() const { return layout_; }

  /* Adds `from`'s states to those of `into`; `from` holds later rows, which
   * decides between equal minima of different bits (-0 and 0). Returns TB_ERR_*
   * bits; if any, `into` is of no more use. */
  uint32_t fold(uint8_t* into, FoldArena& arena, const uint8_t* from, const uint8_t* from_arena) const;

  /* Are the keys those of one group: NULLs equal, -0 = 0, NaN = NaN. */
  bool same_keys(const uint8_t* a, const uint8_t* a_arena, const uint8_t* b, const uint8_t* b_arena) const;

  bool has_text_keys() const { return has_text_keys_; }
  /* Asks the memory for the beginnings of a row's text keys, which same_keys() reads. */
  void prefetch_texts(const uint8_t* row, const uint8_t* arena) const;

  /* Copies a whole row, with its text. */
  void copy(uint8_t* to, FoldArena& arena, const uint8_t* from, const uint8_t* from_arena) const;

  /* Bytes that the texts of a row occupy. */
  uint64_t text_bytes(const uint8_t* row) const;

 private:
  GroupLayout layout_;
  std::vector<TbAgg> aggs_;
  std::vector<GroupField> texts_;  // keys and states of text
  bool has_text_keys_;
};

/* Throws what folding's TB_ERR_* bits mean for the query; nothing if 0. */
void throw_fold_errors(uint32_t errors);

}  // namespace turbine
