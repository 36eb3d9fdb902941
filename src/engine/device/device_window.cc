/*
 * device_window.cc - which window functions devices compute.
 *
 * Called by result/window, which gives a pass to a device only as a whole.
 */
#include "engine/device/device_window.h"

#include "turbine/types.h"

namespace turbine {
namespace {

/* Signed integers of 2, 4 or 8 bytes, in their order. */
bool is_integer(uint32_t type) {
  switch (type) {
    case TB_TYPE_INT2:
    case TB_TYPE_INT4:
    case TB_TYPE_INT8:
    case TB_TYPE_DATE:
    case TB_TYPE_TIMESTAMP:
    case TB_TYPE_TIMESTAMPTZ:
    case TB_TYPE_NUM64: return true;
    default: return false;
  }
}

}  // namespace

bool is_device_window(const TbWindowPass& pass, const TbWindowFunction& function, uint32_t arg) {
  if (pass.exclusion != TB_EXCLUDE_NONE || tb_pass_has_range_offset(&pass)) return false;
  switch (function.kind) {
    case TB_WINDOW_LAG:
    case TB_WINDOW_LEAD:
    case TB_WINDOW_FIRST_VALUE:
    case TB_WINDOW_LAST_VALUE:
    case TB_WINDOW_NTH_VALUE: return !tb_type_is_text(arg);
    case TB_WINDOW_SUM: return is_integer(arg);
    // The best so far is known of rows from the partition's first on.
    case TB_WINDOW_MIN:
    case TB_WINDOW_MAX: return is_integer(arg) && pass.start_bound == TB_BOUND_UNBOUNDED_PRECEDING;
    default: return true;
  }
}

}  // namespace turbine
