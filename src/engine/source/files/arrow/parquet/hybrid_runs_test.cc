/* hybrid_runs_test.cc - runs and packed bits of every width, whole and spoilt. */
#include "engine/source/files/arrow/parquet/hybrid_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "engine/source/files/arrow/parquet/bit_unpacking.h"
#include "engine/source/files/table_file.h"

namespace turbine {
namespace {

/* Bit by bit. */
std::vector<uint8_t> pack(const std::vector<uint32_t>& values, uint32_t width) {
  std::vector<uint8_t> bytes((values.size() * width + 7) / 8);
  for (size_t i = 0; i < values.size(); i++)
    for (uint32_t bit = 0; bit < width; bit++) {
      const size_t place = i * width + bit;
      if (values[i] >> bit & 1) bytes[place / 8] = static_cast<uint8_t>(bytes[place / 8] | 1 << place % 8);
    }
  return bytes;
}

uint32_t random_value(std::mt19937& random, uint32_t width) {
  return width == 0 ? 0 : static_cast<uint32_t>(random()) >> (32 - width);
}

std::vector<uint32_t> random_values(std::mt19937& random, size_t count, uint32_t width) {
  std::vector<uint32_t> values(count);
  std::generate(values.begin(), values.end(), [&] { return random_value(random, width); });
  return values;
}

/* In memory of its own, which ends where the bytes do: a sanitizer sees what is read beyond. */
class ExactBytes {
 public:
  explicit ExactBytes(const std::vector<uint8_t>& bytes) : size_(bytes.size()), bytes_(new uint8_t[bytes.size()]) {
    std::copy(bytes.begin(), bytes.end(), bytes_.get());
  }
  const uint8_t* begin() const { return bytes_.get(); }
  const uint8_t* end() const { return bytes_.get() + size_; }
  size_t size() const { return size_; }

 private:
  const size_t size_;
  const std::unique_ptr<uint8_t[]> bytes_;
};

TEST(BitUnpacking, EveryWidthFromEveryPlace) {
  std::mt19937 random(1);
  for (uint32_t width = 1; width <= kMostPackedBits; width++) {
    for (const size_t size : {1, 7, 8, 9, 31, 64, 200, 1000}) {
      const std::vector<uint32_t> values = random_values(random, size, width);
      const ExactBytes bytes(pack(values, width));
      for (size_t first = 0; first < size; first += 1 + random() % 13) {
        const size_t count = 1 + random() % (size - first);
        std::vector<uint32_t> numbers(count);
        unpack_bits(bytes.begin(), bytes.size(), first, static_cast<uint32_t>(count), width, numbers.data());
        ASSERT_TRUE(std::equal(numbers.begin(), numbers.end(), values.begin() + static_cast<ptrdiff_t>(first)))
            << "width " << width << ", " << count << " from " << first;
      }
    }
  }
}

TEST(BitUnpacking, Flags) {
  std::mt19937 random(2);
  const std::vector<uint32_t> values = random_values(random, 999, 1);
  const ExactBytes bytes(pack(values, 1));
  for (uint32_t first = 0; first < 999; first += 1 + random() % 17) {
    const auto count = static_cast<uint32_t>(1 + random() % (999 - first));
    std::vector<uint8_t> flags(count);
    const uint32_t ones = unpack_flags(bytes.begin(), first, count, flags.data());
    EXPECT_TRUE(std::equal(flags.begin(), flags.end(), values.begin() + first));
    EXPECT_EQ(ones, std::count(flags.begin(), flags.end(), 1));
  }
}

void add_header(std::vector<uint8_t>& bytes, uint64_t header) {
  for (; header >= 0x80; header >>= 7) bytes.push_back(static_cast<uint8_t>(header | 0x80));
  bytes.push_back(static_cast<uint8_t>(header));
}

/* Runs of both kinds, and what they mean. */
std::vector<uint8_t> random_runs(std::mt19937& random, uint32_t width, std::vector<uint32_t>& values) {
  std::vector<uint8_t> bytes;
  for (uint32_t runs = 1 + random() % 20; runs > 0; runs--) {
    if (random() % 2) {
      const uint32_t groups = random() % 40;
      const std::vector<uint32_t> some = random_values(random, groups * 8, width);
      add_header(bytes, uint64_t{groups} << 1 | 1);
      const std::vector<uint8_t> packed = pack(some, width);
      bytes.insert(bytes.end(), packed.begin(), packed.end());
      values.insert(values.end(), some.begin(), some.end());
    } else {
      const uint32_t count = random() % 300, value = random_value(random, width);
      add_header(bytes, uint64_t{count} << 1);
      for (uint32_t byte = 0; byte < (width + 7) / 8; byte++) bytes.push_back(static_cast<uint8_t>(value >> 8 * byte));
      values.insert(values.end(), count, value);
    }
  }
  return bytes;
}

TEST(HybridRuns, RandomRunsInRandomPieces) {
  std::mt19937 random(3);
  for (uint32_t round = 0; round < 2000; round++) {
    const uint32_t width = round % 33;
    std::vector<uint32_t> values;
    const ExactBytes bytes(random_runs(random, width, values));
    HybridRuns runs(bytes.begin(), bytes.end(), width);
    std::vector<uint32_t> read(values.size());
    for (size_t at = 0; at < read.size();) {
      const auto count = static_cast<uint32_t>(1 + random() % (read.size() - at));
      runs.read(count, read.data() + at);
      at += count;
    }
    ASSERT_EQ(read, values) << "width " << width;
    uint32_t more;
    if (width > 0) {
      EXPECT_THROW(runs.read(1, &more), FileError);
    }
  }
}

TEST(HybridRuns, FlagsAreTheSameValues) {
  std::mt19937 random(4);
  uint32_t taken = 0;
  for (uint32_t round = 0; round < 500; round++) {
    std::vector<uint32_t> values;
    const ExactBytes bytes(random_runs(random, 1, values));
    HybridRuns runs(bytes.begin(), bytes.end(), 1);
    std::vector<uint8_t> flags(values.size());
    uint32_t ones = 0;
    for (size_t at = 0; at < flags.size();) {
      const auto count = static_cast<uint32_t>(1 + random() % std::min<size_t>(flags.size() - at, 200));
      if (runs.take_ones(count)) {
        std::fill_n(flags.begin() + static_cast<ptrdiff_t>(at), count, 1);
        ones += count;
        taken++;
      } else {
        ones += runs.read_flags(count, flags.data() + at);
      }
      at += count;
    }
    EXPECT_TRUE(std::equal(flags.begin(), flags.end(), values.begin(), values.end()));
    EXPECT_EQ(ones, std::count(values.begin(), values.end(), 1u));
  }
  EXPECT_GT(taken, 100u);
}

TEST(HybridRuns, WhatIsSpoiltIsAnError) {
  const auto read = [](const std::vector<uint8_t>& content, uint32_t width, uint32_t count) {
    const ExactBytes bytes(content);
    HybridRuns runs(bytes.begin(), bytes.end(), width);
    std::vector<uint32_t> values(count);
    runs.read(count, values.data());
    return values;
  };
  EXPECT_THROW(read({}, 1, 1), FileError);
  EXPECT_THROW(read({0x80}, 1, 1), FileError) << "a header that goes on";
  EXPECT_THROW(read({0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, 1, 1), FileError) << "a header beyond 32 bits";
  EXPECT_THROW(read({0xff, 0xff, 0xff, 0xff, 0x7f, 0x01}, 1, 1), FileError);
  EXPECT_THROW(read({0x10}, 9, 1), FileError) << "a run without its value";
  EXPECT_THROW(read({0x10, 0x00}, 9, 1), FileError);
  EXPECT_THROW(read({0x10, 0x02}, 1, 1), FileError) << "a value of more bits";
  EXPECT_EQ(read({0x10, 0x01}, 1, 8), std::vector<uint32_t>(8, 1));
  EXPECT_THROW(read({0x10, 0x01}, 1, 9), FileError) << "more than the run has";
  // Eight values of 4 bits are said to follow, and two do.
  EXPECT_EQ(read({0x03, 0x21}, 4, 2), (std::vector<uint32_t>{1, 2}));
  EXPECT_THROW(read({0x03, 0x21}, 4, 3), FileError);
  EXPECT_EQ(read({}, 0, 3), std::vector<uint32_t>(3, 0)) << "nothing has to be said of values without bits";
}

/* Any bytes are values or an error. */
TEST(HybridRuns, AnyBytes) {
  std::mt19937 random(5);
  for (uint32_t round = 0; round < 20000; round++) {
    std::vector<uint8_t> content(random() % 64);
    std::generate(content.begin(), content.end(), [&] { return static_cast<uint8_t>(random()); });
    const ExactBytes bytes(content);
    HybridRuns runs(bytes.begin(), bytes.end(), round % 33);
    std::vector<uint32_t> values(1 + random() % 500);
    std::vector<uint8_t> flags(values.size());
    try {
      runs.read(static_cast<uint32_t>(values.size()), values.data());
      for (const uint32_t value : values) ASSERT_TRUE(round % 33 == 32 || value >> round % 33 == 0);
    } catch (const FileError&) {
    }
    HybridRuns levels(bytes.begin(), bytes.end(), 1);
    try {
      const uint32_t ones = levels.read_flags(static_cast<uint32_t>(flags.size()), flags.data());
      ASSERT_EQ(ones, std::count(flags.begin(), flags.end(), 1));
    } catch (const FileError&) {
    }
  }
}

}  // namespace
}  // namespace turbine
