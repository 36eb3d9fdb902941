/*
 * ipc_footer.h - the footer of an Arrow IPC file: where its messages lie, and its schema.
 *
 * libarrow writes a footer only with the schema that a file was begun with, and reads none
 * for others; statistics are known at a file's end, and appending needs the old blocks.
 * So this reads and writes the footer's few FlatBuffers fields itself.
 *
 *   file    "ARROW1" 0 0 | schema message | dictionaries | record batches | end of stream
 *           | Footer | int32 length of Footer | "ARROW1"
 *   Footer  table { 0 version: int16; 1 schema: Schema; 2 dictionaries: [Block];
 *           3 recordBatches: [Block]; 4 custom_metadata }
 *   Block   OFFSET 0 SIZE 8 offset; 8 4 metaDataLength; 12 4 padding; 16 8 bodyLength
 */
#pragma once

#include <arrow/type.h>

#include <cstdint>
#include <string>
#include <vector>

namespace turbine::exporting {

inline constexpr char kIpcMagic[] = "ARROW1";
inline constexpr int64_t kIpcMagicBytes = 6;

/* A message of the file: bytes from its start, its metadata with padding, its body. */
struct IpcBlock {
  int64_t offset;
  int32_t metadata_bytes;
  int32_t padding;
  int64_t body_bytes;
};
static_assert(sizeof(IpcBlock) == 24);

struct IpcFooter {
  std::vector<IpcBlock> dictionaries, batches;
};

/* The FlatBuffers bytes of a footer. Throws ExportError if the schema cannot be written. */
std::string footer_bytes(const IpcFooter& footer, const arrow::Schema& schema);
/* Reads them; throws ExportError if they are damaged, or a block lies beyond `file_bytes`. */
IpcFooter parse_footer(const std::string& bytes, int64_t file_bytes);

}  // namespace turbine::exporting
