/*
 * type_catalog.h - types of columns as trees, from the server's catalog.
 */
#pragma once

#include <cstdint>

#include "export/postgres/connection.h"
#include "export/postgres/pg_type.h"

namespace turbine::exporting {

/* Looks a type up in the catalog, domains as what they are domains over. */
PgType look_up_type(PgConnection& connection, uint32_t oid, int32_t modifier);

}  // namespace turbine::exporting
