/*
 * web_words.h - the vocabulary of the web log: words of languages for titles
 * and search phrases, and plain words for addresses.
 *
 * All words are our own choice. Each language is a code and its words, most of
 * them with letters beyond ASCII.
 */
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace turbine::datagen {

struct Language {
  std::string_view code;
  std::span<const std::string_view> words;
};

/* Index 0 is English. */
std::span<const Language> languages();

/* Lower-case ASCII words for hosts and paths. */
std::span<const std::string_view> address_words();

}  // namespace turbine::datagen
