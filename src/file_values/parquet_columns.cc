/*
 * parquet_columns.cc - see parquet_columns.h.
 *
 * Owns nothing. Called once when a file is opened, before anything is read by the schema. Must never change how many
 * columns there are, or how they are nested: levels in pages count by that.
 */
#include "file_values/parquet_columns.h"

#include <parquet/metadata.h>
#include <parquet/types.h>

namespace turbine {
namespace {

using parquet::schema::GroupNode;
using parquet::schema::Node;
using parquet::schema::NodePtr;
using parquet::schema::NodeVector;
using parquet::schema::PrimitiveNode;

/* The node with what was chosen below it; null: nothing was. */
NodePtr chosen(const Node& node, const ColumnChoice& choice) {
  if (node.is_primitive()) return choice(static_cast<const PrimitiveNode&>(node));
  const auto& group = static_cast<const GroupNode&>(node);
  NodeVector fields;
  bool is_other = false;
  for (int i = 0; i < group.field_count(); i++) {
    const NodePtr field = chosen(*group.field(i), choice);
    is_other |= field != nullptr;
    fields.push_back(field ? field : group.field(i));
  }
  if (!is_other) return nullptr;
  // A group without an annotation says that it has none, which it may not be given.
  const auto& logical = group.logical_type();
  const bool has_logical = logical && logical->is_valid() && !logical->is_none();
  return GroupNode::Make(group.name(), group.repetition(), fields, has_logical ? logical : nullptr, group.field_id());
}

}  // namespace

void choose_columns(parquet::FileMetaData& metadata, const ColumnChoice& choice) {
  // The metadata's own, which is no constant; there is no other way to it.
  auto& schema = const_cast<parquet::SchemaDescriptor&>(*metadata.schema());
  NodePtr root = chosen(*schema.schema_root(), choice);
  if (!root) return;
  schema = parquet::SchemaDescriptor();
  schema.Init(std::move(root));
}

NodePtr column_as(const PrimitiveNode& column, std::shared_ptr<const parquet::LogicalType> logical,
                  parquet::Type::type physical, int length) {
  NodePtr other = PrimitiveNode::Make(column.name(), column.repetition(), std::move(logical), physical, length,
                                      column.field_id());
  static_cast<PrimitiveNode&>(*other).SetColumnOrder(column.column_order());
  return other;
}

NodePtr enum_as_text(const PrimitiveNode& column) {
  if (!column.logical_type()->is_enum() || column.physical_type() != parquet::Type::BYTE_ARRAY) return nullptr;
  return column_as(column, parquet::LogicalType::String(), parquet::Type::BYTE_ARRAY);
}

}  // namespace turbine
