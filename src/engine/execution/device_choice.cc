/*
 * device_choice.cc - which device runs a program.
 *
 * Called by a QUERY and a PREPARE on the session's thread. Owns nothing; reserves
 * nothing.
 */
#include "engine/execution/device_choice.h"

namespace turbine {

DeviceChoice choose_device(Engine& engine, const Program& program, uint32_t wanted, uint32_t flags) {
  // Most tables are too small for a GPU to be worth it: whoever wants one to build there names it.
  if (program.sink() == TB_SINK_BUILD && wanted == TB_ANY_DEVICE) return {TB_DEVICE_HOST};
  auto usable = [&engine](uint32_t index) {
    return index < engine.devices.size() && engine.devices[index]->info().usable != 0;
  };
  if (wanted != TB_ANY_DEVICE) {
    if (usable(wanted)) return {wanted};
    if (flags & TB_QUERY_ALLOW_HOST) return {TB_DEVICE_HOST, TB_FALLBACK_NO_DEVICE};
    throw DeviceError(TB_FALLBACK_NO_DEVICE, "no usable device " + std::to_string(wanted));
  }
  // Any: the GPU with the fewest queries.
  uint32_t best = TB_DEVICE_HOST;
  uint32_t fewest = UINT32_MAX;
  for (uint32_t i = 1; (flags & TB_QUERY_GPU_OK) && i < engine.devices.size(); i++) {
    const uint32_t running = engine.admission.usage(i).queries_running;
    if (!usable(i) || running >= fewest) continue;
    best = i;
    fewest = running;
  }
  return {best};
}

}  // namespace turbine
