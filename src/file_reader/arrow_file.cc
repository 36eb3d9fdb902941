/*
 * arrow_file.cc - Arrow IPC files and streams.
 *
 * Owns the readers of libarrow. Called by scan.cc and describe.cc. A batch's bounds are those that some writers keep
 * in a field's custom metadata (file_values/batch_bounds.h), numbers in the column's own units.
 */
#include <arrow/ipc/reader.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/decimal.h>
#include <arrow/util/key_value_metadata.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "file_reader/batch_file.h"
#include "file_reader/reader_error.h"
#include "file_values/batch_bounds.h"

namespace turbine::file_reader {

namespace {

arrow::ipc::IpcReadOptions read_options(const std::vector<int>* columns) {
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = reader_pool();
  options.use_threads = false;
  if (columns != nullptr) options.included_fields = *columns;
  return options;
}

/* Whether the type has such an integer; MakeScalar would cut its bits off. */
bool has_integer(const arrow::DataType& type, int64_t value) {
  const int bits = static_cast<const arrow::FixedWidthType&>(type).bit_width();
  if (bits == 64) return true;
  if (arrow::is_unsigned_integer(type.id())) return value >= 0 && value < int64_t{1} << bits;
  return value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << (bits - 1);
}

/* A number in a column's own units as a value of its type; null if it is none. */
std::shared_ptr<arrow::Scalar> parse_bound(const std::shared_ptr<arrow::DataType>& type, const std::string& text) {
  if (arrow::is_decimal(type->id())) {
    arrow::Decimal256 value;
    int32_t precision, scale;
    if (!arrow::Decimal256::FromString(text, &value, &precision, &scale).ok() || scale != 0) return nullptr;
    const int column_scale = static_cast<const arrow::DecimalType&>(*type).scale();
    return std::make_shared<arrow::Decimal256Scalar>(value, arrow::decimal256(76, column_scale));
  }
  const bool has_integers = arrow::is_integer(type->id()) || arrow::is_date(type->id()) || arrow::is_time(type->id()) ||
                            type->id() == arrow::Type::TIMESTAMP;
  if (!has_integers) return nullptr;
  if (type->id() == arrow::Type::UINT64) {
    uint64_t value;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return nullptr;
    return std::make_shared<arrow::UInt64Scalar>(value);
  }
  int64_t value;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return nullptr;
  if (!has_integer(*type, value)) return nullptr;
  auto scalar = arrow::MakeScalar(type, value);
  return scalar.ok() ? *scalar : nullptr;
}

/* Rows of the narrowest column are read to learn a batch's number of rows. */
std::vector<int> narrowest_column(const arrow::Schema& schema) {
  int best = -1, best_width = 0;
  for (int column = 0; column < schema.num_fields(); column++) {
    const auto& type = *schema.field(column)->type();
    const bool fixed = arrow::is_primitive(type.id()) || arrow::is_decimal(type.id());
    const int width = fixed ? type.bit_width() : 1 << 20;
    if (best < 0 || width < best_width) best = column, best_width = width;
  }
  return best < 0 ? std::vector<int>{} : std::vector<int>{best};
}

class ArrowFile final : public BatchFile {
 public:
  ArrowFile(const FilePtr& file, bool stream) : file_(file), stream_(stream) {
    if (stream_)
      schema_ = open_stream(nullptr)->schema();
    else
      schema_ = open_file(nullptr)->schema();
  }

  FileFormat format() const override { return stream_ ? FileFormat::arrow_stream : FileFormat::arrow; }
  const arrow::Schema& schema() const override { return *schema_; }

  std::vector<BatchSize> batch_sizes() override {
    std::vector<BatchSize> sizes;
    int64_t rows = 0;
    read(
        narrowest_column(*schema_), [](int) { return true; },
        [&](int, const arrow::RecordBatch& piece) {
          sizes.push_back({piece.num_rows(), 0});
          rows += piece.num_rows();
        });
    const int64_t file_bytes = check(file_->GetSize());
    rows_ = rows;
    for (auto& size : sizes) {
      size.bytes = rows == 0 ? 0 : static_cast<int64_t>(static_cast<double>(file_bytes) * size.rows / rows);
    }
    return sizes;
  }

  /* The file's bytes, by what the types need uncompressed. */
  int64_t column_bytes(int column) override {
    double all = 0;
    for (const auto& field : schema_->fields()) all += typical_width(*field->type());
    return static_cast<int64_t>(check(file_->GetSize()) * (typical_width(*schema_->field(column)->type()) / all));
  }

  std::optional<BatchBounds> bounds(int batch, int column) override {
    const auto& field = *schema_->field(column);
    if (!field.HasMetadata()) return std::nullopt;
    const auto value_of = [&](const char* key) -> std::shared_ptr<arrow::Scalar> {
      const auto& texts = listed(column, key);
      const auto number = static_cast<size_t>(batch);
      return number < texts.size() ? parse_bound(field.type(), texts[number]) : nullptr;
    };
    BatchBounds found = {value_of(kMinValues), value_of(kMaxValues)};
    if (!found.least || !found.greatest) return std::nullopt;
    return found;
  }

  void read(const std::vector<int>& columns, const Wanted& wanted, const Consume& consume) override {
    if (columns.empty() && schema_->num_fields() > 0) {
      read(narrowest_column(*schema_), wanted, consume);
    } else if (stream_) {
      const auto reader = open_stream(&columns);
      std::shared_ptr<arrow::RecordBatch> piece;
      for (int batch = 0;; batch++) {
        check(reader->ReadNext(&piece));
        if (!piece) return;
        if (wanted(batch)) consume(batch, *piece);
      }
    } else {
      const auto reader = open_file(&columns);
      for (int batch = 0; batch < reader->num_record_batches(); batch++) {
        if (wanted(batch)) consume(batch, *check(reader->ReadRecordBatch(batch)));
      }
    }
  }

 private:
  /* The texts that a field's metadata lists under the key, by batch. */
  const std::vector<std::string>& listed(int column, const char* key) {
    const auto [found, is_new] = listed_.try_emplace({column, key});
    if (is_new) {
      const std::string list = schema_->field(column)->metadata()->Get(key).ValueOr("");
      const auto texts = listed_bounds(list);
      found->second.assign(texts.begin(), texts.end());
    }
    return found->second;
  }

  static double typical_width(const arrow::DataType& type) {
    constexpr double unknown = 24;
    if (arrow::is_primitive(type.id()) || arrow::is_decimal(type.id())) return type.bit_width() / 8.0;
    if (type.id() == arrow::Type::DICTIONARY)
      return typical_width(*static_cast<const arrow::DictionaryType&>(type).index_type());
    return unknown;
  }

  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> open_stream(const std::vector<int>* columns) const {
    check(file_->Seek(0));
    return check(arrow::ipc::RecordBatchStreamReader::Open(file_.get(), read_options(columns)));
  }
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> open_file(const std::vector<int>* columns) const {
    return check(arrow::ipc::RecordBatchFileReader::Open(file_, read_options(columns)));
  }

  const FilePtr file_;
  const bool stream_;
  std::shared_ptr<arrow::Schema> schema_;
  int64_t rows_ = 0;
  std::map<std::pair<int, std::string>, std::vector<std::string>> listed_;  // by column and key
};

}  // namespace

std::unique_ptr<BatchFile> open_arrow_file(const FilePtr& file, bool stream) {
  return std::make_unique<ArrowFile>(file, stream);
}

}  // namespace turbine::file_reader
