/*
 * table_export.h - an export of a table for a process of this server: as turbine.export
 * makes it, with its rights and refusals.
 */
#ifndef TURBINE_PG_RESULTS_TABLE_EXPORT_H
#define TURBINE_PG_RESULTS_TABLE_EXPORT_H

#include "postgres.h"

#include "utils/relcache.h"

/* A token for all columns that is good once, by whomever. Raises errors. */
extern bytea *tb_export_table_once(Oid relid);

/* Whether the current role may select all columns, so that an earlier export may serve it,
 * too. Raises what turbine.export refuses otherwise. */
extern bool tb_export_table_is_allowed(Relation rel);

#endif
