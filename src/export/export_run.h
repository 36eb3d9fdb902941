/*
 * export_run.h - runs an export: workers read and decode, this thread writes.
 */
#pragma once

#include <arrow/type.h>

#include <functional>
#include <memory>

#include "export/options.h"
#include "export/row_source.h"
#include "export/table_writer.h"

namespace turbine::exporting {

/* Chooses how Arrow allocates memory; to be called before anything else of Arrow's. */
void choose_allocator();

/* What rows become; made once their columns are known. */
using WriterMaker = std::function<std::unique_ptr<TableWriter>(const std::shared_ptr<arrow::Schema>&)>;

/* Exports all rows of `source` as `options` say. Throws the first ExportError of any worker. */
void run_export(ExportSource& source, const Options& options);
void run_export(ExportSource& source, const Options& options, const WriterMaker& make);

}  // namespace turbine::exporting
