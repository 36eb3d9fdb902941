/*
 * copy_writer.h - writes rows in PostgreSQL's COPY BINARY format.
 *
 * A row is begin_row(fields) and then one call a field. Bytes go to a file
 * descriptor in large blocks. Not thread-safe.
 */
#pragma once

#include <unistd.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace turbine::datagen {

class CopyWriter {
 public:
  explicit CopyWriter(int fd) : fd_(fd), buffer_(kBlock) {
    static constexpr char kHeader[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0";
    put(kHeader, 19);
  }

  void begin_row(int16_t fields) {
    if (used_ > kBlock - kMaxRow) flush();
    put_number(fields);
  }
  void null() { put_number(int32_t{-1}); }
  void int2(int16_t value) {
    put_number(int32_t{2});
    put_number(value);
  }
  void int4(int32_t value) {
    put_number(int32_t{4});
    put_number(value);
  }
  void int8(int64_t value) {
    put_number(int32_t{8});
    put_number(value);
  }
  void float8(double value) {
    put_number(int32_t{8});
    put_number(std::bit_cast<int64_t>(value));
  }
  /* The number unscaled / 10^scale, as numeric(precision, scale); unscaled >= 0, 0 <= scale <= 4. */
  void numeric(int64_t unscaled, int scale) {
    static constexpr int64_t kPower[] = {1, 10, 100, 1'000, 10'000};
    int64_t whole = unscaled / kPower[scale], fraction = unscaled % kPower[scale] * kPower[4 - scale];
    int16_t digits[6];  // in base 10,000; the last one holds the fraction
    int first = 5;
    digits[5] = static_cast<int16_t>(fraction);
    for (; whole > 0; whole /= 10'000) digits[--first] = static_cast<int16_t>(whole % 10'000);
    int16_t count = static_cast<int16_t>(6 - first);
    put_number(int32_t{8 + 2 * count});
    put_number(count);
    put_number(static_cast<int16_t>(count - 2));  // weight of the first digit
    put_number(int16_t{0});                       // sign: not negative
    put_number(static_cast<int16_t>(scale));
    for (int i = first; i < 6; i++) put_number(digits[i]);
  }
  void text(std::string_view value) {
    put_number(static_cast<int32_t>(value.size()));
    put(value.data(), value.size());
  }

  /* Trailer; nothing may be written after it. */
  void finish() {
    put_number(int16_t{-1});
    flush();
  }

 private:
  static constexpr size_t kBlock = 1 << 20;
  static constexpr size_t kMaxRow = 1 << 12;  // no row of ours comes near

  template <class T>
  void put_number(T value) {
    using Bits = std::make_unsigned_t<T>;
    Bits bits = static_cast<Bits>(value);
    if constexpr (sizeof(T) == 2) bits = __builtin_bswap16(bits);
    if constexpr (sizeof(T) == 4) bits = __builtin_bswap32(bits);
    if constexpr (sizeof(T) == 8) bits = __builtin_bswap64(bits);
    put(&bits, sizeof bits);
  }
  void put(const void* bytes, size_t size) {
    std::memcpy(buffer_.data() + used_, bytes, size);
    used_ += size;
  }
  void flush() {
    for (size_t done = 0; done < used_;) {
      ssize_t n = ::write(fd_, buffer_.data() + done, used_ - done);
      if (n < 0) throw std::runtime_error("cannot write the output");
      done += static_cast<size_t>(n);
    }
    used_ = 0;
  }

  int fd_;
  std::vector<char> buffer_;
  size_t used_ = 0;
};

}  // namespace turbine::datagen
