/*
 * zstd_pages.cc - see zstd_pages.h.
 *
 * Owns a context a thread. Called for each page.
 */
#include "engine/source/files/arrow/parquet/zstd_pages.h"

#include <memory>

#include <arrow/util/compression.h>

#include "engine/source/files/arrow/arrow_file.h"

namespace turbine {
namespace {

arrow::util::Decompressor& context() {
  static thread_local std::shared_ptr<arrow::util::Decompressor> kept;
  if (!kept) {
    auto codec = arrow::util::Codec::Create(arrow::Compression::ZSTD);
    check_status(codec.status());
    auto made = (*codec)->MakeDecompressor();
    check_status(made.status());
    kept = *made;
  }
  return *kept;
}

}  // namespace

uint64_t unpack_zstd(const uint8_t* bytes, uint64_t size, uint8_t* to, uint64_t room) {
  arrow::util::Decompressor& zstd = context();
  uint64_t written = 0;
  while (size > 0) {
    check_status(zstd.Reset());
    do {
      const auto step = zstd.Decompress(static_cast<int64_t>(size), bytes, static_cast<int64_t>(room - written),
                                        to + written);
      check_status(step.status());
      bytes += step->bytes_read;
      size -= static_cast<uint64_t>(step->bytes_read);
      written += static_cast<uint64_t>(step->bytes_written);
      if (!zstd.IsFinished() && step->bytes_read == 0 && step->bytes_written == 0)
        throw FileError("a zstd frame that is cut off, or larger than its page");
    } while (!zstd.IsFinished());
  }
  return written;
}

}  // namespace turbine
