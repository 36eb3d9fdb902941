/*
 * flat_table.h - fields of a flatbuffer's tables, in which Arrow IPC files say what they hold.
 *
 * A table begins with the distance back to its vtable, which has a 16-bit place for each field; places, vectors
 * and tables are followed only within the buffer.
 */
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include "engine/source/files/table_file.h"

namespace turbine {

[[noreturn]] inline void corrupt_ipc(const std::string& what) { throw FileError("Arrow file: " + what); }

/* A flatbuffer, and what may be read of it. Throws FileError. */
class FlatTable {
 public:
  /* So many bytes of the file. */
  static FlatTable read(arrow::io::RandomAccessFile& file, int64_t offset, int64_t size) {
    auto buffer = file.ReadAt(offset, size);
    if (!buffer.ok() || (*buffer)->size() != size) corrupt_ipc("its metadata can not be read");
    return FlatTable(*buffer);
  }

  template <class T>
  T at(uint64_t place) const {
    T value;
    if (place > size() || size() - place < sizeof value) corrupt_ipc("its metadata leaves its buffer");
    memcpy(&value, buffer_->data() + place, sizeof value);
    return value;
  }
  uint64_t root() const { return at<uint32_t>(0); }
  /* Where a table has its field; 0: it has none. */
  uint64_t field(uint64_t table, uint32_t number) const {
    const auto vtable = static_cast<uint64_t>(static_cast<int64_t>(table) - at<int32_t>(table));
    const uint32_t entry = 4 + 2 * number;
    if (entry + 2 > at<uint16_t>(vtable)) return 0;
    const auto distance = at<uint16_t>(vtable + entry);
    return distance == 0 ? 0 : table + distance;
  }
  /* What the field's offset points to. */
  uint64_t follow(uint64_t place) const { return place + at<uint32_t>(place); }

  /* The structs of a table's vector; none where it has no such field. */
  template <class T>
  std::vector<T> structs(uint64_t table, uint32_t number) const {
    std::vector<T> all;
    const uint64_t of_table = field(table, number);
    if (of_table == 0) return all;
    const uint64_t vector = follow(of_table);
    const auto count = at<uint32_t>(vector);
    if (count > size() / sizeof(T)) corrupt_ipc("its metadata leaves its buffer");
    for (uint32_t i = 0; i < count; i++) all.push_back(at<T>(vector + sizeof count + i * sizeof(T)));
    return all;
  }

 private:
  explicit FlatTable(std::shared_ptr<arrow::Buffer> buffer) : buffer_(std::move(buffer)) {}
  uint64_t size() const { return static_cast<uint64_t>(buffer_->size()); }

  std::shared_ptr<arrow::Buffer> buffer_;
};

}  // namespace turbine
