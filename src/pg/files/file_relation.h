/*
 * file_relation.h - whether a relation is a foreign table of arrow_fdw; whose any foreign
 * table is.
 */
#ifndef TURBINE_PG_FILES_FILE_RELATION_H
#define TURBINE_PG_FILES_FILE_RELATION_H

#include "postgres.h"

#include "fmgr.h"

/* The handler of a foreign table's wrapper, by which it is known, whatever a user has
 * called it. NULL: it has none. */
extern PGFunction tb_foreign_handler(Oid relid);

/* `relkind`: of the relation. */
extern bool tb_is_file_table(Oid relid, char relkind);

#endif
