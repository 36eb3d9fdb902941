/*
 * stored_types.cc - see stored_types.h.
 *
 * Owns the type that stands for INT96 between the file's schema and the encoders. Called by parquet_file.cc when a file
 * is opened, and for each piece of it. Must never be asked about arrays that ValidateFull has not seen.
 */
#include "file_reader/stored_types.h"

#include <arrow/array.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include <utility>

#include "file_reader/batch_file.h"
#include "file_reader/reader_error.h"
#include "file_values/int96.h"
#include "file_values/parquet_columns.h"

namespace turbine::file_reader {

namespace {

using parquet::schema::NodePtr;
using parquet::schema::PrimitiveNode;

class Int96Type final : public arrow::ExtensionType {
 public:
  Int96Type() : ExtensionType(arrow::fixed_size_binary(kInt96Bytes)) {}
  std::string extension_name() const override { return "parquet.int96"; }
  std::string ToString(bool) const override { return "timestamp (INT96)"; }
  bool ExtensionEquals(const ExtensionType& other) const override { return is_int96(other); }
  std::shared_ptr<arrow::Array> MakeArray(std::shared_ptr<arrow::ArrayData> data) const override {
    return std::make_shared<arrow::ExtensionArray>(std::move(data));
  }
  arrow::Result<std::shared_ptr<arrow::DataType>> Deserialize(std::shared_ptr<arrow::DataType>,
                                                              const std::string&) const override {
    return arrow::Status::NotImplemented("no file has this type");
  }
  std::string Serialize() const override { return ""; }
};

/* Of an integer of fewer bits than Parquet stores; null: the column is none. */
std::shared_ptr<arrow::DataType> narrow_type(const PrimitiveNode& column) {
  if (column.physical_type() != parquet::Type::INT32 || !column.logical_type()->is_int()) return nullptr;
  const auto& integer = static_cast<const parquet::IntLogicalType&>(*column.logical_type());
  switch (integer.bit_width()) {
    case 8: return integer.is_signed() ? arrow::int8() : arrow::uint8();
    case 16: return integer.is_signed() ? arrow::int16() : arrow::uint16();
    default: return nullptr;
  }
}

NodePtr as_stored(const PrimitiveNode& column) {
  if (column.physical_type() == parquet::Type::INT96)
    return column_as(column, parquet::LogicalType::None(), parquet::Type::FIXED_LEN_BYTE_ARRAY, kInt96Bytes);
  if (narrow_type(column)) {
    const auto& integer = static_cast<const parquet::IntLogicalType&>(*column.logical_type());
    return column_as(column, parquet::LogicalType::Int(32, integer.is_signed()), parquet::Type::INT32);
  }
  return enum_as_text(column);
}

/* The same type of other children. */
std::shared_ptr<arrow::DataType> with_children(const std::shared_ptr<arrow::DataType>& type,
                                               const arrow::FieldVector& children) {
  switch (type->id()) {
    case arrow::Type::STRUCT: return arrow::struct_(children);
    case arrow::Type::LIST: return arrow::list(children[0]);
    case arrow::Type::LARGE_LIST: return arrow::large_list(children[0]);
    case arrow::Type::LIST_VIEW: return arrow::list_view(children[0]);
    case arrow::Type::LARGE_LIST_VIEW: return arrow::large_list_view(children[0]);
    case arrow::Type::FIXED_SIZE_LIST:
      return arrow::fixed_size_list(children[0], static_cast<const arrow::FixedSizeListType&>(*type).list_size());
    case arrow::Type::MAP:
      return std::make_shared<arrow::MapType>(children[0], static_cast<const arrow::MapType&>(*type).keys_sorted());
    default:
      throw ReaderError(sqlstate::unsupported,
                        "type " + type->ToString() + " with timestamps (INT96) or small integers");
  }
}

template <typename Stored, typename Declared>
std::shared_ptr<arrow::Buffer> narrowed(const arrow::ArrayData& stored, const arrow::DataType& declared) {
  const int64_t end = stored.offset + stored.length;
  auto buffer = check(arrow::AllocateBuffer(end * static_cast<int64_t>(sizeof(Declared)), reader_pool()));
  const auto* from = stored.GetValues<Stored>(1, 0);
  auto* to = reinterpret_cast<Declared*>(buffer->mutable_data());
  std::fill(to, to + stored.offset, Declared{});
  for (int64_t row = stored.offset; row < end; row++) {
    to[row] = static_cast<Declared>(from[row]);
    if (!std::in_range<Declared>(from[row]) && stored.IsValid(row - stored.offset))
      throw ReaderError(sqlstate::out_of_range,
                        "value " + std::to_string(from[row]) + " is out of range for " + declared.ToString());
  }
  return buffer;
}

std::shared_ptr<arrow::Buffer> narrow(const arrow::ArrayData& stored, const arrow::DataType& declared) {
  switch (declared.id()) {
    case arrow::Type::INT8: return narrowed<int32_t, int8_t>(stored, declared);
    case arrow::Type::INT16: return narrowed<int32_t, int16_t>(stored, declared);
    case arrow::Type::UINT8: return narrowed<uint32_t, uint8_t>(stored, declared);
    default: return narrowed<uint32_t, uint16_t>(stored, declared);
  }
}

std::shared_ptr<arrow::ArrayData> convert_data(const std::shared_ptr<arrow::ArrayData>& stored,
                                               const std::shared_ptr<arrow::DataType>& declared) {
  if (stored->type->Equals(declared)) return stored;
  auto data = stored->Copy();
  data->type = declared;
  if (arrow::is_integer(declared->id()))
    data->buffers[1] = narrow(*stored, *declared);
  else if (!is_int96(*declared))
    for (size_t i = 0; i < data->child_data.size(); i++)
      data->child_data[i] = convert_data(stored->child_data[i], declared->field(static_cast<int>(i))->type());
  return data;
}

}  // namespace

bool is_int96(const arrow::DataType& type) { return dynamic_cast<const Int96Type*>(&type) != nullptr; }

StoredTypes::StoredTypes(parquet::FileMetaData& metadata) {
  for (int column = 0; column < metadata.schema()->num_columns(); column++) {
    const auto& node = static_cast<const PrimitiveNode&>(*metadata.schema()->Column(column)->schema_node());
    if (node.physical_type() == parquet::Type::INT96)
      declared_[column] = std::make_shared<Int96Type>();
    else if (const auto narrow = narrow_type(node))
      declared_[column] = narrow;
  }
  choose_columns(metadata, as_stored);
}

std::shared_ptr<arrow::DataType> StoredTypes::declared(const parquet::arrow::SchemaField& field) const {
  const auto& type = field.field->type();
  if (field.is_leaf()) {
    const auto found = declared_.find(field.column_index);
    return found == declared_.end() ? type : found->second;
  }
  arrow::FieldVector children;
  bool is_other = false;
  for (const auto& child : field.children) {
    const auto declared_child = declared(child);
    is_other |= !declared_child->Equals(child.field->type());
    children.push_back(child.field->WithType(declared_child));
  }
  return is_other ? with_children(type, children) : type;
}

std::shared_ptr<arrow::Array> StoredTypes::convert(const std::shared_ptr<arrow::Array>& stored,
                                                   const std::shared_ptr<arrow::DataType>& declared) {
  const auto data = convert_data(stored->data(), declared);
  return data == stored->data() ? stored : arrow::MakeArray(data);
}

bool StoredTypes::is_int96_column(int column) const {
  const auto found = declared_.find(column);
  return found != declared_.end() && is_int96(*found->second);
}

}  // namespace turbine::file_reader
