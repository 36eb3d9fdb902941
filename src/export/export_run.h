/*
 * export_run.h - runs an export: workers read and decode, this thread writes.
 */
#pragma once

#include "export/options.h"
#include "export/row_source.h"

namespace turbine::exporting {

/* Exports all rows of `source` as `options` say. Throws the first ExportError of any worker. */
void run_export(ExportSource& source, const Options& options);

}  // namespace turbine::exporting
