/*
 * nested_encoders.cc - lists as arrays, structs as composites.
 *
 * Lists of lists are arrays of several dimensions, whose rows PostgreSQL wants equally
 * long. The fields of a struct are found by name; those of a map's entries by position.
 */
#include <arrow/array.h>

#include "file_reader/list_items.h"
#include "file_reader/value_encoder.h"

namespace turbine::file_reader {

namespace {

constexpr size_t kMaxDimensions = 6;                // PostgreSQL's MAXDIM
constexpr int64_t kMaxItems = (1 << 30) / 8 - 100;  // less than PostgreSQL's MaxArraySize

[[noreturn]] void raise_ragged() {
  throw ReaderError(sqlstate::ragged_array, "lists within a list have different lengths, or are NULL", "",
                    "Declare the column as jsonb to read such lists.");
}

class ListEncoder final : public ArrayEncoder<arrow::Array> {
 public:
  ListEncoder(EncoderPtr items, size_t dimensions) : items_(std::move(items)), levels_(dimensions) {}

 private:
  void bound() override {
    levels_[0] = nullptr;
    const arrow::Array* lists = array_;
    for (auto& level : levels_) {
      level = list_values(*lists);
      lists = level.get();
    }
    items_->bind(levels_.back());
  }

  const arrow::Array& lists_of(size_t dimension) const { return dimension == 0 ? *array_ : *levels_[dimension - 1]; }

  void value(int64_t row, ByteBuffer& out) override {
    std::vector<int64_t> lengths;
    measure(row, 0, lengths);
    const bool empty = lengths.size() < levels_.size() || lengths.back() == 0;
    int64_t items = 1;
    for (const int64_t length : lengths) {
      items *= std::max<int64_t>(length, 1);
      if (items > kMaxItems) throw ReaderError(sqlstate::too_large, "list has too many items for an array");
    }

    const size_t begin = out.begin_field();
    out.network(empty ? uint32_t{0} : static_cast<uint32_t>(levels_.size()));
    if (!empty) {
      for (const int64_t length : lengths) out.network(static_cast<int32_t>(length));
    }
    append_items(row, 0, lengths, empty ? nullptr : &out);
    out.end_field(begin);
  }

  /* The lengths of the first list of each dimension. */
  void measure(int64_t row, size_t dimension, std::vector<int64_t>& lengths) const {
    const arrow::Array& lists = lists_of(dimension);
    if (lists.IsNull(row)) raise_ragged();
    const ListItems items = list_items(lists, row);
    lengths.push_back(items.count);
    if (dimension + 1 < levels_.size() && items.count > 0) measure(items.first, dimension + 1, lengths);
  }

  /* Checks that the lists of a dimension are alike, and appends the items of the last. */
  void append_items(int64_t row, size_t dimension, const std::vector<int64_t>& lengths, ByteBuffer* out) {
    const arrow::Array& lists = lists_of(dimension);
    if (dimension >= lengths.size()) return;
    if (lists.IsNull(row)) raise_ragged();
    const ListItems items = list_items(lists, row);
    if (items.count != lengths[dimension]) raise_ragged();
    for (int64_t item = items.first; item < items.first + items.count; item++) {
      if (dimension + 1 < levels_.size())
        append_items(item, dimension + 1, lengths, out);
      else
        items_->append(item, *out);
    }
  }

  const EncoderPtr items_;
  std::vector<std::shared_ptr<arrow::Array>> levels_;  // values of the lists of each dimension
};

class StructEncoder final : public ArrayEncoder<arrow::StructArray> {
 public:
  void add(int field, EncoderPtr encoder) { fields_.push_back({field, std::move(encoder)}); }

 private:
  void bound() override {
    for (const auto& field : fields_) field.encoder->bind(array_->field(field.number));
  }
  void value(int64_t row, ByteBuffer& out) override {
    const size_t begin = out.begin_field();
    for (const auto& field : fields_) field.encoder->append(row, out);
    out.end_field(begin);
  }

  struct Field {
    int number;
    EncoderPtr encoder;
  };
  std::vector<Field> fields_;
};

EncoderPtr make_list(const arrow::DataType& type, const Target& target) {
  const arrow::DataType* item = &type;
  size_t dimensions = 0;
  while (has_items(item->id()) && (dimensions == 0 || target.parts[0].kind != TB_TARGET_JSON)) {
    dimensions++;
    item = item->field(0)->type().get();
  }
  if (dimensions == 0 || dimensions > kMaxDimensions) return nullptr;
  return std::make_unique<ListEncoder>(make_encoder(*item, target.parts[0]), dimensions);
}

EncoderPtr make_struct(const arrow::StructType& type, const Target& target, bool by_position) {
  auto encoder = std::make_unique<StructEncoder>();
  for (size_t part = 0; part < target.parts.size(); part++) {
    const int field = by_position ? static_cast<int>(part) : type.GetFieldIndex(target.names[part]);
    if (field < 0 || field >= type.num_fields())
      throw ReaderError(sqlstate::wrong_type, "the struct has no field \"" + target.names[part] + "\", or several");
    encoder->add(field, make_encoder(*type.field(field)->type(), target.parts[part]));
  }
  return encoder;
}

}  // namespace

bool has_items(arrow::Type::type type) {
  switch (type) {
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST:
    case arrow::Type::LIST_VIEW:
    case arrow::Type::LARGE_LIST_VIEW:
    case arrow::Type::MAP: return true;
    default: return false;
  }
}

std::shared_ptr<arrow::Array> list_values(const arrow::Array& lists) {
  switch (lists.type_id()) {
    case arrow::Type::LARGE_LIST: return static_cast<const arrow::LargeListArray&>(lists).values();
    case arrow::Type::FIXED_SIZE_LIST: return static_cast<const arrow::FixedSizeListArray&>(lists).values();
    case arrow::Type::LIST_VIEW: return static_cast<const arrow::ListViewArray&>(lists).values();
    case arrow::Type::LARGE_LIST_VIEW: return static_cast<const arrow::LargeListViewArray&>(lists).values();
    default: return static_cast<const arrow::ListArray&>(lists).values();  // maps are lists
  }
}

ListItems list_items(const arrow::Array& lists, int64_t row) {
  const auto items = [row](const auto& array) {
    return ListItems{static_cast<int64_t>(array.value_offset(row)), static_cast<int64_t>(array.value_length(row))};
  };
  switch (lists.type_id()) {
    case arrow::Type::LARGE_LIST: return items(static_cast<const arrow::LargeListArray&>(lists));
    case arrow::Type::FIXED_SIZE_LIST: return items(static_cast<const arrow::FixedSizeListArray&>(lists));
    case arrow::Type::LIST_VIEW: return items(static_cast<const arrow::ListViewArray&>(lists));
    case arrow::Type::LARGE_LIST_VIEW: return items(static_cast<const arrow::LargeListViewArray&>(lists));
    default: return items(static_cast<const arrow::ListArray&>(lists));
  }
}

EncoderPtr make_nested_encoder(const arrow::DataType& type, const Target& target) {
  if (target.kind == TB_TARGET_ARRAY) {
    const bool is_map = type.id() == arrow::Type::MAP;
    if (is_map && target.parts[0].kind == TB_TARGET_COMPOSITE) {
      const auto& entries = static_cast<const arrow::StructType&>(*type.field(0)->type());
      return std::make_unique<ListEncoder>(make_struct(entries, target.parts[0], true), 1);
    }
    return is_map ? nullptr : make_list(type, target);
  }
  if (target.kind == TB_TARGET_COMPOSITE && type.id() == arrow::Type::STRUCT)
    return make_struct(static_cast<const arrow::StructType&>(type), target, false);
  return nullptr;
}

}  // namespace turbine::file_reader
