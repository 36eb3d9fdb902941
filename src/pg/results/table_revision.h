/*
 * table_revision.h - which rows of a table a snapshot sees, so that a copy of them can be
 * known to be right still.
 */
#ifndef TURBINE_PG_RESULTS_TABLE_REVISION_H
#define TURBINE_PG_RESULTS_TABLE_REVISION_H

#include "postgres.h"

#include "utils/relcache.h"

typedef struct TbTableRevision TbTableRevision;

/* For the active snapshot, of a table that this transaction has not changed; palloc'd.
 * NULL: nothing is known of it, and a copy is right once only. */
extern TbTableRevision *tb_table_revision_of(Relation rel);

/* What is known of a copy that was made under the active snapshot between both calls. */
extern TbTableRevision *tb_table_revision_between(const TbTableRevision *before,
												  const TbTableRevision *after);

/* Whether what a snapshot saw at `then` is what the one of `now` sees. False says nothing.
 */
extern bool tb_table_revision_is(const TbTableRevision *then, const TbTableRevision *now);

extern void tb_table_revision_free(TbTableRevision *revision);

#endif
