/*
 * ipc_body.h - where a message's buffers lie in its body.
 *
 * libarrow packs them 8 bytes apart. Here they begin at cache lines, and large ones at pages, as direct reads and
 * devices want them; body and buffers then have the same alignment in the file.
 *
 *   Message      table { 1 header type: uint8; 2 header; 3 body's length: int64 }
 *   header 2     DictionaryBatch { 1 data: RecordBatch }
 *   header 3     RecordBatch { 2 buffers: [Buffer] }
 *   Buffer       OFFSET 0 SIZE 8 offset in the body; 8 8 length
 */
#pragma once

#include <arrow/buffer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace turbine::exporting {

inline constexpr int64_t kIpcAlignment = 64;

struct IpcBody {
  std::vector<int64_t> offsets; /* of buffers */
  int64_t bytes = 0;
  int64_t alignment = kIpcAlignment; /* of the body itself, in the file */
};

/* Null buffers take no room. */
IpcBody place_buffers(const std::vector<std::shared_ptr<arrow::Buffer>>& buffers);

/* Says in a message's metadata that its buffers lie so. Throws ExportError if they are others. */
void put_places(const IpcBody& body, std::string& metadata);

inline int64_t round_up(int64_t bytes, int64_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace turbine::exporting
