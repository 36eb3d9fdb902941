/*
 * group_output.h - result groups written into a slot as columns.
 *
 * Generic over the GroupLayout: strided copies from rows to columns; texts are
 * collected behind the columns. Used by the executor after a device's finish().
 */
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/device.h"

namespace turbine {

class GroupOutput {
 public:
  explicit GroupOutput(const Program& program);

  /* Writes groups from `first` on, as many as fit in `size` bytes, and at most
   * `left`. Returns the GROUPS payload (TbGroups and its columns, slot 0).
   * Throws DeviceError if not even one fits. */
  std::vector<uint8_t> write(DeviceQuery& query, uint64_t first, uint64_t left, uint8_t* to, uint64_t size);

 private:
  struct Column {
    GroupField field;
    uint32_t width;
    bool text;
  };
  uint64_t columns_bytes(uint64_t rows) const;
  uint64_t rows_that_fit(const DeviceQuery::GroupRows& groups, uint64_t count, uint64_t size) const;
  void write_texts(const Column& column, const DeviceQuery::GroupRows& groups, uint64_t count, uint8_t* values,
                   uint8_t* bytes, uint64_t* bytes_used) const;

  std::vector<Column> columns_;
  uint32_t row_size_;
  bool has_text_ = false;
};

}  // namespace turbine
