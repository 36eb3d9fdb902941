/*
 * spoil.cc - see spoil.h.
 *
 * Owns the ways of spoiling: numbers of the metadata, bytes and words anywhere, pieces that are cut out, doubled or
 * copied, an end that is cut off. Two of three changes are in the metadata, which leads the readers' steps.
 */
#include "spoil.h"

#include <algorithm>
#include <cstring>

#include "random_numbers.h"

namespace turbine::file_mutations {
namespace {

class Spoiler {
 public:
  Spoiler(std::string content, const std::vector<MetadataPlace>& places, uint64_t seed)
      : content_(std::move(content)), places_(places), random_(seed) {}

  std::string run() {
    const uint64_t changes = random_.pick({1, 1, 1, 1, 2, 3, 8});
    for (uint64_t i = 0; i < changes; i++) {
      if (!places_.empty() && random_.below(3) > 0)
        change_metadata();
      else
        change_anything();
    }
    return std::move(content_);
  }

 private:
  /* Numbers at which programs tend to fail, and neighbours of the one that is there. */
  uint64_t number_near(uint64_t old) {
    switch (random_.below(8)) {
      case 0: return old + 1;
      case 1: return old - 1;
      case 2: return old * 2;
      case 3: return uint64_t{0} - old;
      case 4: return content_.size() + random_.below(3) - 1;
      case 5: return random_.pick({0, 1, 2, 7, 8, 127, 128, 255, 256, 4096, 65535, 65536});
      case 6:
        return random_.pick({INT32_MAX, uint64_t{1} << 31, UINT32_MAX, INT64_MAX, uint64_t{1} << 63, UINT64_MAX,
                             uint64_t{1} << 40, 0x3fffffff, 0x7ffffff8});
      default: return random_.next() >> random_.below(64);
    }
  }

  void write(size_t at, uint64_t value, size_t size) {
    if (at >= content_.size()) return;
    memcpy(content_.data() + at, &value, std::min(size, content_.size() - at));
  }

  void change_metadata() {
    const MetadataPlace& place = places_[random_.below(places_.size())];
    if (place.offset + place.size > content_.size()) return;
    switch (place.kind) {
      case MetadataPlace::kWord: change_word(place.offset); break;
      case MetadataPlace::kVarint: change_varint(place); break;
      case MetadataPlace::kListSize:
        // The count or the type of the elements.
        content_[place.offset] = static_cast<char>(random_.below(256));
        break;
    }
  }

  /* A flatbuffer has 16-bit places and 64-bit numbers too, at multiples of their widths. */
  void change_word(size_t offset) {
    const uint64_t size = random_.pick({1, 2, 2, 4, 4, 4, 8, 8});
    if (size < 4) offset += random_.below(4 / size) * size;
    if (size == 8) offset -= offset % 8;
    uint64_t old = 0;
    if (offset < content_.size()) memcpy(&old, content_.data() + offset, std::min(size, content_.size() - offset));
    write(offset, number_near(old), size);
  }

  void change_varint(const MetadataPlace& place) {
    uint64_t old = 0;
    for (unsigned i = 0; i < place.size; i++)
      old |= uint64_t{static_cast<uint8_t>(content_[place.offset + i]) & 0x7fu} << (7 * i % 64);
    const uint64_t value = number_near(old);
    // One in four numbers is signed; lengths are not.
    std::string bytes = varint(random_.one_in(4) ? value : value << 1 ^ (uint64_t{0} - (value >> 63)));
    if (random_.one_in(3)) {
      // As long as it needs, so that what follows moves, and the lengths before it are wrong unless mended.
      content_.replace(place.offset, place.size, bytes);
      mend_footer_length(static_cast<int64_t>(bytes.size()) - place.size);
      return;
    }
    bytes.resize(place.size, '\0');
    for (unsigned i = 0; i < place.size; i++) {
      bytes[i] = static_cast<char>(i + 1 < place.size ? bytes[i] | 0x80 : bytes[i] & 0x7f);
      content_[place.offset + i] = bytes[i];
    }
  }

  static std::string varint(uint64_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
    bytes.push_back(static_cast<char>(value));
    return bytes;
  }

  /* Mostly: a reader should see the number, not only a footer that does not begin where it should. */
  void mend_footer_length(int64_t growth) {
    if (content_.size() < 8 || random_.one_in(8)) return;
    uint32_t length;
    memcpy(&length, content_.data() + content_.size() - 8, sizeof length);
    write(content_.size() - 8, static_cast<uint32_t>(length + growth), sizeof length);
  }

  void change_anything() {
    if (content_.empty()) return;
    size_t at = random_.below(content_.size());
    switch (random_.below(8)) {
      case 0: content_[at] = static_cast<char>(content_[at] ^ (1 << random_.below(8))); break;
      case 1: content_[at] = static_cast<char>(random_.pick({0, 1, 127, 128, 255, random_.below(256)})); break;
      case 2: change_word(at - at % 4); break;
      case 3:
        at -= at % 8;
        write(at, random_.next() >> random_.below(64), 8);
        break;
      case 4: content_.erase(at, random_.pick({1, 8, 64})); break;
      case 5: content_.insert(at, content_.substr(at, random_.pick({1, 8, 64}))); break;
      case 6: {
        const std::string piece = content_.substr(random_.below(content_.size()), random_.pick({4, 16, 64}));
        content_.replace(at, std::min(piece.size(), content_.size() - at), piece);
        break;
      }
      default:
        if (random_.one_in(4)) content_.resize(at);
        break;
    }
  }

  std::string content_;
  const std::vector<MetadataPlace>& places_;
  RandomNumbers random_;
};

}  // namespace

std::string spoil(const std::string& content, const std::vector<MetadataPlace>& places, uint64_t seed) {
  return Spoiler(content, places, seed).run();
}

}  // namespace turbine::file_mutations
