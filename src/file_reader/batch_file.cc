/*
 * batch_file.cc - recognises a file's format by its first bytes: see batch_file.h. Its name
 * says nothing, since the backend passes a descriptor.
 */
#include "file_reader/batch_file.h"

#include <arrow/buffer.h>

#include <string_view>

#include "file_reader/reader_error.h"

namespace turbine::file_reader {

std::unique_ptr<BatchFile> open_batch_file(const FilePtr& file) {
  constexpr std::string_view arrow_magic = "ARROW1", parquet_magic = "PAR1", continuation = "\xff\xff\xff\xff";
  const auto head = check(file->ReadAt(0, 8));
  const std::string_view begin(*head);
  if (begin.starts_with(arrow_magic)) return open_arrow_file(file, false);
  if (begin.starts_with(parquet_magic)) return open_parquet_file(file);
  if (begin.starts_with(continuation)) return open_arrow_file(file, true);
  throw ReaderError(sqlstate::corrupt, "not an Arrow or Parquet file");
}

}  // namespace turbine::file_reader
