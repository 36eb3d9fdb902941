/*
 * text_like.cc - LIKE and NOT LIKE, one body a form of pattern.
 *
 * The planner classifies constant patterns: 'abc' exact, 'abc%' prefix,
 * '%abc' suffix, '%abc%' contains, and then passes `abc` with its escapes
 * removed; every other pattern is general and comes as written. The special
 * forms work on bytes: right in UTF-8 and in single-byte encodings. The
 * general form's `_` is a character of UTF-8. Called by generated code.
 */
#include "rt/text_bytes.h"

using namespace turbine::rt;

namespace {

RT_INLINE bool contains(const char* text, uint32_t length, const char* part, uint32_t part_length) {
  return part_length == 0 || find_bytes(text, length, 0, part, part_length) != kNotFound;
}

RT_INLINE bool has_prefix(const char* text, uint32_t length, const char* part, uint32_t part_length) {
  return length >= part_length && equal_bytes(text, part, part_length);
}

RT_INLINE bool has_suffix(const char* text, uint32_t length, const char* part, uint32_t part_length) {
  return length >= part_length && equal_bytes(text + length - part_length, part, part_length);
}

RT_INLINE bool is_exactly(const char* text, uint32_t length, const char* part, uint32_t part_length) {
  return length == part_length && equal_bytes(text, part, part_length);
}

/* An escape with nothing to escape: PostgreSQL raises once matching comes to
 * it, so the verdict is PostgreSQL's. */
RT_INLINE bool ends_in_escape(const char* pattern, uint32_t length) {
  uint32_t escapes = 0;
  while (escapes < length && pattern[length - 1 - escapes] == '\\') escapes++;
  return escapes % 2 != 0;
}

/* Only the last % can need another try: what earlier ones matched can stay. */
RT_INLINE bool matches(const char* text, uint32_t length, const char* pattern, uint32_t pattern_length) {
  uint32_t at = 0, pattern_at = 0;
  uint32_t retry_at = 0, retry_pattern = kNotFound;
  while (at < length) {
    if (pattern_at < pattern_length) {
      char wanted = pattern[pattern_at];
      if (wanted == '%') {
        retry_pattern = ++pattern_at;
        retry_at = at;
        continue;
      }
      if (wanted == '_') {
        at = skip_characters(text, length, at, 1);
        pattern_at++;
        continue;
      }
      uint32_t size = 1;
      if (wanted == '\\' && pattern_at + 1 < pattern_length) {
        wanted = pattern[pattern_at + 1];
        size = 2;
      }
      if (text[at] == wanted) {
        at++;
        pattern_at += size;
        continue;
      }
    }
    if (retry_pattern == kNotFound) return false;
    retry_at = skip_characters(text, length, retry_at, 1);
    at = retry_at;
    pattern_at = retry_pattern;
  }
  while (pattern_at < pattern_length && pattern[pattern_at] == '%') pattern_at++;
  return pattern_at == pattern_length;
}

}  // namespace

#define LIKE(form, matcher)                                                                                     \
  RT_EXPORT bool rt_like_##form(const char* text, uint32_t length, const char* part, uint32_t part_length) {    \
    return matcher(text, length, part, part_length);                                                            \
  }                                                                                                             \
  RT_EXPORT bool rt_notlike_##form(const char* text, uint32_t length, const char* part, uint32_t part_length) { \
    return !matcher(text, length, part, part_length);                                                           \
  }

LIKE(exact, is_exactly)
LIKE(prefix, has_prefix)
LIKE(suffix, has_suffix)
LIKE(contains, contains)

RT_EXPORT bool rt_like_general(const char* text, uint32_t length, const char* pattern, uint32_t pattern_length,
                               uint32_t* errors) {
  raise_if(ends_in_escape(pattern, pattern_length), TB_ERR_DOMAIN, errors);
  return matches(text, length, pattern, pattern_length);
}

RT_EXPORT bool rt_notlike_general(const char* text, uint32_t length, const char* pattern, uint32_t pattern_length,
                                  uint32_t* errors) {
  raise_if(ends_in_escape(pattern, pattern_length), TB_ERR_DOMAIN, errors);
  return !matches(text, length, pattern, pattern_length);
}

RT_EXPORT bool rt_starts_with(const char* text, uint32_t length, const char* part, uint32_t part_length) {
  return has_prefix(text, length, part, part_length);
}

/* Position in characters of UTF-8, from 1; 0 if absent. */
RT_EXPORT int32_t rt_textpos(const char* text, uint32_t length, const char* part, uint32_t part_length) {
  if (part_length == 0) return 1;
  uint32_t at = find_bytes(text, length, 0, part, part_length);
  return at == kNotFound ? 0 : (int32_t)count_characters(text, at) + 1;
}
