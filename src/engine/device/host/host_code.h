/*
 * host_code.h - a compiled program loaded into this process: quick code first,
 * maybe, and full code when there is some.
 */
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

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

  void improve(std::span<const uint8_t> shared_object) override;

  struct Entries {
    Decode decode;  // null: of a program whose source is not heap pages
    Pipeline pipeline;
    const uint64_t* late_columns;  // null: it reads no codes
    bool is_late(size_t column) const { return late_columns && (late_columns[column / 64] >> (column % 64) & 1); }
  };
  /* The best there is. Valid as long as this, whatever comes later. */
  const Entries& entries() const { return *best_.load(std::memory_order_acquire); }

 private:
  class Library;

  const bool decodes_;
  std::mutex mutex_;  // libraries_
  std::vector<std::unique_ptr<Library>> libraries_;
  std::atomic<const Entries*> best_;
};

}  // namespace turbine
