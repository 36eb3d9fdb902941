/*
 * web_site.cc - addresses, titles and phrases, drawn from the words of web_words.h.
 *
 * Called by web_log.cc for each row. Everything follows from the seed and from
 * ranks, so it must never keep a state between calls.
 */
#include "web_site.h"

#include <charconv>
#include <cstring>

namespace turbine::datagen {
namespace {

constexpr uint64_t kSiteTable = 6, kPageTable = 7, kPhraseTable = 8, kWordTable = 9;
constexpr std::string_view kSections[] = {"article", "catalog", "forum",  "help",    "video", "news",
                                          "search",  "profile", "recipe", "tickets", "jobs",  "gallery"};
constexpr std::string_view kEndings[] = {"/", ".html", ".html", "", ".php"};

std::string_view word(std::span<const std::string_view> words, RowRandom& random) {
  return words[static_cast<size_t>(random.between(0, static_cast<int64_t>(words.size()) - 1))];
}

void append_slug(RowRandom& random, std::string& text) {
  for (int64_t left = random.between(4, 8); left > 0; left--) {
    text += word(address_words(), random);
    text += '-';
  }
}

/* Articles and news lie in folders of a year and a month. */
void append_folder(const Page& page, RowRandom& random, std::string& text) {
  text += '/';
  text += page.section;
  text += '/';
  if (page.kind != 0 && page.kind != 5) return;
  append_number(static_cast<uint64_t>(random.between(2015, 2025)), text);
  text += '/';
  int64_t month = random.between(1, 12);
  if (month < 10) text += '0';
  append_number(static_cast<uint64_t>(month), text);
  text += '/';
}

}  // namespace

void append_number(uint64_t number, std::string& text) {
  char digits[20];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void append_hex(uint64_t number, std::string& text) {
  for (int i = 0; i < 16; i++, number >>= 4) text += "0123456789abcdef"[number & 15];
}

Site make_site(uint64_t seed, int64_t rank) {
  RowRandom random(seed, kSiteTable, static_cast<uint64_t>(rank));
  Site site;
  site.id = static_cast<int32_t>(rank + 1);
  site.account = static_cast<int32_t>(random.between(1, kSites / 3));
  site.names = random.next();
  int64_t draw = random.between(0, 99);  // half of the sites are English
  size_t language = draw < 50 ? 0 : 1 + static_cast<size_t>(draw - 50) * (languages().size() - 1) / 50;
  site.language = &languages()[language];
  return site;
}

Page make_page(uint64_t seed, const Site& site, int64_t rank) {
  RowRandom random(seed, kPageTable, static_cast<uint64_t>(site.id) << 32 | static_cast<uint64_t>(rank));
  Page page;
  page.rank = rank;
  page.names = random.next();
  page.kind = static_cast<int16_t>(random.between(0, std::size(kSections) - 1));
  page.section = kSections[page.kind];
  return page;
}

void append_host(const Site& site, std::string& text) {
  RowRandom random(0, kWordTable, site.names);
  text += random.between(0, 2) ? "www." : "";
  text += word(address_words(), random);
  text += word(address_words(), random);
  text += ".example";
}

void append_address(const Site& site, const Page& page, std::string& text) {
  RowRandom random(1, kWordTable, page.names);
  text += "https://";
  append_host(site, text);
  append_folder(page, random, text);
  append_slug(random, text);
  append_number(static_cast<uint64_t>(page.rank), text);
  text += kEndings[random.between(0, std::size(kEndings) - 1)];
}

void append_title(const Site& site, const Page& page, std::string& text) {
  RowRandom random(2, kWordTable, page.names);
  for (int64_t left = random.between(4, 10); left > 0; left--) {
    text += word(site.language->words, random);
    text += ' ';
  }
  text += "– ";
  RowRandom names(3, kWordTable, site.names);
  text += word(site.language->words, names);
  text += ' ';
  text += word(address_words(), names);
}

void append_phrase(uint64_t seed, const Language& language, int64_t rank, std::string& text) {
  RowRandom random(seed, kPhraseTable, static_cast<uint64_t>(rank));
  for (int64_t left = random.between(1, 5); left > 0; left--) {
    text += word(language.words, random);
    if (left > 1) text += ' ';
  }
}

void append_escaped(std::string_view phrase, std::string& text) {
  for (char c : phrase) {
    if (c == ' ') {
      text += '+';
    } else if (static_cast<unsigned char>(c) < 0x80) {
      text += c;
    } else {
      text += '%';
      text += "0123456789ABCDEF"[static_cast<unsigned char>(c) >> 4];
      text += "0123456789ABCDEF"[c & 15];
    }
  }
}

int64_t text_hash(std::string_view text) {
  uint64_t number = text.size();
  for (size_t at = 0; at < text.size(); at += 8) {
    uint64_t piece = 0;
    std::memcpy(&piece, text.data() + at, std::min<size_t>(8, text.size() - at));
    number = RowRandom(number, 0, piece).next();
  }
  return static_cast<int64_t>(number);
}

}  // namespace turbine::datagen
