/*
 * byte_buffer.h - bytes of a frame as they grow: numbers in network order, lengths that are
 * filled in later.
 */
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "file_reader/reader_error.h"
#include "turbine/file_reader.h"

namespace turbine::file_reader {

/* A number's bytes in the other order. */
template <std::integral T>
T swapped(T value) {
  if constexpr (sizeof(T) == 1) return value;
  if constexpr (sizeof(T) == 2) return static_cast<T>(__builtin_bswap16(static_cast<uint16_t>(value)));
  if constexpr (sizeof(T) == 4) return static_cast<T>(__builtin_bswap32(static_cast<uint32_t>(value)));
  if constexpr (sizeof(T) == 8) return static_cast<T>(__builtin_bswap64(static_cast<uint64_t>(value)));
}

class ByteBuffer {
 public:
  const uint8_t* data() const { return bytes_.data(); }
  size_t size() const { return size_; }
  void truncate(size_t size) { size_ = size; }

  /* Room for `count` bytes more, which count as written. Throws ReaderError if the buffer
   * becomes larger than PostgreSQL can take. */
  uint8_t* extend(size_t count) {
    const size_t wanted = size_ + count;
    if (wanted > bytes_.size()) grow(wanted);
    uint8_t* place = bytes_.data() + size_;
    size_ = wanted;
    return place;
  }
  void bytes(const void* data, size_t count) {
    if (count > 0) std::memcpy(extend(count), data, count);
  }

  /* In this machine's byte order. */
  template <typename T>
  void patch(size_t place, T value) {
    std::memcpy(bytes_.data() + place, &value, sizeof(value));
  }
  template <typename T>
  void native(T value) {
    bytes(&value, sizeof(value));
  }
  void text(std::string_view text) {
    native(static_cast<uint32_t>(text.size()));
    bytes(text.data(), text.size());
  }

  template <std::integral T>
  void network(T value) {
    native(swapped(value));
  }
  void null() { network(int32_t{-1}); }
  /* A value of fixed width: its length and itself. */
  template <std::integral T>
  void field(T value) {
    uint8_t* place = extend(sizeof(int32_t) + sizeof(T));
    const int32_t length = swapped(static_cast<int32_t>(sizeof(T)));
    const T network_value = swapped(value);
    std::memcpy(place, &length, sizeof(length));
    std::memcpy(place + sizeof(length), &network_value, sizeof(T));
  }
  void field(std::string_view value) {
    network(static_cast<int32_t>(value.size()));
    bytes(value.data(), value.size());
  }

  /* A value whose length is known when it ends: end_field(begin_field()). */
  size_t begin_field() {
    extend(sizeof(int32_t));
    return size_;
  }
  void end_field(size_t begin) {
    const int32_t length = swapped(static_cast<int32_t>(size_ - begin));
    std::memcpy(bytes_.data() + begin - sizeof(length), &length, sizeof(length));
  }

 private:
  void grow(size_t wanted) {
    if (wanted > TB_READER_MAX_FRAME) throw ReaderError(sqlstate::too_large, "a row is larger than 1 GB");
    bytes_.resize(std::max(wanted, std::min<size_t>(bytes_.size() * 2, TB_READER_MAX_FRAME)));
  }

  std::vector<uint8_t> bytes_ = std::vector<uint8_t>(TB_READER_FRAME_BYTES * 2);
  size_t size_ = 0;
};

}  // namespace turbine::file_reader
