/*
 * fetched_columns.c - see fetched_columns.h.
 *
 * A row of the results was visible to the query's snapshot when its block was read or when
 * its cached block was confirmed. The snapshot is still registered, so the tuple is still
 * there under the same id (src/pg/source/heap/visibility/README.md has the proof), and
 * PostgreSQL's own fetch finds it.
 *
 * Owns a slot in the executor's tuple table. Called by stage_run.c for each row that is
 * returned. Ids come from the service: they are checked before a buffer is read.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "pg/compat/pg18.h"
#include "pg/stage/fetched_columns.h"

typedef struct FetchedColumn
{
	int		   column; /* of the filled slot, from 0 */
	AttrNumber attnum; /* of the table */
} FetchedColumn;

struct TbFetchedColumns
{
	EState		   *estate;
	Index			rti;
	const TbOutput *tid;  /* an output that names the row */
	Relation		rel;  /* NULL until the first row */
	BlockNumber		nblocks;
	TupleTableSlot *slot; /* of the table's tuples */
	AttrNumber		last; /* the largest attnum */
	int				count;
	FetchedColumn	columns[FLEXIBLE_ARRAY_MEMBER];
};

TbFetchedColumns *
tb_fetched_columns_make(PlanState *node, Index rti, const TbOutput *outputs, int noutputs)
{
	TbFetchedColumns *fetched = palloc0(offsetof(TbFetchedColumns, columns) +
										sizeof(FetchedColumn) * Max(noutputs, 1));

	fetched->estate = node->state;
	fetched->rti = rti;
	for (int i = 0; i < noutputs; i++)
	{
		if (outputs[i].kind != TB_OUT_FETCHED)
			continue;
		fetched->tid = &outputs[i];
		fetched->columns[fetched->count++] = (FetchedColumn) {i, outputs[i].second};
		fetched->last = Max(fetched->last, (AttrNumber) outputs[i].second);
	}
	if (fetched->count > 0)
		return fetched;
	pfree(fetched);
	return NULL;
}

/* With the first row: the executor has locked the table. */
static void
open_table(TbFetchedColumns *fetched)
{
	MemoryContext old = MemoryContextSwitchTo(fetched->estate->es_query_cxt);

	fetched->rel = ExecGetRangeTableRelation(fetched->estate, fetched->rti, false);
	fetched->slot = table_slot_create(fetched->rel, &fetched->estate->es_tupleTable);
	MemoryContextSwitchTo(old);
}

/* Whether the table may have a tuple with this id. It may have grown since the last look.
 */
static bool
is_possible(TbFetchedColumns *fetched, BlockNumber block, OffsetNumber offnum)
{
	if (offnum < FirstOffsetNumber || offnum > MaxHeapTuplesPerPage)
		return false;
	if (block >= fetched->nblocks)
		fetched->nblocks = RelationGetNumberOfBlocks(fetched->rel);
	return block < fetched->nblocks;
}

void
tb_fetched_columns_fill(TbFetchedColumns *fetched, const TbResultBatch *rows, uint32 row,
						TupleTableSlot *slot)
{
	int64			packed = tb_final_tid(fetched->tid, rows, row);
	BlockNumber		block = TB_TID_BLOCK(packed);
	OffsetNumber	offnum = TB_TID_OFFNUM(packed);
	ItemPointerData tid;

	if (fetched->rel == NULL)
		open_table(fetched);
	/* Find the tuple. */
	ItemPointerSet(&tid, block, offnum);
	if (!is_possible(fetched, block, offnum) ||
		!table_tuple_fetch_row_version(fetched->rel, &tid, fetched->estate->es_snapshot,
									   fetched->slot))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("tuple (%u,%u) of relation \"%s\" is not there any more", block,
						offnum, RelationGetRelationName(fetched->rel)),
				 errdetail("A row of this query has been found there."),
				 errhint("Check the table for corruption, for example with amcheck.")));
	/* Take its values; short tuples have their attributes' missing values. */
	slot_getsomeattrs(fetched->slot, fetched->last);
	for (int i = 0; i < fetched->count; i++)
	{
		const FetchedColumn *column = &fetched->columns[i];

		slot->tts_values[column->column] = fetched->slot->tts_values[column->attnum - 1];
		slot->tts_isnull[column->column] = fetched->slot->tts_isnull[column->attnum - 1];
	}
}

void
tb_fetched_columns_release(TbFetchedColumns *fetched)
{
	if (fetched != NULL && fetched->slot != NULL)
		ExecClearTuple(fetched->slot);
}
