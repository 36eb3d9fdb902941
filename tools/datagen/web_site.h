/*
 * web_site.h - the sites of the web log and the texts that belong to them.
 *
 * A site is a function of the seed and its rank, a page of the seed, its site
 * and its rank: the same page always has the same address and title. Functions
 * append to the caller's string, which a writer reuses from row to row.
 */
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "random.h"
#include "web_words.h"

namespace turbine::datagen {

struct Site {
  int32_t id;           // 1 + its rank
  int32_t account;      // a customer of the analytics product, who may have several sites
  uint64_t names;       // what its host's words are drawn from
  const Language* language;
};

struct Page {
  int64_t rank;
  uint64_t names;        // what its words are drawn from
  int16_t kind;          // index of its section
  std::string_view section;
};

constexpr int64_t kSites = 4'000;
constexpr int64_t kPagesOfSite = 20'000;
constexpr int64_t kPhrases = 2'000'000;

Site make_site(uint64_t seed, int64_t rank);
Page make_page(uint64_t seed, const Site& site, int64_t rank);

void append_host(const Site& site, std::string& text);
/* Scheme, host and path: 50 to 150 bytes. */
void append_address(const Site& site, const Page& page, std::string& text);
void append_title(const Site& site, const Page& page, std::string& text);
/* One to five words of a language; few words lead to many phrases. */
void append_phrase(uint64_t seed, const Language& language, int64_t rank, std::string& text);
/* The same words as a part of an address. */
void append_escaped(std::string_view phrase, std::string& text);

void append_number(uint64_t number, std::string& text);
/* 16 hexadecimal digits. */
void append_hex(uint64_t number, std::string& text);

/* Equal texts have equal hashes, whatever the seed. */
int64_t text_hash(std::string_view text);

}  // namespace turbine::datagen
