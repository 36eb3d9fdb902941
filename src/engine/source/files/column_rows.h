/*
 * column_rows.h - some rows of a column, in the arrays that generated code reads.
 *
 * Whoever decodes a file appends values; memory is kept from one run of rows to the next.
 */
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/store/column_codes.h"
#include "engine/store/text_dictionary.h"
#include "turbine/kernel.h"
#include "turbine/types.h"

namespace turbine {

class ColumnRows {
 public:
  /* Of a type; room for as many rows as a segment can have. `dictionary`: that texts may be numbers of; null: of none.
   * Throws bad_alloc. */
  explicit ColumnRows(uint32_t type, std::shared_ptr<TextDictionary> dictionary = nullptr)
      : width_(tb_type_width(type)),
        dictionary_(std::move(dictionary)),
        values_(static_cast<uint8_t*>(operator new[](uint64_t{kMostSegmentRows} * tb_type_width(type),
                                                     std::align_val_t{kAlignment}))) {}

  void clear() {
    rows_ = 0;
    is_coded_ = false;
    has_nulls_ = false;
    bytes_.clear();
  }

  /* Where the next rows' values go, after clear(); null: to its own memory. For rows that are no texts. */
  void write_to(uint8_t* memory) { place_ = memory ? memory : values_.get(); }

  uint32_t rows() const { return rows_; }
  bool has_nulls() const { return has_nulls_; }

  /* Texts' dictionary, and whether all rows are its numbers. */
  const std::shared_ptr<TextDictionary>& dictionary() const { return dictionary_; }
  bool is_coded() const { return is_coded_; }

  /* Adds texts, whose numbers are to be written to the array that is returned; under NULL too there has to be one.
   * Null: the rows before are not coded. */
  int32_t* append_codes(uint32_t count) {
    if (rows_ > 0 && !is_coded_) return nullptr;
    is_coded_ = true;
    int32_t* const place = reinterpret_cast<int32_t*>(place_) + rows_;
    add_rows(count);
    return place;
  }
  /* Numbers become the texts themselves. Throws bad_alloc. */
  void decode() {
    if (!is_coded_) return;
    is_coded_ = false;
    std::unordered_map<int32_t, TbTextView> copied;
    // From the last on, since views are wider.
    for (uint32_t i = rows_; i-- > 0;) {
      int32_t code;
      memcpy(&code, place_ + uint64_t{i} * sizeof code, sizeof code);
      const auto [place, is_new] = copied.try_emplace(code);
      if (is_new) place->second = copy(dictionary_->views()[code]);
      memcpy(place_ + uint64_t{i} * sizeof(TbTextView), &place->second, sizeof(TbTextView));
    }
  }

  /* Adds rows, to be written to the array that is returned: none is NULL yet. They are not coded. */
  template <class T>
  T* append(uint32_t count) {
    T* const place = reinterpret_cast<T*>(place_ + uint64_t{rows_} * width_);
    add_rows(count);
    return place;
  }
  /* Of the last `count` rows, the one at this place is NULL. Its value stays undefined but readable. */
  void set_null(uint32_t count, uint32_t place) {
    start_nulls();
    valid_[rows_ - count + place] = 0;
  }

  /* Of the last `count` rows, those are NULL whose flag is 0. The same otherwise. */
  void set_valid(uint32_t count, const uint8_t* flags) {
    start_nulls();
    memcpy(valid_.get() + rows_ - count, flags, count);
  }

  /* Texts' views count from here; it grows. */
  std::vector<uint8_t>& bytes() { return bytes_; }

  TbColumnData data() const { return {place_, has_nulls_ ? valid_.get() : nullptr, bytes_.data()}; }

 private:
  /* A page. The kernel copies a file's pages slowly to memory whose place within a page is a little behind theirs:
   * processors take such loads for what has just been stored. */
  static constexpr size_t kAlignment = 4096;
  struct Free {
    void operator()(uint8_t* memory) const { operator delete[](memory, std::align_val_t{kAlignment}); }
  };

  void add_rows(uint32_t count) {
    if (has_nulls_) memset(valid_.get() + rows_, 1, count);
    rows_ += count;
  }
  /* Of an entry, without its id. */
  TbTextView copy(const TbTextView& entry) {
    const uint8_t* const text = dictionary_->bytes() + entry.offset;
    TbTextView view{entry.length, 0, 0, static_cast<uint32_t>(bytes_.size())};
    if (entry.length > 0) memcpy(&view.prefix, text, std::min<size_t>(entry.length, sizeof view.prefix));
    bytes_.insert(bytes_.end(), text, text + entry.length);
    return view;
  }
  void start_nulls() {
    if (has_nulls_) return;
    if (!valid_) valid_.reset(new uint8_t[kMostSegmentRows]);
    memset(valid_.get(), 1, rows_);
    has_nulls_ = true;
  }

  const uint32_t width_;
  const std::shared_ptr<TextDictionary> dictionary_;
  uint32_t rows_ = 0;
  bool is_coded_ = false;
  bool has_nulls_ = false;
  std::unique_ptr<uint8_t[], Free> values_;
  uint8_t* place_ = values_.get();
  std::unique_ptr<uint8_t[]> valid_;
  std::vector<uint8_t> bytes_;
};

}  // namespace turbine
