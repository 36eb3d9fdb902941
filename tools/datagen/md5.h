/*
 * md5.h - MD5 of short texts (RFC 1321), for texts that look like md5(...) in
 * SQL. One block only: at most 55 bytes.
 */
#pragma once

#include <string_view>

namespace turbine::datagen {

/* Writes the 32 hexadecimal digits of the digest of `text` to `hex`. */
void md5_hex(std::string_view text, char hex[32]);

}  // namespace turbine::datagen
