/*
 * file_relation.h - whether a relation is a foreign table of arrow_fdw.
 */
#ifndef TURBINE_PG_FILES_FILE_RELATION_H
#define TURBINE_PG_FILES_FILE_RELATION_H

#include "postgres.h"

/* `relkind`: of the relation. */
extern bool tb_is_file_table(Oid relid, char relkind);

#endif
