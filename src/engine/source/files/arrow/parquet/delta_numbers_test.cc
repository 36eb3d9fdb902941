/* delta_numbers_test.cc - distances of every width, whole and spoilt; pages that libparquet has written are in
 * row_group_reader_test.cc. */
#include "engine/source/files/arrow/parquet/delta_numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <random>
#include <vector>

#include "engine/source/files/table_file.h"

namespace turbine {
namespace {

void add_number(std::vector<uint8_t>& bytes, uint64_t number) {
  for (; number >= 0x80; number >>= 7) bytes.push_back(static_cast<uint8_t>(number | 0x80));
  bytes.push_back(static_cast<uint8_t>(number));
}

void add_signed(std::vector<uint8_t>& bytes, uint64_t value) {
  const bool negative = value >> 63;
  add_number(bytes, value << 1 ^ (negative ? ~uint64_t{0} : 0));
}

/* As the format says, bit by bit. */
std::vector<uint8_t> encode(const std::vector<int64_t>& values, uint32_t miniblock_values, uint32_t miniblocks) {
  std::vector<uint8_t> bytes;
  add_number(bytes, miniblock_values * miniblocks);
  add_number(bytes, miniblocks);
  add_number(bytes, values.size());
  add_signed(bytes, values.empty() ? 0 : static_cast<uint64_t>(values[0]));
  for (size_t begin = 1; begin < values.size(); begin += size_t{miniblock_values} * miniblocks) {
    std::vector<uint64_t> distances;
    for (size_t i = begin; i < std::min(values.size(), begin + size_t{miniblock_values} * miniblocks); i++)
      distances.push_back(static_cast<uint64_t>(values[i]) - static_cast<uint64_t>(values[i - 1]));
    const uint64_t least = *std::min_element(distances.begin(), distances.end(), [](uint64_t a, uint64_t b) {
      return static_cast<int64_t>(a) < static_cast<int64_t>(b);
    });
    add_signed(bytes, least);
    const size_t widths = bytes.size();
    bytes.resize(widths + miniblocks);
    for (size_t mini = 0; mini * miniblock_values < distances.size(); mini++) {
      uint64_t all = 0;
      const size_t first = mini * miniblock_values;
      for (size_t i = first; i < std::min(distances.size(), first + miniblock_values); i++) all |= distances[i] - least;
      const auto width = static_cast<uint32_t>(std::bit_width(all));
      bytes[widths + mini] = static_cast<uint8_t>(width);
      const size_t packed = bytes.size();
      bytes.resize(packed + miniblock_values / 8 * width);
      for (size_t i = first; i < std::min(distances.size(), first + miniblock_values); i++)
        for (uint32_t bit = 0; bit < width; bit++) {
          const size_t place = (i - first) * width + bit;
          if ((distances[i] - least) >> bit & 1)
            bytes[packed + place / 8] = static_cast<uint8_t>(bytes[packed + place / 8] | 1 << place % 8);
        }
    }
  }
  return bytes;
}

/* In memory of its own, which ends where the bytes do. */
struct Bytes {
  explicit Bytes(const std::vector<uint8_t>& content) : size(content.size()), memory(new uint8_t[size]) {
    std::copy(content.begin(), content.end(), memory.get());
  }
  DeltaNumbers numbers() const { return {memory.get(), memory.get() + size}; }
  const size_t size;
  const std::unique_ptr<uint8_t[]> memory;
};

TEST(DeltaNumbers, EveryWidth) {
  std::mt19937_64 random(1);
  for (uint32_t width = 0; width <= 64; width++) {
    for (const size_t count : {0, 1, 2, 33, 128, 129, 1000}) {
      std::vector<int64_t> values(count);
      int64_t value = static_cast<int64_t>(random());
      for (int64_t& one : values) {
        const uint64_t step = width == 0 ? 3 : random() >> (64 - width);
        one = value = static_cast<int64_t>(static_cast<uint64_t>(value) + step);
      }
      const Bytes bytes(encode(values, random() % 2 ? 32 : 64, 4));
      DeltaNumbers numbers = bytes.numbers();
      std::vector<int64_t> read(count);
      for (size_t at = 0; at < count;) {
        const auto some = static_cast<uint32_t>(1 + random() % (count - at));
        numbers.read(some, read.data() + at);
        at += some;
      }
      ASSERT_EQ(read, values) << "width " << width;
      EXPECT_THROW(numbers.read(1, read.data()), FileError);
    }
  }
}

TEST(DeltaNumbers, NarrowOnesWrapAround) {
  const std::vector<int64_t> values{INT32_MAX, INT32_MIN, 5, -7};
  const Bytes bytes(encode(values, 32, 1));
  std::vector<int32_t> read(4);
  bytes.numbers().read(4, read.data());
  EXPECT_TRUE(std::equal(read.begin(), read.end(), values.begin()));
}

TEST(DeltaNumbers, WhatIsSpoiltIsAnError) {
  const auto read = [](const std::vector<uint8_t>& content, uint32_t count) {
    const Bytes bytes(content);
    std::vector<int64_t> values(count);
    bytes.numbers().read(count, values.data());
  };
  EXPECT_THROW(read({}, 0), FileError);
  EXPECT_THROW(read({0x80, 0x01, 0x00, 0x01, 0x00}, 1), FileError) << "no miniblocks";
  EXPECT_THROW(read({0x81, 0x01, 0x04, 0x01, 0x00}, 1), FileError) << "a block that is no whole number of them";
  EXPECT_THROW(read({0x80, 0x01, 0x04, 0x02, 0x00}, 2), FileError) << "no block follows";
  EXPECT_THROW(read({0x80, 0x01, 0x04, 0x02, 0x00, 0x00, 65, 0, 0, 0}, 2), FileError) << "65 bits";
  EXPECT_THROW(read({0x80, 0x01, 0x04, 0x02, 0x00, 0x00, 8, 0, 0, 0}, 2), FileError) << "no distances follow";
  EXPECT_NO_THROW(read({0x80, 0x01, 0x04, 0x02, 0x00, 0x00, 8, 0, 0, 0, 7}, 2)) << "what pads them is cut off";
  EXPECT_THROW(read({0x80, 0x01, 0x04, 0x03, 0x00, 0x00, 8, 0, 0, 0, 7}, 3), FileError);
}

/* Any bytes are values or an error. */
TEST(DeltaNumbers, AnyBytes) {
  std::mt19937_64 random(2);
  for (uint32_t round = 0; round < 20000; round++) {
    std::vector<int64_t> values(1 + random() % 400);
    std::generate(values.begin(), values.end(), [&] { return static_cast<int64_t>(random() >> random() % 64); });
    std::vector<uint8_t> content = encode(values, 32, 4);
    for (uint64_t i = random() % 4; i > 0; i--)
      content[random() % std::min<size_t>(content.size(), 40)] = static_cast<uint8_t>(random());
    if (random() % 4 == 0) content.resize(random() % content.size());
    const Bytes bytes(content);
    try {
      bytes.numbers().read(static_cast<uint32_t>(values.size()), values.data());
    } catch (const FileError&) {
    }
  }
}

}  // namespace
}  // namespace turbine
