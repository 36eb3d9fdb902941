/*
 * ipc_footer.cc - FlatBuffers by hand, for one table.
 *
 * Owns nothing. Called by ipc_writer.cc. References are distances (file_values/flat_buffer.h). So the schema's own
 * buffer, as libarrow serializes it, is embedded as it is and its table referred to.
 */
#include "export/ipc_footer.h"

#include <arrow/buffer.h>
#include <arrow/ipc/writer.h>

#include <cstring>

#include "export/export_error.h"
#include "file_values/flat_buffer.h"

namespace turbine::exporting {
namespace {

void damaged_footer() { throw ExportError(ExitCode::kFile, "the file's metadata is damaged"); }

using FooterReader = FlatBuffer<damaged_footer>;

constexpr int16_t kMetadataV5 = 4;
constexpr int kMessageHeader = 2; /* field of the table Message */
constexpr int kSchema = 1, kDictionaries = 2, kBatches = 3;

std::vector<IpcBlock> read_blocks(const FooterReader& reader, int number, int64_t file_bytes) {
  const std::vector<IpcBlock> blocks = reader.structs<IpcBlock>(reader.root(), static_cast<uint32_t>(number));
  for (const IpcBlock& block : blocks) {
    if (block.offset < 0 || block.metadata_bytes < 0 || block.body_bytes < 0 || block.offset > file_bytes ||
        block.body_bytes > file_bytes - block.offset - block.metadata_bytes) {
      throw ExportError(ExitCode::kFile, "the file's footer is damaged: a block lies beyond the file");
    }
  }
  return blocks;
}

template <typename T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

/* Blocks are aligned to 8 bytes, behind the vector's count of 4. */
void put_blocks(std::string& bytes, const std::vector<IpcBlock>& blocks, size_t reference) {
  bytes.resize((bytes.size() + 4 + 7) / 8 * 8 - 4);
  const uint32_t distance = static_cast<uint32_t>(bytes.size() - reference);
  memcpy(bytes.data() + reference, &distance, sizeof distance);
  put(bytes, static_cast<uint32_t>(blocks.size()));
  for (const IpcBlock& block : blocks) put(bytes, block);
}

}  // namespace

std::string footer_bytes(const IpcFooter& footer, const arrow::Schema& schema) {
  /* OFFSET SIZE: 0 4 root; 4 12 vtable of 4 fields; 16 4 to the vtable; 20 4 schema;
   * 24 4 dictionaries; 28 4 batches; 32 2 version */
  constexpr uint16_t kVtable = 4, kTable = 16, kVtableBytes = 12, kTableBytes = 18;
  std::string bytes;
  put<uint32_t>(bytes, kTable);
  for (const uint16_t entry : {kVtableBytes, kTableBytes, uint16_t{16}, uint16_t{4}, uint16_t{8}, uint16_t{12}}) {
    put(bytes, entry);
  }
  put<int32_t>(bytes, kTable - kVtable);
  for (int i = 0; i < 3; i++) put<uint32_t>(bytes, 0);
  put(bytes, kMetadataV5);

  put_blocks(bytes, footer.dictionaries, 24);
  put_blocks(bytes, footer.batches, 28);

  /* The message as a stream has it: a marker and a length of 4 bytes each, then the table. */
  const auto message = value_of(arrow::ipc::SerializeSchema(schema));
  const std::string schema_bytes(reinterpret_cast<const char*>(message->data()) + 8,
                                 static_cast<size_t>(message->size()) - 8);
  bytes.resize((bytes.size() + 7) / 8 * 8);
  const FooterReader reader(schema_bytes);
  const uint64_t table = reader.referred(reader.root(), kMessageHeader);
  const auto distance = static_cast<uint32_t>(bytes.size() + table - 20);
  memcpy(bytes.data() + 20, &distance, sizeof distance);
  return bytes + schema_bytes;
}

IpcFooter parse_footer(const std::string& bytes, int64_t file_bytes) {
  const FooterReader reader(bytes);
  if (reader.referred(reader.root(), kSchema) == 0) throw ExportError(ExitCode::kFile, "the file's footer is damaged");
  return {read_blocks(reader, kDictionaries, file_bytes), read_blocks(reader, kBatches, file_bytes)};
}

}  // namespace turbine::exporting
