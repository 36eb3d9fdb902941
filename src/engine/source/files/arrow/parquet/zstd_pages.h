/*
 * zstd_pages.h - pages that are compressed with zstd, unpacked by a context that each thread keeps.
 *
 * libparquet makes a context for every page, and making one asks the processor what it is (CPUID). On a virtual machine
 * that is a call to the hypervisor, some 20 us twice a page, as long as unpacking a small page takes.
 */
#pragma once

#include <cstdint>

namespace turbine {

/* Unpacks all frames. Returns how many bytes that gave, at most `room`. Throws FileError if the bytes are no whole
 * frames, or take more room. */
uint64_t unpack_zstd(const uint8_t* bytes, uint64_t size, uint8_t* to, uint64_t room);

}  // namespace turbine
