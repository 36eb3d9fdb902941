/* row_store_test.cc - texts of kept rows, and the places that threads reserve. */
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "turbine/kernel.h"

extern "C" {
void rt_store_text(TbTextView* view, uint8_t* arena, uint64_t offset, const char* bytes, uint32_t length);
uint64_t rt_store_reserve(TbRowStore* store, uint64_t text_bytes, uint64_t* arena_offset);
uint64_t rt_warp_append_u64(uint64_t* counter);
}

namespace {

TEST(RowStore, TextsOfEveryLengthAndNothingBeside) {
  for (uint32_t length = 0; length < 70; length++) {
    std::string text;
    for (uint32_t i = 0; i < length; i++) text += static_cast<char>('!' + (i * 7) % 90);
    std::vector<uint8_t> arena(length + 10, 0xee);
    TbTextView view;
    // Exactly as long as it says: reads beyond show under the sanitizer.
    const std::vector<char> source(text.begin(), text.end());
    rt_store_text(&view, arena.data(), 5, source.data(), length);
    EXPECT_EQ(view.length, length);
    EXPECT_EQ(view.id, 0u);
    EXPECT_EQ(view.offset, 5u);
    uint32_t prefix = 0;
    std::memcpy(&prefix, text.data(), std::min(length, 4u));
    EXPECT_EQ(view.prefix, prefix);
    EXPECT_EQ(std::string(arena.begin() + 5, arena.begin() + 5 + length), text);
    for (size_t i = 0; i < 5; i++) EXPECT_EQ(arena[i], 0xee);
    for (size_t i = 5 + length; i < arena.size(); i++) EXPECT_EQ(arena[i], 0xee);
  }
}

TEST(RowStore, ReservesRowsAndBytesUntilFull) {
  TbRowStore store{};
  store.capacity = 3;
  store.arena_capacity = 10;
  uint64_t offset;
  EXPECT_EQ(rt_store_reserve(&store, 4, &offset), 0u);
  EXPECT_EQ(offset, 0u);
  EXPECT_EQ(rt_store_reserve(&store, 6, &offset), 1u);
  EXPECT_EQ(offset, 4u);
  EXPECT_EQ(store.full, 0u);
  EXPECT_EQ(rt_store_reserve(&store, 1, &offset), ~uint64_t{0});
  EXPECT_EQ(store.full, 1u);
  store.full = 0;
  EXPECT_EQ(rt_store_reserve(&store, 0, &offset), ~uint64_t{0});  // the row was taken all the same
  EXPECT_EQ(store.full, 1u);
  EXPECT_EQ(store.nrows, 4u);
}

TEST(RowStore, AppendsCountBeyondFourBillion) {
  uint64_t counter = 0xffffffffull;
  EXPECT_EQ(rt_warp_append_u64(&counter), 0xffffffffull);
  EXPECT_EQ(rt_warp_append_u64(&counter), 0x100000000ull);
}

}  // namespace
