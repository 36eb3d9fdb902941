/*
 * flat_reader.h - tables of FlatBuffers, of which Arrow's files are made, field by field.
 *
 * A table begins with the distance back to its vtable, which holds the places of the table's fields by
 * number; references are distances forward.
 */
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "export/export_error.h"

namespace turbine::exporting {

/* Reads with every place checked: a file may hold anything. */
class FlatReader {
 public:
  explicit FlatReader(const std::string& bytes) : bytes_(bytes) {}

  template <typename T>
  T at(int64_t place) const {
    if (place < 0 || place + static_cast<int64_t>(sizeof(T)) > static_cast<int64_t>(bytes_.size())) {
      throw ExportError(ExitCode::kFile, "the file's metadata is damaged");
    }
    T value;
    memcpy(&value, bytes_.data() + place, sizeof(T));
    return value;
  }

  int64_t root() const { return at<uint32_t>(0); }

  /* The place of a table's field; -1 if it is absent. */
  int64_t field(int64_t table, int number) const {
    const int64_t vtable = table - at<int32_t>(table);
    const int64_t entry = 4 + 2 * number;
    if (entry + 2 > at<uint16_t>(vtable)) return -1;
    const uint16_t offset = at<uint16_t>(vtable + entry);
    return offset == 0 ? -1 : table + offset;
  }

  /* What a field refers to; -1 if it is absent. */
  int64_t referred(int64_t table, int number) const {
    const int64_t place = field(table, number);
    return place < 0 ? -1 : place + at<uint32_t>(place);
  }

 private:
  const std::string& bytes_;
};

}  // namespace turbine::exporting
