/*
 * device_row_sort.cc - packs keys for a device's sort, and takes the order that it makes.
 *
 * Called by row_sort.cc. It must never lose an error that would meet the host's sort as
 * well.
 */
#include "engine/result/order/device_row_sort.h"

#include <array>

namespace turbine {
namespace {

constexpr unsigned kWordBits = 32;

/* Is it the device's own failure, which the host's sort does not share? */
bool only_the_device(TbFallback reason) {
  return reason == TB_FALLBACK_DEVICE_MEMORY || reason == TB_FALLBACK_DEVICE_LOST || reason == TB_FALLBACK_NO_DEVICE ||
         reason == TB_FALLBACK_COMPILE;
}

/* Packs rows [first, first + n) of the list, or of all rows; halves of the packing's words are words. */
void pack_words(const ResultRows& rows, const RowRef* list, const KeyPacking& packing, unsigned nwords, uint64_t first,
                uint64_t n, uint32_t* const* words) {
  const unsigned packed_words = packing.words();
  std::array<uint64_t, kBlockRows * kMostKeyWords> packed;
  for_row_blocks(rows, list, first, n, [&](const ResultBatch& batch, const RowRef* refs, size_t m, uint64_t place) {
    packing.pack(batch, refs, m, packed.data(), packed_words);
    for (unsigned w = 0; w < nwords; w++) {
      const uint64_t* from = packed.data() + w / 2;
      uint32_t* to = words[w] + (place - first);
      const unsigned shift = w % 2 ? 0 : kWordBits;
      for (size_t i = 0; i < m; i++) to[i] = static_cast<uint32_t>(from[i * packed_words] >> shift);
    }
  });
}

}  // namespace

bool SortPlace::note_failure(const DeviceError& error) {
  if (!only_the_device(error.reason)) return false;
  if (failure == TB_FALLBACK_NONE) {
    failure = error.reason;
    message = error.what();
  }
  return true;
}

unsigned packed_device_words(const KeyPacking& packing) {
  return std::max(1u, (packing.bits() + kWordBits - 1) / kWordBits);
}

bool fits_device(const KeyPacking& packing) {
  return packing.exact() && packed_device_words(packing) <= kMostSortWords;
}

KeySortInput words_and_bits(uint64_t count, const KeyPacking& packing, std::vector<uint8_t>& key_of_bit) {
  KeySortInput input{count, packed_device_words(packing), {}};
  for (unsigned bit = 0; bit < input.words * kWordBits; bit++)
    key_of_bit.push_back(static_cast<uint8_t>(bit < packing.bits() ? packing.key_of_bit(bit) : packing.first_cut()));
  input.key_of_bit = key_of_bit;
  input.nkeys = static_cast<unsigned>(packing.first_cut());
  return input;
}

KeySortInput packed_keys(const ResultRows& rows, const RowRef* list, uint64_t count, const KeyPacking& packing,
                         std::vector<uint8_t>& key_of_bit) {
  KeySortInput input = words_and_bits(count, packing, key_of_bit);
  input.pack = [&rows, list, &packing, words = input.words](uint64_t first, uint64_t n, uint32_t* const* to) {
    pack_words(rows, list, packing, words, first, n, to);
  };
  return input;
}

void refs_of_numbers(const ResultRows& rows, const uint32_t* numbers, uint64_t n, RowRef* refs) {
  if (rows.batches() == 1)
    for (uint64_t i = 0; i < n; i++) refs[i] = row_ref(0, numbers[i]);
  else
    for (uint64_t i = 0; i < n; i++) refs[i] = rows.ref(numbers[i]);
}

std::optional<SortedRows> sort_rows_on_device(const ResultRows& rows, const RowRef* list, uint64_t count,
                                              const KeyPacking& packing, bool agree, ParallelWork& work,
                                              SortPlace& place) {
  if (!place.device || !fits_device(packing) ||
      !place.device->pays(count, packed_device_words(packing), work.threads()))
    return std::nullopt;

  std::vector<uint8_t> key_of_bit;
  KeySortInput input = packed_keys(rows, list, count, packing, key_of_bit);
  if (!agree) input.key_of_bit = {};
  SortedRows sorted(RowList(HostBuffer(rows.budget(), count * sizeof(RowRef)), count));
  HostBuffer agreeing(rows.budget(), agree ? count : 1);
  try {
    RowRef* refs = sorted.rows().data();
    place.device->sort(
        input,
        [&](uint64_t first, uint64_t n, const uint32_t* numbers, const uint8_t* agree_of) {
          if (list)
            for (uint64_t i = 0; i < n; i++) refs[first + i] = list[numbers[i]];
          else
            refs_of_numbers(rows, numbers, n, refs + first);
          if (agree_of) std::copy_n(agree_of, n, agreeing.data() + first);
        },
        work);
  } catch (const DeviceError& error) {
    if (!place.note_failure(error)) throw;
    return std::nullopt;
  }
  place.rows_on_device += count;
  if (agree) sorted.set_agree(std::move(agreeing));
  return sorted;
}

}  // namespace turbine
