/*
 * message_bytes.h - structs of wire.h out of a message's bytes, and back.
 *
 * The only place that copies a struct out of a payload: it checks the length first.
 * Any thread; owns nothing.
 */
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "engine/wire/protocol_error.h"

namespace turbine {

template <class T>
std::span<const uint8_t> bytes_of(const T& value) {
  return {reinterpret_cast<const uint8_t*>(&value), sizeof value};
}

/* A payload that is one struct. Throws ProtocolError. */
template <class T>
T read_struct(std::span<const uint8_t> payload) {
  if (payload.size() != sizeof(T)) throw ProtocolError("message of a wrong length");
  T value;
  memcpy(&value, payload.data(), sizeof value);
  return value;
}

/* The struct that a payload begins with; `payload` becomes the bytes behind it. `name`
 * is the message's. Throws ProtocolError. */
template <class T>
T read_head(std::span<const uint8_t>& payload, const char* name) {
  if (payload.size() < sizeof(T)) throw ProtocolError(std::string(name) + " is too short");
  T value;
  memcpy(&value, payload.data(), sizeof value);
  payload = payload.subspan(sizeof value);
  return value;
}

}  // namespace turbine
