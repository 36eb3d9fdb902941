/*
 * ipc_footer.h - where the record batches of an Arrow IPC file are, and how many rows each has.
 *
 * libarrow tells the latter only of a batch that it has read. So the two small flatbuffers that say it are read
 * here: the file's footer, and the header of each batch (format/File.fbs and Message.fbs of Apache Arrow's
 * specification). Whatever they say is checked against the file's size; what libarrow reads later is
 * checked against them.
 */
#pragma once

#include <cstdint>
#include <vector>

#include <arrow/io/type_fwd.h>

namespace turbine {

struct IpcBatch {
  uint64_t rows;
  uint64_t bytes;  // of its body
};

/* Throws FileError. */
std::vector<IpcBatch> read_ipc_batches(arrow::io::RandomAccessFile& file);

}  // namespace turbine
