/*
 * task_states.cc - see task_states.h.
 *
 * Called by a GPU's query and by a query on several GPUs, once a query, after the last task. The order must depend on
 * nothing but the tasks' numbers.
 */
#include "engine/device/task_states.h"

#include <algorithm>
#include <tuple>

namespace turbine {

std::vector<uint8_t> fold_task_states(const GroupFold& fold, std::vector<uint8_t> first,
                                      std::vector<TaskStates> states) {
  std::sort(states.begin(), states.end(), [](const TaskStates& a, const TaskStates& b) {
    return std::tie(a.sequence, a.step) < std::tie(b.sequence, b.step);
  });
  VectorArena no_text;
  uint32_t errors = 0;
  for (const TaskStates& some : states) errors |= fold.fold(first.data(), no_text, some.row.data(), nullptr);
  throw_fold_errors(errors);
  return first;
}

}  // namespace turbine
