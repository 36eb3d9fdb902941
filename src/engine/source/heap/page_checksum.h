/*
 * page_checksum.h - PostgreSQL's checksum of a heap page.
 *
 * Direct reads bypass the buffer manager, which would have verified it.
 */
#pragma once

#include <cstdint>

namespace turbine {

/* The checksum of the page if it is that of block `block` of its relation. The
 * stored checksum does not count. */
uint16_t page_checksum(const uint8_t* page, uint32_t block);

/* Does the stored checksum fit? Pages that were never written (all zero) have
 * none, and pass. */
bool page_checksum_ok(const uint8_t* page, uint32_t block);

}  // namespace turbine
