/*
 * gstore_fdw.h - the wrapper gstore_fdw: its servers, and the option of its tables.
 */
#ifndef TURBINE_PG_GSTORE_GSTORE_FDW_H
#define TURBINE_PG_GSTORE_GSTORE_FDW_H

#include "postgres.h"

#include "foreign/foreign.h"
#include "nodes/pg_list.h"

/* Whether a server's wrapper has the handler of gstore_fdw. */
extern bool tb_is_gstore_server(const ForeignServer *server);

/* The device of a table that was pinned to `device` (TB_PIN_ANY_GPU: it had no option),
 * once its options have been changed. Raises errors for what PostgreSQL refuses of options,
 * and for other options than `pinning`. */
extern int tb_gstore_device(int device, List *changes);

/* Refuses options of a column. */
extern void tb_gstore_check_column(List *options);

/* Whether a relation is pinned, itself or as a partition; with `as_table`, only those that
 * CREATE TABLE makes. */
extern bool tb_is_gstore(Oid relid, bool as_table);

#endif
