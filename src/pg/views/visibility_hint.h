/*
 * visibility_hint.h - why most of a table's blocks are not all-visible, as far as can be
 * told.
 */
#ifndef TURBINE_PG_VIEWS_VISIBILITY_HINT_H
#define TURBINE_PG_VIEWS_VISIBILITY_HINT_H

#include "postgres.h"

/* A sentence for the user, palloc'd; NULL where there is nothing to say: the table is
 * small, of another kind, or most of its blocks are all-visible. */
extern char *tb_visibility_hint(Oid relid);

#endif
