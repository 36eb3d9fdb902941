/*
 * part_files.h - files of writable foreign tables: parts, which hold the rows of one statement, and the file that
 * they become together.
 *
 * A part is a complete Arrow file, so that later statements of its transaction read it as any other.
 */
#pragma once

#include "export/backend/backend_source.h"

namespace turbine::exporting {

/* Both throw ExportError. Makes a part of the rows that follow the request; returns their number. */
int64_t write_part(int input, const WriterRequest& request);
/* Makes the file of the older one and the parts; returns the number of the parts' rows. */
int64_t merge_parts(const WriterRequest& request);

}  // namespace turbine::exporting
