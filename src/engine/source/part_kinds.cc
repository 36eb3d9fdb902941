/*
 * part_kinds.cc - see part_kinds.h.
 *
 * Owns the table of kinds. Called when a query begins.
 */
#include "engine/source/part_kinds.h"

#include "engine/source/files/file_source.h"

namespace turbine {

std::map<uint32_t, MakePartSource>& part_kinds() {
  static std::map<uint32_t, MakePartSource> kinds = {
      {TB_PART_FILE,
       [](const PartNeeds& needs) -> std::unique_ptr<PartSource> {
         return std::make_unique<FileSource>(needs.store, needs.program, needs.segments, needs.workers, needs.storage,
                                             needs.profile);
       }},
  };
  return kinds;
}

}  // namespace turbine
