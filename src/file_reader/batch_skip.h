/*
 * batch_skip.h - whether a batch can have a row that satisfies the bounds of a query.
 */
#pragma once

#include "file_reader/batch_file.h"
#include "file_reader/request.h"

namespace turbine::file_reader {

/* False only if the file's own bounds prove that no row of the batch satisfies it. */
bool may_satisfy(const BatchBounds& batch, const Bound& bound, TbReaderTarget target);

}  // namespace turbine::file_reader
