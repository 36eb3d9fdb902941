/*
 * parquet_columns.h - columns of a Parquet file that libparquet is to take for another type than the file says.
 *
 * libparquet converts some values with a loss, and takes some texts for bytes. If it is told another type that is
 * stored in the same way, it hands out what the file holds.
 */
#pragma once

#include <functional>
#include <memory>

#include <parquet/schema.h>

namespace parquet {
class FileMetaData;
}

namespace turbine {

/* What to take a column for; null: for what it is. */
using ColumnChoice = std::function<parquet::schema::NodePtr(const parquet::schema::PrimitiveNode&)>;

/* Changes the schema of metadata that nobody else has seen yet. Throws what libparquet throws. */
void choose_columns(parquet::FileMetaData& metadata, const ColumnChoice& choice);

/* The same column of another type; `length`: in bytes, of FIXED_LEN_BYTE_ARRAY. */
parquet::schema::NodePtr column_as(const parquet::schema::PrimitiveNode& column,
                                   std::shared_ptr<const parquet::LogicalType> logical, parquet::Type::type physical,
                                   int length = -1);

/* A ColumnChoice: an ENUM is UTF-8 by definition, so it is a text. */
parquet::schema::NodePtr enum_as_text(const parquet::schema::PrimitiveNode& column);

}  // namespace turbine
