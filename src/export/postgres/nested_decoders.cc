/*
 * nested_decoders.cc - arrays as lists, composites as structs.
 *
 * Binary form of an array: int32 dimensions, int32 whether there are NULLs, the element's
 * oid, per dimension its size and lower bound, then per element int32 length (-1: NULL) and
 * bytes. Of a composite: int32 columns, then per column its type's oid, length and bytes.
 */
#include <arrow/array/builder_nested.h>
#include <arrow/type.h>

#include "export/postgres/binary_reader.h"
#include "export/postgres/decoders.h"

namespace turbine::exporting {
namespace {

void append_part(BinaryReader& reader, ColumnDecoder& part) {
  const auto length = reader.read<int32_t>();
  part.append({length < 0 ? nullptr : reader.bytes(length), length});
}

class ArrayDecoder : public ColumnDecoder {
 public:
  ArrayDecoder(std::unique_ptr<ColumnDecoder> element, InvalidValue invalid)
      : ColumnDecoder(std::make_shared<arrow::ListBuilder>(arrow::default_memory_pool(), element->builder()), invalid),
        element_(std::move(element)) {}

  int64_t invalid_values() const override { return ColumnDecoder::invalid_values() + element_->invalid_values(); }

 private:
  void append_value(const char* data, int32_t length) override {
    BinaryReader reader(data, length);
    const auto dimensions = reader.read<int32_t>();
    reader.bytes(8);
    if (dimensions > 1) return reject("an array of " + std::to_string(dimensions) + " dimensions");
    keep(static_cast<arrow::ListBuilder&>(*builder()).Append());
    if (dimensions == 0) return;
    const auto count = reader.read<int32_t>();
    reader.bytes(4);
    for (int32_t i = 0; i < count; i++) append_part(reader, *element_);
  }

  std::unique_ptr<ColumnDecoder> element_;
};

class CompositeDecoder : public ColumnDecoder {
 public:
  CompositeDecoder(const std::shared_ptr<arrow::DataType>& type,
                   std::vector<std::shared_ptr<arrow::ArrayBuilder>> builders, ColumnDecoders parts,
                   InvalidValue invalid)
      : ColumnDecoder(std::make_shared<arrow::StructBuilder>(type, arrow::default_memory_pool(), std::move(builders)),
                      invalid),
        parts_(std::move(parts)) {}

  int64_t invalid_values() const override {
    int64_t count = ColumnDecoder::invalid_values();
    for (const auto& part : parts_) count += part->invalid_values();
    return count;
  }

 private:
  void append_value(const char* data, int32_t length) override {
    BinaryReader reader(data, length);
    if (reader.read<int32_t>() != static_cast<int32_t>(parts_.size())) {
      throw ValueError("its type's columns have changed meanwhile");
    }
    keep(static_cast<arrow::StructBuilder&>(*builder()).Append());
    for (const auto& part : parts_) {
      reader.bytes(4);
      append_part(reader, *part);
    }
  }

  ColumnDecoders parts_;
};

/* Dictionaries are a column's, not a part's: within lists and structs labels are text. */
DecoderOptions options_of_parts(DecoderOptions options) {
  options.enums = EnumAs::kText;
  return options;
}

}  // namespace

std::unique_ptr<ColumnDecoder> make_array_decoder(const PgType& type, const DecoderOptions& options) {
  return std::make_unique<ArrayDecoder>(make_decoder(type.parts[0], options_of_parts(options)), options.invalid);
}

std::unique_ptr<ColumnDecoder> make_composite_decoder(const PgType& type, const DecoderOptions& options) {
  arrow::FieldVector fields;
  std::vector<std::shared_ptr<arrow::ArrayBuilder>> builders;
  ColumnDecoders parts;
  for (size_t i = 0; i < type.parts.size(); i++) {
    parts.push_back(make_decoder(type.parts[i], options_of_parts(options)));
    builders.push_back(parts.back()->builder());
    fields.push_back(arrow::field(type.part_names[i], parts.back()->type()));
  }
  return std::make_unique<CompositeDecoder>(arrow::struct_(fields), std::move(builders), std::move(parts),
                                            options.invalid);
}

}  // namespace turbine::exporting
