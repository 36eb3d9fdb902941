/*
 * batch_file.h - a file of any format as batches of rows.
 *
 * A batch is a record batch of Arrow, or a row group of Parquet. Files are read from their
 * beginning to their end, a piece at a time: a record batch as a whole, some 64 K rows of a
 * row group, so memory does not grow with the file. Methods throw ReaderError.
 */
#pragma once

#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace turbine::file_reader {

/* As TbFileFormat. */
enum class FileFormat { arrow = 1, arrow_stream = 2, parquet = 3 };

struct BatchSize {
  int64_t rows;
  int64_t bytes;  // in the file
};

/* The least and greatest value of a column in a batch. */
struct BatchBounds {
  std::shared_ptr<arrow::Scalar> least, greatest;
};

class BatchFile {
 public:
  virtual ~BatchFile() = default;

  virtual FileFormat format() const = 0;
  virtual const arrow::Schema& schema() const = 0;
  virtual std::vector<BatchSize> batch_sizes() = 0;
  virtual int64_t column_bytes(int column) = 0;
  /* What the file says of it, if it does. */
  virtual std::optional<BatchBounds> bounds(int batch, int column) = 0;

  /* An array of a piece as values of the schema's type, of which some formats store a wider one. Throws for values that
   * the type lacks. The array has passed ValidateFull. */
  virtual std::shared_ptr<arrow::Array> as_declared(int, const std::shared_ptr<arrow::Array>& stored) const {
    return stored;
  }

  /* Reads the columns (top-level fields, ascending) of the batches that are wanted. Pieces
   * have them in that order. */
  using Wanted = std::function<bool(int batch)>;
  using Consume = std::function<void(int batch, const arrow::RecordBatch& piece)>;
  virtual void read(const std::vector<int>& columns, const Wanted& wanted, const Consume& consume) = 0;
};

using FilePtr = std::shared_ptr<arrow::io::ReadableFile>;

/* Tells the format by the file's first bytes. */
std::unique_ptr<BatchFile> open_batch_file(const FilePtr& file);

/* Its parts. */
std::unique_ptr<BatchFile> open_arrow_file(const FilePtr& file, bool stream);
std::unique_ptr<BatchFile> open_parquet_file(const FilePtr& file);

/* Where everything that is read is allocated; limited. */
arrow::MemoryPool* reader_pool();

}  // namespace turbine::file_reader
