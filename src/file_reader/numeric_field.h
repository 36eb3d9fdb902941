/*
 * numeric_field.h - decimal numbers as numeric's receive function takes them.
 */
#pragma once

#include <cstdint>
#include <string_view>

#include "file_reader/byte_buffer.h"

namespace turbine::file_reader {

/* Appends digits / 10^scale. Digits are decimal, none for zero; a negative scale multiplies. */
void append_numeric(bool negative, std::string_view digits, int scale, ByteBuffer& out);

}  // namespace turbine::file_reader
