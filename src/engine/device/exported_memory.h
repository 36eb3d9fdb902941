/*
 * exported_memory.h - memory of a device that other processes may map, by a descriptor.
 *
 * It is never used for anything else: its destructor gives it back to the driver, which frees it once nobody has it
 * mapped any more. One thread at a time.
 */
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace turbine {

/* A device as an importer has to find it. */
struct ExportPlace {
  std::array<uint8_t, 16> uuid{};
  int ordinal = 0;  // among the driver's
  std::string name;
};

class ExportedMemory {
 public:
  virtual ~ExportedMemory() = default;

  virtual uint64_t size() const = 0;
  /* To be passed to another process; this object's own. */
  virtual int descriptor() const = 0;

  /* From ordinary memory. Throws DeviceError. */
  virtual void write(uint64_t offset, const uint8_t* from, uint64_t bytes) = 0;
  /* All is written, and there when this returns: nothing more is. Throws DeviceError. */
  virtual void seal() = 0;
};

}  // namespace turbine
