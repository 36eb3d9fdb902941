/*
 * flat_buffer.h - tables of FlatBuffers, of which Arrow's files are made, field by field.
 *
 * A table begins with the distance back to its vtable, which has a 16-bit place for each field, by number.
 * References are distances forward. A file may hold anything, so each place is checked before it is read.
 */
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace turbine {

/* `Damaged` throws its caller's error: something leaves the buffer. The bytes outlive this. A place is that of a
 * byte in the buffer; 0 stands for what is absent, since the buffer's root is there. */
template <void (*Damaged)()>
class FlatBuffer {
 public:
  explicit FlatBuffer(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T at(uint64_t place) const {
    T value;
    if (place > bytes_.size() || bytes_.size() - place < sizeof value) Damaged();
    memcpy(&value, bytes_.data() + place, sizeof value);
    return value;
  }
  /* The table that all others are found from. */
  uint64_t root() const { return at<uint32_t>(0); }
  /* Where a table has its field; 0: it has none. */
  uint64_t field(uint64_t table, uint32_t number) const {
    const auto vtable = static_cast<uint64_t>(static_cast<int64_t>(table) - at<int32_t>(table));
    const uint32_t entry = 4 + 2 * number;
    if (entry + 2 > at<uint16_t>(vtable)) return 0;
    const auto distance = at<uint16_t>(vtable + entry);
    return distance == 0 ? 0 : table + distance;
  }
  /* What the reference at a place refers to. */
  uint64_t follow(uint64_t place) const { return place + at<uint32_t>(place); }
  /* What a table's field refers to; 0: it has no such field. */
  uint64_t referred(uint64_t table, uint32_t number) const {
    const uint64_t place = field(table, number);
    return place == 0 ? 0 : follow(place);
  }

  /* The structs of the vector that a table's field refers to; none if it has no such field. */
  template <class T>
  std::vector<T> structs(uint64_t table, uint32_t number) const {
    std::vector<T> all;
    const uint64_t vector = referred(table, number);
    if (vector == 0) return all;
    const auto count = at<uint32_t>(vector);
    if (count > bytes_.size() / sizeof(T)) Damaged();
    for (uint32_t i = 0; i < count; i++) all.push_back(at<T>(vector + sizeof count + i * sizeof(T)));
    return all;
  }

 private:
  std::string_view bytes_;
};

}  // namespace turbine
