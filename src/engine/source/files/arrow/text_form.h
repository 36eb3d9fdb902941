/*
 * text_form.h - which texts of a file a column takes, and as what.
 */
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/source/files/table_file.h"
#include "turbine/types.h"

namespace turbine {

inline constexpr const char* kTextTooLong = "a text is too long";

class TextForm {
 public:
  explicit TextForm(const WantedColumn& wanted)
      : characters_(wanted.characters), is_padded_(wanted.type == TB_TYPE_BPCHAR) {}
  /* Cuts off the blanks that do not count. Returns what is wrong with the text; null: nothing. */
  const char* take(std::string_view* text) const;

 private:
  const uint32_t characters_;  // at most; 0: any
  const bool is_padded_;
};

/* Copies the text to the end of the bytes, that views count from. False: they are more than views can count. */
bool append_text(std::string_view text, std::vector<uint8_t>& bytes, TbTextView* view);

}  // namespace turbine
