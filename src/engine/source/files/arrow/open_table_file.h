/*
 * open_table_file.h - opens a file of columns of either format.
 */
#pragma once

#include <memory>
#include <vector>

#include "engine/source/files/table_file.h"
#include "engine/storage/file_reading.h"

namespace turbine {

/*
 * `reading`: the path that reads take. `fd` stays the caller's; the file keeps a copy. `format`: TbColumnFileFormat.
 * What the file says about itself is kept for whoever opens it again, by device, inode, size and time of change. Throws
 * FileError, bad_alloc.
 */
std::unique_ptr<TableFile> open_table_file(int fd, uint32_t format, std::vector<WantedColumn> wanted,
                                           const FileReading& reading = {});

}  // namespace turbine
