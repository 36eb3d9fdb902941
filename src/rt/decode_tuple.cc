/*
 * decode_tuple.cc - reading heap pages, line pointers and tuples.
 *
 * The emitter of tb_decode (compiler/codegen/decode.cc) calls these with the
 * table's constants; nearly all of it folds away after inlining. Pages may
 * hold anything: whatever is read is checked first, against the tuple's end.
 *
 * Offsets count from the tuple's data. An attribute whose size is impossible
 * "ends" at kBeyond, which no later step brings back below a tuple's end: so a
 * walk over a tuple tests for corruption once, at its end.
 */
#include "rt/heap_page.h"
#include "rt/varlena.h"
#include "turbine/point_column.h"

namespace turbine::rt {
namespace {

constexpr uint32_t kBeyond = 0x80000000u;

/* Tuple header: t_infomask2 at 18, t_infomask 20, t_hoff 22, then the bitmap. */
constexpr uint32_t kInfomask2 = 18;
constexpr uint32_t kInfomask = 20;
constexpr uint32_t kHoff = 22;
constexpr uint32_t kBitmap = 23;
constexpr uint16_t kHasNull = 0x0001;
constexpr uint16_t kNattsMask = 0x07ff;

RT_INLINE uint16_t load16(const uint8_t* aligned) { return *reinterpret_cast<const uint16_t*>(aligned); }

RT_INLINE uint32_t tuple_natts(const uint8_t* tuple) { return load16(tuple + kInfomask2) & kNattsMask; }

RT_INLINE bool tuple_has_nulls(const uint8_t* tuple) { return load16(tuple + kInfomask) & kHasNull; }

}  // namespace

/* Line pointers of the page; TB_NONE if its header is impossible. */
RT_EXPORT uint32_t rt_decode_line_count(const uint8_t* page) {
  const uint32_t lower = load16(page + 12);
  const uint32_t upper = load16(page + 14);
  const uint32_t special = load16(page + 16);
  if (upper == 0) return 0;  // never initialised
  const uint32_t lines = (lower - kPageHeader) / kLinePointer;
  const bool sane = lower >= kPageHeader && lower <= upper && upper <= special && special <= TB_PAGE_SIZE &&
                    lines <= TB_MAX_TUPLES_PER_PAGE;
  return sane ? lines : TB_NONE;
}

/* Does the LP_NORMAL line pointer (its word) lead to room for a tuple? */
RT_EXPORT bool rt_decode_line_sane(uint32_t line_pointer) {
  const uint32_t offset = line_pointer & 0x7fff;
  const uint32_t length = line_pointer >> 17;
  return (offset >= kPageHeader) & (offset % kMaxAlign == 0) & (length > kBitmap) & (offset + length <= TB_PAGE_SIZE);
}

/* The usual tuple: no NULL, at least `natts` attributes, data right behind the
 * header. One load: the header's last 8 bytes are aligned. */
RT_EXPORT bool rt_decode_tuple_plain(const uint8_t* tuple, uint32_t natts) {
  const uint64_t word = *reinterpret_cast<const uint64_t*>(tuple + 16);
  const uint64_t checked = uint64_t{0xff} << 48 | uint64_t{kHasNull} << 32;
  const uint64_t wanted = uint64_t{kPlainHeader} << 48;
  return (word & checked) == wanted && ((word >> 16) & kNattsMask) >= natts;
}

/* Can a tuple of `length` bytes have this header? */
RT_EXPORT bool rt_decode_tuple_sane(const uint8_t* tuple, uint32_t length) {
  const uint32_t hoff = tuple[kHoff];
  const uint32_t bitmap = tuple_has_nulls(tuple) ? (tuple_natts(tuple) + 7) / 8 : 0;
  return hoff % kMaxAlign == 0 && hoff > kBitmap && hoff >= kBitmap + bitmap && hoff <= length;
}

RT_EXPORT uint32_t rt_decode_natts(const uint8_t* tuple) { return tuple_natts(tuple); }
RT_EXPORT uint32_t rt_decode_hoff(const uint8_t* tuple) { return tuple[kHoff]; }

/* Bit i: the tuple has a value for attribute 64 * word + i + 1. */
RT_EXPORT uint64_t rt_decode_presence(const uint8_t* tuple, uint32_t word) {
  const uint32_t natts = tuple_natts(tuple);
  const uint32_t first = 64 * word;
  if (natts <= first) return 0;
  uint64_t bits = ~uint64_t{0};
  if (tuple_has_nulls(tuple)) {
    // The header's length is a multiple of 8, so the bitmap's space is 1 byte more than one.
    const uint8_t* bitmap = tuple + kBitmap + 8 * word;
    const uint32_t space = tuple[kHoff] - kBitmap - 8 * word;
    bits = space >= 8 ? load_unaligned<uint64_t>(bitmap) : *bitmap;
  }
  const uint32_t here = natts - first;
  return here < 64 ? bits & ((uint64_t{1} << here) - 1) : bits;
}

namespace {

RT_INLINE uint32_t toast_pointer_end(const uint8_t* data, uint32_t start, uint32_t end) {
  const bool on_disk = start + 2 <= end && data[start + 1] == kOnDiskTag;
  return on_disk ? start + kOnDiskToastPointer : kBeyond;
}

}  // namespace

/* Where the varlena ends that follows what ended at `offset`; beyond `end` if it
 * is impossible. *start: its header. A nonzero byte at `offset` is no padding
 * but a header, whatever the attribute's alignment. */
RT_EXPORT uint32_t rt_decode_varlena_end(const uint8_t* data, uint32_t offset, uint32_t end, uint32_t align,
                                         uint32_t* start) {
  *start = kBeyond;
  if (offset >= end) return kBeyond;
  const uint8_t first = data[offset];
  if (__builtin_expect(is_short(first), 1)) {
    *start = offset;
    if (__builtin_expect(first == kToastPointerByte, 0)) return toast_pointer_end(data, offset, end);
    return offset + (first >> 1);
  }
  const uint32_t aligned = first != 0 ? offset : (offset + align - 1) & ~(align - 1);
  if (aligned >= end) return kBeyond;
  *start = aligned;
  // Behind padding a short header is as good as a long one.
  if (is_short(data[aligned])) {
    if (data[aligned] == kToastPointerByte) return toast_pointer_end(data, aligned, end);
    return aligned + (data[aligned] >> 1);
  }
  if (aligned + kLongHeader > end) return kBeyond;
  const uint32_t size = load_unaligned<uint32_t>(data + aligned) >> 2;
  return size >= kLongHeader ? aligned + size : kBeyond;
}

/* Is the varlena at `start` compressed or out of line? */
RT_EXPORT bool rt_decode_varlena_toasted(const uint8_t* data, uint32_t start, uint32_t end) {
  if (start >= end) return false;
  return data[start] == kToastPointerByte || is_compressed(data[start]);
}

/* Where the zero-terminated string at `start` ends. */
RT_EXPORT uint32_t rt_decode_cstring_end(const uint8_t* data, uint32_t start, uint32_t end) {
  for (uint32_t at = start; at < end; at++)
    if (data[at] == 0) return at + 1;
  return kBeyond;
}

/* Where the attribute ends that follows what ended at `offset`. */
RT_INLINE uint32_t attribute_end(const uint8_t* data, uint32_t offset, uint32_t end, int32_t length, uint32_t align) {
  uint32_t start;
  if (length == -1) return rt_decode_varlena_end(data, offset, end, align, &start);
  start = (offset + align - 1) & ~(align - 1);
  return length > 0 ? start + static_cast<uint32_t>(length) : rt_decode_cstring_end(data, start, end);
}

/* Over `count` attributes from the 0-based `first` on, for stretches of wide
 * tables that are not worth code of their own. A shape is an attribute's length
 * (low 16 bits, signed) and alignment. */
RT_EXPORT __attribute__((noinline)) uint32_t rt_decode_skip(const uint8_t* tuple, const uint8_t* data, uint32_t offset,
                                                            uint32_t end, const uint32_t* shapes, uint32_t first,
                                                            uint32_t count) {
  const uint32_t natts = tuple_natts(tuple);
  const bool nulls = tuple_has_nulls(tuple);
  const uint32_t past = first + count < natts ? first + count : natts;
  for (uint32_t a = first; a < past && offset <= end; a++) {
    if (nulls && !(tuple[kBitmap + a / 8] >> (a % 8) & 1)) continue;
    const uint32_t shape = shapes[a];
    offset = attribute_end(data, offset, end, static_cast<int16_t>(shape), shape >> 16);
  }
  return offset <= end ? offset : kBeyond;
}

namespace {

/* The first four bytes, zero-padded. Shorter texts: every byte is read at least
 * once, some twice. */
RT_INLINE uint32_t prefix_of(Payload text) {
  if (text.length >= 4) return load_unaligned<uint32_t>(text.bytes);
  if (text.length == 0) return 0;
  const uint32_t middle = text.length / 2;
  const uint32_t last = text.length - 1;
  return text.bytes[0] | static_cast<uint32_t>(text.bytes[middle]) << (8 * middle) |
         static_cast<uint32_t>(text.bytes[last]) << (8 * last);
}

/* As two words: views in column memory are 8-aligned. */
RT_INLINE void store_view(const uint8_t* pages, Payload text, uint64_t* view) {
  const uint64_t offset = static_cast<uint64_t>(text.bytes - pages) & 0xffffffffu;
  view[0] = static_cast<uint64_t>(prefix_of(text)) << 32 | text.length;
  view[1] = offset << 32;
}

}  // namespace

/* The TbTextView of an inline varlena. */
RT_EXPORT void rt_decode_text(const uint8_t* pages, const uint8_t* varlena, uint64_t* view) {
  store_view(pages, payload_of(varlena), view);
}

/* The same without trailing blanks. */
RT_EXPORT void rt_decode_bpchar(const uint8_t* pages, const uint8_t* varlena, uint64_t* view) {
  Payload text = payload_of(varlena);
  while (text.length > 0 && text.bytes[text.length - 1] == ' ') text.length--;
  store_view(pages, text, view);
}

/* A coordinate of a point; `form`: point_column.h. False: it is another geometry. */
RT_EXPORT bool rt_decode_coordinate(const uint8_t* varlena, uint32_t form, double* out) {
  const Payload geometry = payload_of(varlena);
  return tb_point_read(geometry.bytes, geometry.length, form, out) != 0;
}

}  // namespace turbine::rt
