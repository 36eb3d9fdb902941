/*
 * additions.h - files of writable foreign tables: additions, which hold the rows of one statement, and the file that
 * they become together.
 *
 * An addition is a complete Arrow file, so that later statements of its transaction read it as any other.
 */
#pragma once

#include "export/backend/backend_source.h"

namespace turbine::exporting {

/* Both throw ExportError. Makes an addition of the rows that follow the request; returns their number. */
int64_t write_addition(int input, const WriterRequest& request);
/* Makes the file of the older one and the additions; returns the number of the additions' rows. */
int64_t merge_additions(const WriterRequest& request);

}  // namespace turbine::exporting
