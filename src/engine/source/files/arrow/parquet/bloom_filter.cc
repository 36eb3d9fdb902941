/*
 * bloom_filter.cc - see bloom_filter.h.
 *
 * Owns nothing. Called for each batch that statistics do not exclude. libparquet reads the filter, once it is known to
 * be within the file and shorter than what it might save.
 */
#include "engine/source/files/arrow/parquet/bloom_filter.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/type.h>
#include <parquet/bloom_filter.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

namespace turbine {
namespace {

/* The file's integer that becomes this one. False: none does. `form` must not round. */
bool inverse(const IntegerForm& form, int64_t value, int64_t* stored) {
  return value >= form.least && value <= form.greatest && value % form.multiply == 0 &&
         !__builtin_sub_overflow(value / form.multiply, form.add, stored);
}

/* As the decimal of so many bytes that is stored, the highest first. False: it takes more. */
bool big_endian(int64_t value, int width, std::string* bytes) {
  if (width < 8 && (value >> (8 * width - 1)) != (value < 0 ? -1 : 0)) return false;
  for (int i = width; i-- > 0;) bytes->push_back(static_cast<char>(i >= 8 ? (value < 0 ? -1 : 0) : value >> (8 * i)));
  return true;
}

/* Whether the filter may have been given a row of this value. */
bool may_have(const parquet::BloomFilter& filter, const BoundsForm& form, int64_t value) {
  int64_t stored;
  if (!inverse(form.form, value, &stored)) return false;
  switch (form.column->physical_type()) {
    case parquet::Type::INT32: {
      const bool is_unsigned = form.type->id() == arrow::Type::UINT32;
      if (stored < (is_unsigned ? 0 : std::numeric_limits<int32_t>::min()) ||
          stored > (is_unsigned ? int64_t{std::numeric_limits<uint32_t>::max()}
                                : int64_t{std::numeric_limits<int32_t>::max()}))
        return false;
      return filter.FindHash(filter.Hash(static_cast<int32_t>(stored)));
    }
    case parquet::Type::INT64: return filter.FindHash(filter.Hash(stored));
    case parquet::Type::FIXED_LEN_BYTE_ARRAY: {
      std::string bytes;
      if (!big_endian(stored, form.column->type_length(), &bytes)) return false;
      const parquet::FLBA value_bytes(reinterpret_cast<const uint8_t*>(bytes.data()));
      return filter.FindHash(filter.Hash(&value_bytes, static_cast<uint32_t>(bytes.size())));
    }
    default: return true;
  }
}

bool may_have(const parquet::BloomFilter& filter, std::string_view text) {
  const parquet::ByteArray bytes(text);
  return filter.FindHash(filter.Hash(&bytes));
}

bool can_be_asked(const parquet::ColumnDescriptor& column, const BoundsForm* integers, const ColumnEquality& equality) {
  switch (column.physical_type()) {
    case parquet::Type::BYTE_ARRAY: return !integers && !equality.texts.empty();
    case parquet::Type::INT32:
    case parquet::Type::INT64: return integers && integers->form.divide == 1;
    case parquet::Type::FIXED_LEN_BYTE_ARRAY:
      return integers && integers->form.divide == 1 && column.type_length() > 0 && column.type_length() <= 16;
    default: return false;
  }
}

}  // namespace

bool bloom_filter_excludes(const OpenedFile& opened, const parquet::ColumnChunkMetaData& chunk,
                           const parquet::ColumnDescriptor& column, const BoundsForm* integers,
                           const ColumnEquality& equality) {
  const std::optional<int64_t> offset = chunk.bloom_filter_offset(), length = chunk.bloom_filter_length();
  if (!offset || chunk.crypto_metadata() || !can_be_asked(column, integers, equality)) return false;
  const auto file_size = static_cast<int64_t>(opened.version.size);
  if (*offset < 0 || *offset >= file_size || (length && (*length <= 0 || *length > file_size - *offset)))
    throw FileError("its Bloom filter leaves the file");
  if (length && *length > chunk.total_compressed_size()) return false;
  auto stream = arrow::io::RandomAccessFile::GetStream(opened.file, *offset, length.value_or(file_size - *offset));
  check_status(stream.status());
  const parquet::ReaderProperties properties(file_memory());
  const auto filter = parquet::BlockSplitBloomFilter::Deserialize(properties, stream->get(), length);
  if (integers)
    return std::none_of(equality.integers.begin(), equality.integers.end(),
                        [&](int64_t value) { return may_have(filter, *integers, value); });
  return std::none_of(equality.texts.begin(), equality.texts.end(),
                      [&](const std::string& text) { return may_have(filter, text); });
}

}  // namespace turbine
