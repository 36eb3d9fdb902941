/*
 * export_run.h - runs an export: workers read and decode, this thread writes.
 */
#pragma once

#include "export/options.h"
#include "export/row_source.h"

namespace turbine::exporting {

/* Chooses how Arrow allocates memory; to be called before anything else of Arrow's. */
void choose_allocator();

/* Exports all rows of `source` as `options` say. Throws the first ExportError of any worker. */
void run_export(ExportSource& source, const Options& options);

}  // namespace turbine::exporting
