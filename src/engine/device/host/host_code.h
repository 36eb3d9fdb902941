/*
 * host_code.h - a compiled program loaded into this process.
 */
#pragma once

#include <span>

#include "engine/device/device.h"

namespace turbine {

class HostCode final : public LoadedCode {
 public:
  using Decode = void (*)(TbDecodeArgs*);
  using Pipeline = void (*)(TbPipelineArgs*);

  /* Loads an ELF shared object from memory: `decodes` tells whether it has to
   * have tb_decode. Throws DeviceError. */
  HostCode(std::span<const uint8_t> shared_object, bool decodes);
  ~HostCode() override;
  HostCode(const HostCode&) = delete;

  const Decode decode;  // null: of a program whose source is not heap pages
  const Pipeline pipeline;

 private:
  struct Library {
    int fd;
    void* handle;
  };
  explicit HostCode(Library library);
  static Library open(std::span<const uint8_t> shared_object, bool decodes);

  const Library library_;
};

}  // namespace turbine
