/*
 * folded_group.h - a group that is made in the backend, of groups that devices returned or
 * of other folded ones.
 *
 * It is a TbResultBatch of one row without values of keys, so that final functions are
 * those of any other group.
 */
#ifndef TURBINE_PG_NODES_AGGREGATE_FOLDED_GROUP_H
#define TURBINE_PG_NODES_AGGREGATE_FOLDED_GROUP_H

#include "postgres.h"

#include "turbine/program.h"
#include "turbine/wire.h"

#include "pg/nodes/aggregate/set_fold.h"

/* What the groups of all sets of a plan have in common. In the current context. */
typedef struct TbFoldedGroups TbFoldedGroups;

extern TbFoldedGroups *tb_folded_groups_make(const TbGroupingSets *sets,
											 const TbProgram	  *program);

/* About what one takes whose rows have so many columns. */
extern Size tb_folded_group_bytes(int ncolumns);

/* A group of no rows, of the set with these keys. */
extern TbResultBatch *tb_folded_group_make(const TbFoldedGroups *groups,
										   MemoryContext context, uint64 set);

/* Adds a group of all keys, row number `row` of a device's, with its computed keys; texts
 * are copied to the context of `group`. False: a sum does not fit. */
extern bool tb_folded_group_add_whole(const TbFoldedGroups *groups, MemoryContext context,
									  TbResultBatch *group, const TbResultBatch *batch,
									  uint32 row, const Datum *computed,
									  const bool *isnull);

/* The same of a folded group. */
extern bool tb_folded_group_add(const TbFoldedGroups *groups, MemoryContext context,
								TbResultBatch *group, const TbResultBatch *from);

/* The group, or a copy of it in which texts are as in any TbResultBatch: views of bytes
 * behind it. */
extern const TbResultBatch *tb_folded_group_view(const TbFoldedGroups *groups,
												 const TbResultBatch  *group);

#endif
