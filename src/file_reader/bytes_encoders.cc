/*
 * bytes_encoders.cc - texts and byte strings.
 *
 * PostgreSQL's texts hold no NUL bytes. ValidateFull has checked the UTF-8 of Arrow's text
 * types; byte strings of fixed width that are declared as text are checked here.
 */
#include <arrow/array.h>
#include <arrow/util/utf8.h>

#include "file_reader/value_encoder.h"

namespace turbine::file_reader {

namespace {

constexpr int kUuidBytes = 16;

template <typename ArrayType>
class BytesEncoder final : public ArrayEncoder<ArrayType> {
  void value(int64_t row, ByteBuffer& out) override { out.field(std::string_view(this->array_->GetView(row))); }
};

template <typename ArrayType>
class TextEncoder final : public ArrayEncoder<ArrayType> {
 public:
  TextEncoder() { arrow::util::InitializeUTF8(); }

 private:
  void value(int64_t row, ByteBuffer& out) override {
    const std::string_view text = this->array_->GetView(row);
    if constexpr (std::is_same_v<ArrayType, arrow::FixedSizeBinaryArray>) {
      if (!arrow::util::ValidateUTF8(text)) throw ReaderError(sqlstate::bad_text, "text is not valid UTF-8");
    }
    if (text.find('\0') != std::string_view::npos) throw ReaderError(sqlstate::bad_text, "text contains a NUL byte");
    out.field(text);
  }
};

EncoderPtr make_text(arrow::Type::type type) {
  switch (type) {
    case arrow::Type::STRING: return std::make_unique<TextEncoder<arrow::StringArray>>();
    case arrow::Type::LARGE_STRING: return std::make_unique<TextEncoder<arrow::LargeStringArray>>();
    case arrow::Type::STRING_VIEW: return std::make_unique<TextEncoder<arrow::StringViewArray>>();
    case arrow::Type::FIXED_SIZE_BINARY: return std::make_unique<TextEncoder<arrow::FixedSizeBinaryArray>>();
    default: return nullptr;
  }
}

EncoderPtr make_bytes(arrow::Type::type type) {
  switch (type) {
    case arrow::Type::BINARY: return std::make_unique<BytesEncoder<arrow::BinaryArray>>();
    case arrow::Type::LARGE_BINARY: return std::make_unique<BytesEncoder<arrow::LargeBinaryArray>>();
    case arrow::Type::BINARY_VIEW: return std::make_unique<BytesEncoder<arrow::BinaryViewArray>>();
    case arrow::Type::FIXED_SIZE_BINARY: return std::make_unique<BytesEncoder<arrow::FixedSizeBinaryArray>>();
    default: return nullptr;
  }
}

}  // namespace

EncoderPtr make_bytes_encoder(const arrow::DataType& type, const Target& target) {
  switch (target.kind) {
    case TB_TARGET_TEXT: return make_text(type.id());
    case TB_TARGET_BYTEA: return make_bytes(type.id());
    case TB_TARGET_UUID:
      if (type.id() != arrow::Type::FIXED_SIZE_BINARY ||
          static_cast<const arrow::FixedSizeBinaryType&>(type).byte_width() != kUuidBytes)
        return nullptr;
      return make_bytes(type.id());
    default: return nullptr;
  }
}

}  // namespace turbine::file_reader
