/*
 * page_source.h - the pages of a column chunk as libparquet frames them, unpacked.
 *
 * If the file has an index of the chunk's pages, those without wanted rows are not read.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "engine/source/files/arrow/arrow_file.h"
#include "engine/source/files/arrow/parquet/page_index.h"

namespace parquet {
class FileMetaData;
class Page;
class PageReader;
class RowGroupReader;
}  // namespace parquet

namespace turbine {

class PageSource {
 public:
  /* Reads the chunk's bytes. `group` outlives it. `rows`: that are wanted. Throws FileError, bad_alloc, and what
   * libparquet throws. */
  PageSource(const OpenedFile& opened, const parquet::FileMetaData& metadata, parquet::RowGroupReader& group,
             int column, const RowRanges& rows);
  ~PageSource();

  /* A page, and its bytes: those of V2 begin with its levels. Until the next one. */
  struct UnpackedPage {
    std::shared_ptr<parquet::Page> page;  // null: there is none. Its own bytes may be packed
    const uint8_t* begin = nullptr;
    const uint8_t* end = nullptr;
  };
  /* Throws the same. */
  UnpackedPage next();

  /* The data pages that there are, in their order; empty: all of the chunk, whose rows no index tells. */
  const std::vector<PagePlace>& chosen() const { return chosen_; }
  /* Of all pages that there are. */
  uint64_t rows() const { return rows_; }
  const BatchReader::LeftOut& left_out() const { return left_out_; }

 private:
  /* All but the first bytes, the levels, are zstd's. `room`: for all; they need it, or `at_most`. */
  void unpack(UnpackedPage& page, uint64_t levels, uint64_t room, bool at_most);

  uint64_t rows_;
  std::vector<PagePlace> chosen_;
  BatchReader::LeftOut left_out_;
  uint64_t most_bytes_ = 0;  // that the chunk's pages unpack to
  bool is_packed_ = false;   // libparquet leaves zstd's frames as they are
  std::unique_ptr<parquet::PageReader> reader_;
  std::unique_ptr<arrow::ResizableBuffer> unpacked_;
};

}  // namespace turbine
