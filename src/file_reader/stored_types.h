/*
 * stored_types.h - columns of a Parquet file whose values libparquet would not hand out as they are.
 *
 * INT96 wraps around when it becomes a timestamp, and so do 32 stored bits that become an integer of 8 or 16. So
 * libparquet takes such columns for the types that are stored, and their arrays become those of the file's schema here.
 */
#pragma once

#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <parquet/arrow/schema.h>

#include <map>
#include <memory>

namespace parquet {
class FileMetaData;
}

namespace turbine::file_reader {

/* The type of INT96, whose storage are its twelve bytes. */
bool is_int96(const arrow::DataType& type);

class StoredTypes {
 public:
  /* Of metadata that nothing is read by yet, and changes the types in it. */
  explicit StoredTypes(parquet::FileMetaData& metadata);

  /* The type of a field in the file's schema. */
  std::shared_ptr<arrow::DataType> declared(const parquet::arrow::SchemaField& field) const;

  /* An array that libparquet has read, as one of that type. Throws ReaderError for values that the type lacks. */
  static std::shared_ptr<arrow::Array> convert(const std::shared_ptr<arrow::Array>& stored,
                                               const std::shared_ptr<arrow::DataType>& declared);

  /* Whether the statistics of a column (a leaf) are those of another type. */
  bool is_int96_column(int column) const;

 private:
  std::map<int, std::shared_ptr<arrow::DataType>> declared_;  // by column; no entry: as it is stored
};

}  // namespace turbine::file_reader
