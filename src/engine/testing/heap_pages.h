/*
 * heap_pages.h - heap pages of a table (v integer NOT NULL), for tests.
 */
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "turbine/types.h"

namespace turbine::testing {

constexpr uint32_t kTupleHeader = 24;
constexpr uint32_t kTupleSize = 32;

/* A page with one tuple a value. */
inline std::vector<uint8_t> heap_page(const std::vector<int32_t>& values) {
  std::vector<uint8_t> page(TB_PAGE_SIZE, 0);
  auto put16 = [&page](uint32_t at, uint16_t value) { memcpy(page.data() + at, &value, sizeof value); };
  uint32_t upper = TB_PAGE_SIZE;
  for (size_t i = 0; i < values.size(); i++) {
    upper -= kTupleSize;
    const uint32_t line_pointer = upper | 1u << 15 | (kTupleHeader + 4) << 17;  // LP_NORMAL
    memcpy(page.data() + 24 + i * 4, &line_pointer, 4);
    page[upper + 18] = 1;  // one attribute
    page[upper + 22] = kTupleHeader;
    memcpy(page.data() + upper + kTupleHeader, &values[i], 4);
  }
  put16(12, static_cast<uint16_t>(24 + values.size() * 4));  // pd_lower
  put16(14, static_cast<uint16_t>(upper));                   // pd_upper
  put16(16, TB_PAGE_SIZE);                                   // pd_special
  put16(18, TB_PAGE_SIZE | 4);                               // size and version
  return page;
}

/* `per_page` values a page. */
inline std::vector<uint8_t> heap_pages(const std::vector<int32_t>& values, size_t per_page) {
  std::vector<uint8_t> pages;
  for (size_t i = 0; i < values.size(); i += per_page) {
    const size_t end = i + per_page < values.size() ? i + per_page : values.size();
    const std::vector<uint8_t> page = heap_page(
        {values.begin() + static_cast<long>(i), values.begin() + static_cast<long>(end)});
    pages.insert(pages.end(), page.begin(), page.end());
  }
  return pages;
}

}  // namespace turbine::testing
