/*
 * zone.h - moments to local time and back, by a table of turbine/zone.h.
 *
 * Total: a table of any bytes gives some value, and reads nothing but the table.
 * Moments that it does not cover are TB_ERR_UNREPRESENTABLE; infinities stay.
 */
#pragma once

#include "rt/datetime.h"
#include "turbine/zone.h"

namespace turbine::rt {

struct Zone {
  const uint8_t* entries;
  const uint8_t* buckets;
  int64_t begin;
  int64_t end;
  uint32_t nentries;
};

template <class T>
RT_INLINE T zone_load(const uint8_t* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof(T));
  return value;
}

/* Covers nothing if the bytes are no table. */
RT_INLINE Zone zone_of(const char* bytes, uint32_t length) {
  Zone zone = {nullptr, nullptr, 0, 0, 0};
  if (length < TB_ZONE_HEADER_SIZE) return zone;
  const uint8_t* table = reinterpret_cast<const uint8_t*>(bytes);
  const uint32_t nentries = zone_load<uint32_t>(table + 16);
  const uint32_t nbuckets = zone_load<uint32_t>(table + 20);
  const uint64_t size = TB_ZONE_HEADER_SIZE + uint64_t{nentries} * TB_ZONE_ENTRY_SIZE + uint64_t{nbuckets} * 2;
  const int64_t begin = zone_load<int64_t>(table);
  const int64_t end = zone_load<int64_t>(table + 8);
  const uint64_t span = static_cast<uint64_t>(end) - static_cast<uint64_t>(begin);
  if (nentries == 0 || size > length || end <= begin || (span - 1) >> TB_ZONE_BUCKET_BITS >= nbuckets) return zone;
  zone.entries = table + TB_ZONE_HEADER_SIZE;
  zone.buckets = zone.entries + nentries * TB_ZONE_ENTRY_SIZE;
  zone.begin = begin;
  zone.end = end;
  zone.nentries = nentries;
  return zone;
}

RT_INLINE int64_t zone_start(const Zone& zone, uint32_t entry) {
  return zone_load<int64_t>(zone.entries + uint64_t{entry} * TB_ZONE_ENTRY_SIZE);
}

RT_INLINE int64_t zone_offset(const Zone& zone, uint32_t entry) {
  return zone_load<int64_t>(zone.entries + uint64_t{entry} * TB_ZONE_ENTRY_SIZE + 8);
}

/* The entry in force at a moment from begin up to end. */
RT_INLINE uint32_t zone_entry(const Zone& zone, int64_t moment) {
  const uint64_t bucket = (static_cast<uint64_t>(moment) - static_cast<uint64_t>(zone.begin)) >> TB_ZONE_BUCKET_BITS;
  uint32_t entry = zone_load<uint16_t>(zone.buckets + 2 * bucket);
  entry = entry < zone.nentries ? entry : zone.nentries - 1;
  while (entry + 1 < zone.nentries && zone_start(zone, entry + 1) <= moment) entry++;
  return entry;
}

RT_INLINE int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

RT_INLINE int64_t wrapping_subtract(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

/* UTC to local time. */
RT_INLINE int64_t zone_local(int64_t moment, const char* bytes, uint32_t length, uint32_t* errors) {
  if (!timestamp_is_finite(moment)) return moment;
  const Zone zone = zone_of(bytes, length);
  const bool covered = moment >= zone.begin && moment < zone.end;
  raise_if(!covered, TB_ERR_UNREPRESENTABLE, errors);
  return covered ? wrapping_add(moment, zone_offset(zone, zone_entry(zone, moment))) : moment;
}

/*
 * Local time to UTC as PostgreSQL's DetermineTimeZoneOffset does: by the first
 * transition after a day before it. In a gap what was before counts, where the
 * clock was put back what is after.
 */
RT_INLINE int64_t zone_utc(int64_t local, const char* bytes, uint32_t length, uint32_t* errors) {
  if (!timestamp_is_finite(local)) return local;
  const Zone zone = zone_of(bytes, length);
  const bool covered = zone.nentries != 0 && wrapping_subtract(local, kMicrosPerDay) >= zone.begin &&
                       local < wrapping_subtract(zone.end, kMicrosPerDay) && local > kTimestampMin;
  raise_if(!covered, TB_ERR_UNREPRESENTABLE, errors);
  if (!covered) return local;
  const uint32_t entry = zone_entry(zone, local - kMicrosPerDay);
  const int64_t if_before = wrapping_subtract(local, zone_offset(zone, entry));
  if (entry + 1 >= zone.nentries) return if_before;
  const int64_t boundary = zone_start(zone, entry + 1);
  const int64_t if_after = wrapping_subtract(local, zone_offset(zone, entry + 1));
  if (if_before < boundary && if_after < boundary) return if_before;
  if (if_before > boundary && if_after >= boundary) return if_after;
  return if_before > if_after ? if_before : if_after;
}

}  // namespace turbine::rt
