/*
 * text_comparison.cc - = <> < <= > >= of text and bpchar by bytes.
 *
 * Equality is that of every deterministic collation, the order that of the C
 * collation: the planner offers it for no other. bpchar values come without
 * their trailing blanks, so both types compare alike. Called by generated
 * code.
 */
#include "rt/text_bytes.h"

using namespace turbine::rt;

namespace {

RT_INLINE bool equal(const char* a, uint32_t a_length, const char* b, uint32_t b_length) {
  return a_length == b_length && equal_bytes(a, b, a_length);
}

}  // namespace

#define TEXT_COMPARISONS(name, separator)                                                                       \
  RT_EXPORT bool rt_##name##eq(const char* a, uint32_t a_length, const char* b, uint32_t b_length) {            \
    return equal(a, a_length, b, b_length);                                                                     \
  }                                                                                                             \
  RT_EXPORT bool rt_##name##ne(const char* a, uint32_t a_length, const char* b, uint32_t b_length) {            \
    return !equal(a, a_length, b, b_length);                                                                    \
  }                                                                                                             \
  RT_EXPORT bool rt_##name##separator##lt(const char* a, uint32_t a_length, const char* b, uint32_t b_length) { \
    return compare_bytes(a, a_length, b, b_length) < 0;                                                         \
  }                                                                                                             \
  RT_EXPORT bool rt_##name##separator##le(const char* a, uint32_t a_length, const char* b, uint32_t b_length) { \
    return compare_bytes(a, a_length, b, b_length) <= 0;                                                        \
  }                                                                                                             \
  RT_EXPORT bool rt_##name##separator##gt(const char* a, uint32_t a_length, const char* b, uint32_t b_length) { \
    return compare_bytes(a, a_length, b, b_length) > 0;                                                         \
  }                                                                                                             \
  RT_EXPORT bool rt_##name##separator##ge(const char* a, uint32_t a_length, const char* b, uint32_t b_length) { \
    return compare_bytes(a, a_length, b, b_length) >= 0;                                                        \
  }

TEXT_COMPARISONS(text, _)
TEXT_COMPARISONS(bpchar, )

/* Order of two texts by bytes: < 0, 0, > 0. For text min and max. */
RT_EXPORT int32_t rt_text_compare(const char* a, uint32_t a_length, const char* b, uint32_t b_length) {
  return compare_bytes(a, a_length, b, b_length);
}
