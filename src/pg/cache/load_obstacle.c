/*
 * load_obstacle.c - see load_obstacle.h. Called by turbine.cache_load().
 *
 * Says beforehand what planner/relation_check.c and
 * source/heap/visibility/direct_classify.c would decide of each block. Reads the catalog
 * and the visibility map, and must never change anything.
 */
#include "postgres.h"

#include "access/visibilitymap.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "storage/bufmgr.h"
#include "utils/snapmgr.h"

#include "pg/cache/load_obstacle.h"
#include "pg/settings/guc.h"

/* Of the table's kind and storage. */
static TbLoadObstacle
storage_obstacle(Relation rel)
{
	if (rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
		return (TbLoadObstacle) {"It is a foreign table."};
	if (rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		return (TbLoadObstacle) {"Its access method is not heap."};
	if (IsCatalogRelation(rel))
		return (TbLoadObstacle) {"It is a system catalog."};
	switch (rel->rd_rel->relpersistence)
	{
		case RELPERSISTENCE_TEMP:
			return (TbLoadObstacle) {"It is a temporary table."};
		case RELPERSISTENCE_UNLOGGED:
			return (TbLoadObstacle) {
				"It is unlogged: nothing tells whether its blocks have changed.",
				"Make it a logged table with ALTER TABLE ... SET LOGGED."};
		default:
			return (TbLoadObstacle) {NULL};
	}
}

/* Of the transaction, and the server's settings. */
static TbLoadObstacle
transaction_obstacle(Relation rel)
{
	if (IsolationIsSerializable())
		return (TbLoadObstacle) {"The transaction is serializable.",
								 "Load it in a transaction of another isolation level."};
	if (old_snapshot_threshold >= 0)
		return (TbLoadObstacle) {"old_snapshot_threshold is set."};
	if (rel->rd_createSubid != InvalidSubTransactionId ||
		rel->rd_newRelfilenodeSubid != InvalidSubTransactionId ||
		rel->rd_firstRelfilenodeSubid != InvalidSubTransactionId)
		return (TbLoadObstacle) {"This transaction has created or rewritten it.",
								 "Commit first."};
	return (TbLoadObstacle) {NULL};
}

static TbLoadObstacle
block_obstacle(Relation rel)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(rel);
	BlockNumber all_visible;

	if (nblocks == 0)
		return (TbLoadObstacle) {"It is empty."};
	visibilitymap_count(rel, &all_visible, NULL);
	if (all_visible == 0)
		return (TbLoadObstacle) {"None of its blocks is known to be visible to everybody.",
								 "VACUUM the table, then load it."};
	if (nblocks >= TB_FEW_BLOCKS && nblocks < (BlockNumber) tb_guc_direct_threshold)
		return (TbLoadObstacle) {
			psprintf(
				"It has %u blocks, fewer than pg_turbine.direct_threshold, which is %d.",
				nblocks, tb_guc_direct_threshold),
			"Lower pg_turbine.direct_threshold, for the queries that are to use the cache too."};
	return (TbLoadObstacle) {NULL};
}

TbLoadObstacle
tb_load_obstacle(Relation rel, int columns)
{
	TbLoadObstacle obstacle = storage_obstacle(rel);

	if (obstacle.detail == NULL && columns == 0)
		obstacle.detail = "None of the columns has a type that devices know.";
	if (obstacle.detail == NULL)
		obstacle = transaction_obstacle(rel);
	if (obstacle.detail == NULL)
		obstacle = block_obstacle(rel);
	return obstacle;
}

void
tb_require_loadable_kind(Relation rel)
{
	char kind = rel->rd_rel->relkind;

	if (kind != RELKIND_RELATION && kind != RELKIND_MATVIEW &&
		kind != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot load relation \"%s\" into the column cache",
						RelationGetRelationName(rel)),
				 errdetail_relkind_not_supported(kind)));
}
