/*
 * integer_bounds.cc - see integer_bounds.h.
 *
 * Owns nothing. Called for each column of a batch, and for each page that an index tells of.
 */
#include "engine/source/files/arrow/parquet/integer_bounds.h"

#include <cstring>

#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <parquet/schema.h>

namespace turbine {
namespace {

/* A decimal's bytes, the highest first; false: it takes more than 64 bits. */
bool big_endian(const std::string& bytes, int64_t* value) {
  if (bytes.empty()) return false;
  const uint8_t sign = static_cast<uint8_t>(bytes[0]) & 0x80 ? 0xff : 0;
  uint64_t result = sign ? UINT64_MAX : 0;
  for (size_t i = 0; i < bytes.size(); i++) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    if (i + 8 < bytes.size() && byte != sign) return false;
    result = result << 8 | byte;
  }
  *value = static_cast<int64_t>(result);
  return (*value < 0) == (sign != 0);
}

template <class T>
bool little_endian(const std::string& bytes, T* value) {
  if (bytes.size() != sizeof *value) return false;
  memcpy(value, bytes.data(), sizeof *value);
  return true;
}

bool integer_of(const BoundsForm& form, const std::string& bytes, int64_t* value) {
  const arrow::Type::type type = form.type->id();
  if (type == arrow::Type::UINT64) return false;
  switch (form.column->physical_type()) {
    case parquet::Type::INT32: {
      int32_t number;
      if (!little_endian(bytes, &number)) return false;
      *value = type == arrow::Type::UINT32 ? int64_t{static_cast<uint32_t>(number)} : int64_t{number};
      return true;
    }
    case parquet::Type::INT64: return little_endian(bytes, value);
    // Of all its bytes: some that are cut off are another number.
    case parquet::Type::FIXED_LEN_BYTE_ARRAY:
      return arrow::is_decimal(type) && bytes.size() == static_cast<size_t>(form.column->type_length()) &&
             big_endian(bytes, value);
    default: return false;
  }
}

}  // namespace

StoredColumn::Zone integer_zone(const BoundsForm& form, const std::string& least, const std::string& greatest) {
  StoredColumn::Zone zone;
  int64_t min = 0, max = 0;
  zone.known = integer_of(form, least, &min) && integer_of(form, greatest, &max) &&
               form.form.convert(min, &zone.least) && form.form.convert(max, &zone.greatest);
  return zone;
}

}  // namespace turbine
