/*
 * metadata_places.cc - see metadata_places.h.
 *
 * Owns a reader of thrift's compact protocol that knows no schema. It is called once for each base file, and
 * must never be given a spoilt one.
 */
#include "metadata_places.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <stdexcept>

namespace turbine::file_mutations {
namespace {

constexpr size_t kArrowMagic = 6, kParquetMagic = 4;

uint32_t word_at(const std::string& content, size_t offset) {
  if (offset > content.size() || content.size() - offset < sizeof(uint32_t)) throw std::runtime_error("file too short");
  uint32_t word;
  memcpy(&word, content.data() + offset, sizeof word);
  return word;
}

void add_words(size_t begin, size_t end, std::vector<MetadataPlace>& places) {
  for (; begin + 4 <= end; begin += 4) places.push_back({MetadataPlace::kWord, 4, static_cast<uint32_t>(begin)});
}

/* Messages begin at multiples of 8 with a continuation and the length of their flatbuffer. */
void add_messages(const std::string& content, size_t begin, size_t end, std::vector<MetadataPlace>& places) {
  for (size_t at = begin; at + 8 <= end; at += 8) {
    if (word_at(content, at) != 0xffffffff) continue;
    const uint32_t length = word_at(content, at + 4);
    if (length == 0 || length > end - at - 8) continue;
    add_words(at, at + 8 + length, places);
    at += (length + 7) / 8 * 8;
  }
}

std::vector<MetadataPlace> arrow_places(const std::string& content) {
  std::vector<MetadataPlace> places;
  const size_t footer_end = content.size() - kArrowMagic - 4;
  const size_t footer = footer_end - word_at(content, footer_end);
  if (footer > footer_end) throw std::runtime_error("no Arrow file");
  add_messages(content, 8, footer, places);
  add_words(footer, footer_end + 4, places);
  return places;
}

std::vector<MetadataPlace> stream_places(const std::string& content) {
  std::vector<MetadataPlace> places;
  add_messages(content, 0, content.size(), places);
  return places;
}

/* Walks one struct, and remembers its integers. */
class CompactStruct {
 public:
  CompactStruct(const std::string& content, size_t at) : content_(content), at_(at) { read_struct(0); }
  std::vector<MetadataPlace> places;
  std::set<uint64_t> offsets;  // what its integers could lead to

 private:
  enum Type : uint8_t { kTrue = 1, kFalse, kByte, kI16, kI32, kI64, kDouble, kBinary, kList, kSet, kMap, kStruct };

  uint8_t byte() {
    if (at_ >= content_.size()) throw std::runtime_error("thrift leaves the file");
    return static_cast<uint8_t>(content_[at_++]);
  }
  uint64_t varint(MetadataPlace::Kind kind) {
    const size_t start = at_;
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (shift > 63) throw std::runtime_error("a number of thrift is too long");
      const uint8_t next = byte();
      value |= uint64_t{next & 0x7fu} << shift;
      if (next < 0x80) break;
    }
    places.push_back({kind, static_cast<uint8_t>(at_ - start), static_cast<uint32_t>(start)});
    return value;
  }
  void skip(uint64_t bytes) {
    if (bytes > content_.size() - at_) throw std::runtime_error("thrift leaves the file");
    at_ += bytes;
  }
  void read_list(int depth) {
    const size_t start = at_;
    const uint8_t head = byte();
    uint64_t count = head >> 4;
    places.push_back({MetadataPlace::kListSize, 1, static_cast<uint32_t>(start)});
    if (count == 15) count = varint(MetadataPlace::kVarint);
    for (; count > 0; count--) read_value(head & 15, depth + 1, true);
  }
  void read_value(uint8_t type, int depth, bool in_list) {
    if (depth > 32) throw std::runtime_error("thrift is nested too deep");
    switch (type) {
      case kTrue:
      case kFalse:
        if (in_list) skip(1);
        break;
      case kByte: skip(1); break;
      case kI16:
      case kI32:
      case kI64: {
        const uint64_t zigzag = varint(MetadataPlace::kVarint);
        offsets.insert(zigzag >> 1);
        break;
      }
      case kDouble: skip(8); break;
      case kBinary: skip(varint(MetadataPlace::kVarint)); break;
      case kList:
      case kSet: read_list(depth); break;
      case kStruct: read_struct(depth + 1); break;
      default: throw std::runtime_error("a type that thrift has not got");
    }
  }
  void read_struct(int depth) {
    for (;;) {
      const uint8_t head = byte();
      if (head == 0) return;
      if (head >> 4 == 0) varint(MetadataPlace::kVarint);
      read_value(head & 15, depth + 1, false);
    }
  }

  const std::string& content_;
  size_t at_;
};

std::vector<MetadataPlace> parquet_places(const std::string& content) {
  const size_t footer_end = content.size() - kParquetMagic - 4;
  const size_t footer = footer_end - word_at(content, footer_end);
  if (footer > footer_end) throw std::runtime_error("no Parquet file");
  const CompactStruct metadata(content, footer);
  std::vector<MetadataPlace> places = metadata.places;
  add_words(footer_end, footer_end + 4, places);
  // Page headers, and page indexes: whatever can be read as a struct at an offset that the footer names.
  for (const uint64_t offset : metadata.offsets) {
    if (offset < kParquetMagic || offset >= footer) continue;
    try {
      const CompactStruct page(content, offset);
      places.insert(places.end(), page.places.begin(), page.places.end());
    } catch (const std::runtime_error&) {
      // The number is no offset.
    }
  }
  return places;
}

}  // namespace

std::vector<MetadataPlace> metadata_places(const std::string& content) {
  if (content.size() < 24) throw std::runtime_error("file too short");
  if (content.ends_with("PAR1")) return parquet_places(content);
  if (content.ends_with("ARROW1")) return arrow_places(content);
  if (word_at(content, 0) == 0xffffffff) return stream_places(content);
  throw std::runtime_error("neither an Arrow file nor a Parquet file");
}

}  // namespace turbine::file_mutations
