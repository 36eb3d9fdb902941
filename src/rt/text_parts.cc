/*
 * text_parts.cc - lengths of text, and parts of it as views into the argument.
 *
 * Characters are those of UTF-8: for other encodings the planner must not
 * offer these functions, but octet_length. Called by generated code.
 */
#include "rt/text_bytes.h"

using namespace turbine::rt;

RT_EXPORT int32_t rt_textlen(const char* text, uint32_t length) { return (int32_t)count_characters(text, length); }

RT_EXPORT int32_t rt_textoctetlen(const char*, uint32_t length) { return (int32_t)length; }

RT_EXPORT void rt_bpchar_to_text(const char* text, uint32_t length, const char** result, uint32_t* result_length) {
  *result = text;
  *result_length = length;
}

namespace {

/* Characters [start, end) counted from 1; both may lie outside the text. */
RT_INLINE void part_between(const char* text, uint32_t length, int64_t start, int64_t end, const char** result,
                            uint32_t* result_length) {
  int64_t first = start < 1 ? 1 : start;
  int64_t count = end > first ? end - first : 0;
  /* Texts are shorter than 2^30, so the clamped counts skip all of one. */
  uint32_t skipped = (uint32_t)(first - 1 > INT32_MAX ? INT32_MAX : first - 1);
  uint32_t taken = (uint32_t)(count > INT32_MAX ? INT32_MAX : count);
  uint32_t from = skip_characters(text, length, 0, skipped);
  uint32_t to = skip_characters(text, length, from, taken);
  *result = text + from;
  *result_length = to - from;
}

}  // namespace

RT_EXPORT void rt_text_substr(const char* text, uint32_t length, int32_t start, int32_t count, const char** result,
                              uint32_t* result_length, uint32_t* errors) {
  raise_if(count < 0, TB_ERR_DOMAIN, errors);
  part_between(text, length, start, (int64_t)start + count, result, result_length);
}

RT_EXPORT void rt_text_substr_no_len(const char* text, uint32_t length, int32_t start, const char** result,
                                     uint32_t* result_length) {
  part_between(text, length, start, INT64_MAX, result, result_length);
}

/* left(text, n): the first n characters; n < 0: all but the last -n. */
RT_EXPORT void rt_text_left(const char* text, uint32_t length, int32_t n, const char** result,
                            uint32_t* result_length) {
  int64_t count = n;
  if (n < 0) count += count_characters(text, length);
  part_between(text, length, 1, count + 1, result, result_length);
}

/* right(text, n): the last n characters; n < 0: all but the first -n. */
RT_EXPORT void rt_text_right(const char* text, uint32_t length, int32_t n, const char** result,
                             uint32_t* result_length) {
  int64_t skipped = -(int64_t)n;
  if (n > 0) skipped += count_characters(text, length);
  part_between(text, length, n == 0 ? INT64_MAX : skipped + 1, INT64_MAX, result, result_length);
}

namespace {

RT_INLINE void trim(const char* text, uint32_t length, bool left, bool right, const char** result,
                    uint32_t* result_length) {
  uint32_t from = 0, to = length;
  while (left && from < to && text[from] == ' ') from++;
  while (right && to > from && text[to - 1] == ' ') to--;
  *result = text + from;
  *result_length = to - from;
}

}  // namespace

/* Without a set of characters: blanks. */
RT_EXPORT void rt_btrim(const char* text, uint32_t length, const char** result, uint32_t* result_length) {
  trim(text, length, true, true, result, result_length);
}

RT_EXPORT void rt_ltrim(const char* text, uint32_t length, const char** result, uint32_t* result_length) {
  trim(text, length, true, false, result, result_length);
}

RT_EXPORT void rt_rtrim(const char* text, uint32_t length, const char** result, uint32_t* result_length) {
  trim(text, length, false, true, result, result_length);
}
