/*
 * task_states.h - the states of an ungrouped aggregate, folded in the order of its tasks.
 *
 * The order in which tasks end, and which of several GPUs has run them, then changes no sum of floats. Stateless.
 */
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/device.h"
#include "engine/group_fold/group_fold.h"

namespace turbine {

/* `first` with all states added. Throws DeviceError: a state overflows. */
std::vector<uint8_t> fold_task_states(const GroupFold& fold, std::vector<uint8_t> first,
                                      std::vector<TaskStates> states);

}  // namespace turbine
