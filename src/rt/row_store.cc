/*
 * row_store.cc - texts of kept rows (TbRowStore). Called by generated code, which has made
 * sure of the room (host), or reserves it with what is here (GPU).
 *
 * It must write nothing that has no place yet.
 */
#include "rt/memory_words.h"
#include "rt/rt.h"

using namespace turbine::rt;

namespace {

RT_INLINE void store_u64(char* to, uint64_t word) { __builtin_memcpy(to, &word, sizeof word); }

/* Writes exactly `length` bytes; words overlap at the end. */
RT_INLINE void copy_bytes(char* to, const char* from, uint32_t length) {
  if (length >= 8) {
    uint64_t last = load_u64(from + length - 8);
    for (uint32_t at = 0; at + 8 < length; at += 8) store_u64(to + at, load_u64(from + at));
    store_u64(to + length - 8, last);
    return;
  }
  for (uint32_t at = 0; at < length; at++) to[at] = from[at];
}

}  // namespace

/* Copies the text to arena + offset, and describes it in *view. */
RT_EXPORT void rt_store_text(TbTextView* view, uint8_t* arena, uint64_t offset, const char* bytes, uint32_t length) {
  view->length = length;
  view->prefix = length >= 4 ? load_u32(bytes) : (uint32_t)load_partial(bytes, length);
  view->id = 0;
  view->offset = (uint32_t)offset;
  copy_bytes((char*)arena + offset, bytes, length);
}
