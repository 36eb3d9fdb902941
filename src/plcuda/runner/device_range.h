/*
 * device_range.h - a range of a GPU's addresses, into which memory is put piece by piece: of other processes, or new.
 */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/device/cuda/driver/driver_api.h"

namespace turbine {

/* All functions throw TableError, and TableMemoryError if there is no memory. The GPU's primary context is current
 * afterwards, as CUDA's runtime uses it. */
class DeviceRange {
 public:
  /* Whether there is a GPU. */
  static bool is_possible();

  /* Of the GPU with this UUID (32 digits), or "" for the first. */
  DeviceRange(const std::string& uuid, uint64_t bytes);
  ~DeviceRange();
  DeviceRange(const DeviceRange&) = delete;

  void create(uint64_t place, uint64_t bytes);
  void import(int file, uint64_t place, uint64_t bytes);
  void write(uint64_t place, const void* from, uint64_t bytes);
  bool try_write(uint64_t place, const void* from, uint64_t bytes);
  /* Kernels may only read it from now on. False: the driver cannot forbid writing. */
  bool protect();
  int ordinal() const { return ordinal_; }
  void* base() const { return reinterpret_cast<void*>(base_); }

 private:
  struct Piece {
    uint64_t place, bytes;
    bool is_read_only;
  };

  void map(cuda::MemoryHandle handle, uint64_t place, uint64_t bytes, bool read_only);
  cuda::Result allow(const Piece& piece, int access);

  const uint64_t bytes_;
  int ordinal_ = 0;
  cuda::DevicePtr base_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace turbine
