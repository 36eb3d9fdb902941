/*
 * result_keeper.h - who takes the columns that a query leaves on a GPU, until a backend makes a copy of them.
 *
 * Implemented by exports/, which knows what memory they may take.
 */
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/device.h"
#include "engine/program/kept_row_layout.h"
#include "turbine/wire.h"

namespace turbine {

class ResultKeeper {
 public:
  virtual ~ResultKeeper() = default;

  /* The payload of RESULT_LEFT. `rows`: of the query, which is finished and on the device with this number. Throws
   * DeviceError. */
  virtual std::vector<uint8_t> keep(DeviceQuery& query, uint32_t device, uint64_t rows, const KeptRowLayout& layout,
                                    std::span<const TbColumnLeft> columns) = 0;
};

}  // namespace turbine
