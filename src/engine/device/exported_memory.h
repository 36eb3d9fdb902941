/*
 * exported_memory.h - memory of a device that other processes may map, by a descriptor, and how a column lies there.
 *
 * It is never used for anything else: its destructor gives it back to the driver, which frees it once nobody has it
 * mapped any more. One thread at a time.
 */
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "turbine/export.h"

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
  /* From memory that stays as it is until flush(); fast if the device has registered it. Throws DeviceError. */
  virtual void write_lasting(uint64_t offset, const uint8_t* from, uint64_t bytes) = 0;
  /* What was written is there when this returns. Throws DeviceError. */
  virtual void flush() = 0;
  /* The same, and nothing more is written. Throws DeviceError. */
  virtual void seal() = 0;
};

/* A part of a column's memory. */
struct ExportRegion {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/* The parts of a column: values, or of texts their offsets; a bit for each value that is not NULL; the bytes of texts;
 * a BOOL's values as bits. Those that it lacks have no bytes. */
struct ExportRegions {
  ExportRegion values, validity, bytes, bits;

  static constexpr std::array kEach = {&ExportRegions::values, &ExportRegions::validity, &ExportRegions::bytes,
                                       &ExportRegions::bits};
};

/* All of a column, without places. */
inline ExportRegions export_regions(const TbExportColumn& shape, uint64_t rows) {
  const uint64_t bits = (rows + 7) / 8;
  ExportRegions regions;
  regions.values.bytes = (rows + (tb_export_has_bytes(shape.format) ? 1 : 0)) * tb_export_width(shape.format);
  regions.validity.bytes = shape.nulls > 0 ? bits : 0;
  regions.bytes.bytes = shape.bytes;
  regions.bits.bytes = shape.format == TB_EXPORT_BOOL ? bits : 0;
  return regions;
}

/* Places them one behind the other, as they lie in memory of a GPU; returns their end. */
inline uint64_t place_on_device(ExportRegions& regions) {
  constexpr uint64_t kAlignment = 256;
  uint64_t end = 0;
  for (const auto region : ExportRegions::kEach) {
    (regions.*region).offset = end;
    end += ((regions.*region).bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  return end;
}

/* Of a column without texts, before it is known which of its values are NULL. */
inline ExportRegions device_column_regions(uint32_t format, uint64_t rows, bool nullable) {
  TbExportColumn shape{};
  shape.format = format;
  shape.nulls = nullable ? rows : 0;
  return export_regions(shape, rows);
}

/* Memory for so much, in the pages that devices have. */
inline uint64_t device_pages(uint64_t bytes) {
  constexpr uint64_t kPage = uint64_t{2} << 20;
  return (std::max<uint64_t>(bytes, 1) + kPage - 1) / kPage * kPage;
}

/* A column in such memory. */
struct DeviceColumn {
  ExportRegions regions;
  uint64_t nulls = 0;
  std::unique_ptr<ExportedMemory> memory;
};

}  // namespace turbine
