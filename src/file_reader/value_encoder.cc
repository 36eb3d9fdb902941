/*
 * value_encoder.cc - chooses encoders, and looks through what wraps values: dictionaries,
 * runs and extension types.
 */
#include "file_reader/value_encoder.h"

#include <arrow/array/array_run_end.h>
#include <arrow/extension_type.h>

#include "file_reader/stored_types.h"

namespace turbine::file_reader {

namespace {

class NullEncoder final : public ValueEncoder {
 public:
  void bind(const std::shared_ptr<arrow::Array>&) override {}
  void append(int64_t, ByteBuffer& out) override { out.null(); }
};

class DictionaryEncoder final : public ArrayEncoder<arrow::DictionaryArray> {
 public:
  explicit DictionaryEncoder(EncoderPtr values) : values_(std::move(values)) {}

 private:
  void bound() override { values_->bind(array_->dictionary()); }
  void value(int64_t row, ByteBuffer& out) override { values_->append(array_->GetValueIndex(row), out); }

  const EncoderPtr values_;
};

class RunEndEncoder final : public ValueEncoder {
 public:
  explicit RunEndEncoder(EncoderPtr values) : values_(std::move(values)) {}
  void bind(const std::shared_ptr<arrow::Array>& array) override {
    holder_ = array;
    const auto& runs = static_cast<const arrow::RunEndEncodedArray&>(*array);
    run_ends_ = runs.run_ends().get();
    values_->bind(runs.values());
  }
  void append(int64_t row, ByteBuffer& out) override {
    /* The first run that ends behind the row. */
    const int64_t wanted = row + holder_->offset();
    int64_t low = 0, high = run_ends_->length();
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (run_end(middle) <= wanted)
        low = middle + 1;
      else
        high = middle;
    }
    values_->append(low, out);
  }

 private:
  int64_t run_end(int64_t run) const {
    switch (run_ends_->type_id()) {
      case arrow::Type::INT16: return static_cast<const arrow::Int16Array&>(*run_ends_).Value(run);
      case arrow::Type::INT32: return static_cast<const arrow::Int32Array&>(*run_ends_).Value(run);
      default: return static_cast<const arrow::Int64Array&>(*run_ends_).Value(run);
    }
  }

  const EncoderPtr values_;
  std::shared_ptr<arrow::Array> holder_;
  const arrow::Array* run_ends_ = nullptr;
};

class ExtensionEncoder final : public ValueEncoder {
 public:
  explicit ExtensionEncoder(EncoderPtr storage) : storage_(std::move(storage)) {}
  void bind(const std::shared_ptr<arrow::Array>& array) override {
    storage_->bind(static_cast<const arrow::ExtensionArray&>(*array).storage());
  }
  void append(int64_t row, ByteBuffer& out) override { storage_->append(row, out); }

 private:
  const EncoderPtr storage_;
};

/* The encoder of a wrapping type; null if the type wraps nothing. */
EncoderPtr make_wrapper(const arrow::DataType& type, const Target& target) {
  switch (type.id()) {
    case arrow::Type::NA: return std::make_unique<NullEncoder>();
    case arrow::Type::DICTIONARY: {
      const auto& dictionary = static_cast<const arrow::DictionaryType&>(type);
      return std::make_unique<DictionaryEncoder>(make_encoder(*dictionary.value_type(), target));
    }
    case arrow::Type::RUN_END_ENCODED: {
      const auto& runs = static_cast<const arrow::RunEndEncodedType&>(type);
      return std::make_unique<RunEndEncoder>(make_encoder(*runs.value_type(), target));
    }
    case arrow::Type::EXTENSION: {
      if (is_int96(type)) return make_int96_encoder(target);
      const auto& extension = static_cast<const arrow::ExtensionType&>(type);
      return std::make_unique<ExtensionEncoder>(make_encoder(*extension.storage_type(), target));
    }
    default: return nullptr;
  }
}

}  // namespace

const char* target_name(const Target& target) {
  switch (target.kind) {
    case TB_TARGET_BOOL: return "boolean";
    case TB_TARGET_INT2: return "smallint";
    case TB_TARGET_INT4: return "integer";
    case TB_TARGET_INT8: return "bigint";
    case TB_TARGET_FLOAT4: return "real";
    case TB_TARGET_FLOAT8: return "double precision";
    case TB_TARGET_NUMERIC: return "numeric";
    case TB_TARGET_TEXT: return "text";
    case TB_TARGET_BYTEA: return "bytea";
    case TB_TARGET_UUID: return "uuid";
    case TB_TARGET_DATE: return "date";
    case TB_TARGET_TIME: return "time";
    case TB_TARGET_TIMESTAMP: return "timestamp";
    case TB_TARGET_TIMESTAMPTZ: return "timestamp with time zone";
    case TB_TARGET_INTERVAL: return "interval";
    case TB_TARGET_JSON: return "json";
    case TB_TARGET_ARRAY: return "an array";
    case TB_TARGET_COMPOSITE: return "a composite type";
    case TB_TARGET_GEOMETRY: return "geometry";
  }
  return "an unknown type";
}

EncoderPtr make_encoder(const arrow::DataType& type, const Target& target) {
  EncoderPtr encoder;
  if (target.kind == TB_TARGET_JSON) encoder = make_json_encoder(type);
  // Within arrays and composites nothing is known of it.
  if (target.kind == TB_TARGET_GEOMETRY) return make_geometry_encoder(type, GeoColumn());
  if (!encoder) encoder = make_wrapper(type, target);
  if (!encoder) encoder = make_number_encoder(type, target);
  if (!encoder) encoder = make_time_encoder(type, target);
  if (!encoder) encoder = make_bytes_encoder(type, target);
  if (!encoder) encoder = make_nested_encoder(type, target);
  if (!encoder)
    throw ReaderError(sqlstate::wrong_type,
                      "type " + type.ToString() + " of the file does not fit " + target_name(target));
  return encoder;
}

}  // namespace turbine::file_reader
