/*
 * protocol_error.h - the peer broke the protocol: its connection is to be closed.
 */
#pragma once

#include <stdexcept>

namespace turbine {

struct ProtocolError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace turbine
