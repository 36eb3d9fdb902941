/*
 * value_forms.h - which values of a file a column takes, and as what: integers, decimals, texts.
 *
 * Numerics are scaled, dates and timestamps count from another day and in another unit.
 */
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "engine/source/files/table_file.h"
#include "file_values/integer_form.h"
#include "turbine/types.h"

namespace turbine {

/* Whether integers of the file's type (integers, decimals of at most 64 bits, dates, timestamps) become
 * values of the wanted type, and how. */
bool integer_form(const arrow::DataType& type, const WantedColumn& wanted, IntegerForm* form);

/* The value is multiplied, and must then have no more digits than the column's type and the file's allow. */
struct DecimalForm {
  __int128 factor = 1;
  __int128 beyond = 1;  // every value is nearer to zero

  /* False: it has too many digits. */
  bool convert(__int128 value, __int128* result) const {
    return !__builtin_mul_overflow(value, factor, result) && *result < beyond && *result > -beyond;
  }
};

/* Whether decimals become values of the wanted type, NUM64 or NUM128, and how. */
bool decimal_form(const arrow::DecimalType& type, const WantedColumn& wanted, DecimalForm* form);

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
