/*
 * heap_page_writer.h - tests write heap pages with this: PostgreSQL's physical
 * format, from its documentation, sharing nothing with the decoder. Header
 * only; not part of the product.
 */
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "turbine/program.h"

namespace turbine::testing {

enum class VarlenaForm { kAuto, kLong, kCompressed, kExternal };

/* One attribute's bytes: what follows a varlena header, or the fixed bytes. */
struct Datum {
  std::string bytes;
  VarlenaForm form = VarlenaForm::kAuto;
};

template <class T>
Datum fixed(T value) {
  return {std::string(reinterpret_cast<const char*>(&value), sizeof(value))};
}

/* The payload of numeric(decimal string), "NaN" and "Infinity" included. */
inline std::string numeric_payload(const std::string& decimal, bool force_long = false) {
  auto word = [](uint32_t w) {
    const uint16_t v = static_cast<uint16_t>(w);
    return std::string(reinterpret_cast<const char*>(&v), 2);
  };
  if (decimal == "NaN") return word(0xc000);
  if (decimal == "Infinity") return word(0xd000);
  if (decimal == "-Infinity") return word(0xf000);
  const bool negative = decimal[0] == '-';
  std::string digits = decimal.substr(negative ? 1 : 0);
  const size_t point = digits.find('.');
  std::string whole = digits.substr(0, point);
  std::string part = point == std::string::npos ? "" : digits.substr(point + 1);
  const uint32_t display_scale = static_cast<uint32_t>(part.size());
  while (whole.size() % 4) whole = "0" + whole;
  while (part.size() % 4) part += "0";
  std::vector<uint16_t> groups;
  for (size_t i = 0; i < (whole + part).size(); i += 4)
    groups.push_back(static_cast<uint16_t>(std::stoi((whole + part).substr(i, 4))));
  int weight = static_cast<int>(whole.size() / 4) - 1;
  while (!groups.empty() && groups.front() == 0) {
    groups.erase(groups.begin());
    weight--;
  }
  while (!groups.empty() && groups.back() == 0) groups.pop_back();
  if (groups.empty()) weight = 0;
  std::string out;
  const bool fits = weight >= -64 && weight <= 63 && display_scale <= 63;
  if (fits && !force_long)
    out = word(0x8000 | (negative && !groups.empty() ? 0x2000 : 0) | display_scale << 7 |
               (static_cast<uint32_t>(weight) & 0x7f));
  else
    out = word((negative && !groups.empty() ? 0x4000u : 0u) | display_scale) + word(static_cast<uint32_t>(weight));
  for (uint16_t group : groups) out += word(group);
  return out;
}

/* The tuple's data area and bitmap. `values` may be shorter than the table. */
class TupleWriter {
 public:
  TupleWriter(const std::vector<TbAttribute>& attributes, const std::vector<std::optional<Datum>>& values) {
    bool nulls = false;
    for (const auto& value : values) nulls |= !value;
    std::string bitmap((values.size() + 7) / 8, '\0');
    for (size_t i = 0; i < values.size(); i++) {
      if (!values[i]) continue;
      bitmap[i / 8] = static_cast<char>(bitmap[i / 8] | 1 << (i % 8));
      append(attributes[i], *values[i]);
    }
    std::string header(23, '\0');
    // Transaction ids, command and ctid are not the decoder's: garbage, on purpose.
    for (size_t i = 0; i < 18; i++) header[i] = static_cast<char>(0x5a + i);
    put16(header, 18, static_cast<uint16_t>(values.size() | 0x6000));  // key updated, hot
    put16(header, 20, static_cast<uint16_t>((nulls ? 1 : 0) | 0x0902));
    if (nulls) header += bitmap;
    while (header.size() % 8) header += '\0';
    header[22] = static_cast<char>(header.size());
    bytes_ = header + data_;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  static void put16(std::string& to, size_t at, uint16_t value) { std::memcpy(&to[at], &value, 2); }
  void align(size_t to) {
    while (data_.size() % to) data_ += '\0';
  }
  static std::string word32(uint32_t value) { return std::string(reinterpret_cast<const char*>(&value), 4); }
  void append(const TbAttribute& attribute, const Datum& datum) {
    if (attribute.length > 0) {
      align(attribute.align);
      data_ += datum.bytes;
    } else if (attribute.length == -2) {
      align(attribute.align);
      data_ += datum.bytes + '\0';
    } else {
      append_varlena(attribute, datum);
    }
  }
  void append_varlena(const TbAttribute& attribute, const Datum& datum) {
    const uint32_t size = static_cast<uint32_t>(datum.bytes.size());
    if (datum.form == VarlenaForm::kExternal) {
      data_ += std::string("\x01\x12", 2) + std::string(16, '\x77');
    } else if (datum.form == VarlenaForm::kAuto && size + 1 <= 127) {
      data_ += static_cast<char>((size + 1) << 1 | 1);
      data_ += datum.bytes;
    } else {
      align(attribute.align);
      data_ += word32((size + 4) << 2 | (datum.form == VarlenaForm::kCompressed ? 2 : 0));
      data_ += datum.bytes;
    }
  }
  std::string data_;
  std::string bytes_;
};

/* One 8 kB page; tuples fill it from its end. */
class PageWriter {
 public:
  PageWriter() : page_(TB_PAGE_SIZE, '\0') { finish(); }

  /* False if there is no room. */
  bool add(const std::string& tuple) {
    const uint32_t length = static_cast<uint32_t>(tuple.size());
    const uint32_t offset = (upper_ - length) & ~7u;
    if (upper_ < length || offset < lower_ + 4) return false;
    std::memcpy(&page_[offset], tuple.data(), length);
    upper_ = offset;
    add_line(offset | 1u << 15 | length << 17);
    return true;
  }
  /* A line pointer without storage: flags 0 unused, 2 redirect, 3 dead. */
  bool add_empty_line(uint32_t flags) {
    if (lower_ + 4 > upper_) return false;
    add_line((flags == 2 ? 1u : 0u) | flags << 15);
    return true;
  }
  void set_line(uint32_t index, uint32_t word) { std::memcpy(&page_[24 + 4 * index], &word, 4); }
  uint32_t line(uint32_t index) const {
    uint32_t word;
    std::memcpy(&word, &page_[24 + 4 * index], 4);
    return word;
  }
  uint32_t lines() const { return (lower_ - 24) / 4; }
  std::string& bytes() { return page_; }

 private:
  void add_line(uint32_t word) {
    std::memcpy(&page_[lower_], &word, 4);
    lower_ += 4;
    finish();
  }
  void finish() {
    const uint16_t words[] = {static_cast<uint16_t>(lower_), static_cast<uint16_t>(upper_), TB_PAGE_SIZE,
                              TB_PAGE_SIZE | 4};
    std::memcpy(&page_[12], words, sizeof(words));
  }
  std::string page_;
  uint32_t lower_ = 24;
  uint32_t upper_ = TB_PAGE_SIZE;
};

}  // namespace turbine::testing
