/*
 * analyze.c - samples rows of foreign tables for ANALYZE: all are read, and a reservoir
 * keeps some, each with the same probability.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "commands/vacuum.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/sampling.h"

#include "pg/compat/pg18.h"
#include "pg/fdw/arrow_fdw.h"
#include "pg/fdw/file_scan.h"

/* Which of the kept rows the row that was read replaces; -1: it is passed over. */
static int
place_of_row(ReservoirStateData *reservoir, double *rows_to_skip, double rows_read,
			 int kept, int targrows)
{
	if (kept < targrows)
		return kept;
	if (*rows_to_skip < 0)
		*rows_to_skip = reservoir_get_next_S(reservoir, rows_read, targrows);
	*rows_to_skip -= 1;
	if (*rows_to_skip >= 0)
		return -1;
	return (int) (targrows * sampler_random_fract(&reservoir->randstate));
}

static int
sample_rows(Relation relation, int elevel, HeapTuple *rows, int targrows, double *totalrows,
			double *totaldeadrows)
{
	TupleDesc		   attributes = RelationGetDescr(relation);
	Datum			  *values = palloc0(sizeof(Datum) * Max(attributes->natts, 1));
	bool			  *nulls = palloc(sizeof(bool) * Max(attributes->natts, 1));
	MemoryContext	   row_context, saved;
	ReservoirStateData reservoir;
	TbFileScan		  *scan;
	double			   rows_to_skip = -1;
	int				   kept = 0;

	*totalrows = *totaldeadrows = 0;
	row_context = AllocSetContextCreate(CurrentMemoryContext, "a row of a file",
										ALLOCSET_DEFAULT_SIZES);
	reservoir_init_selection_state(&reservoir, targrows);
	scan = tb_file_scan_begin(tb_file_table_to_read(RelationGetRelid(relation)), NULL,
							  attributes, bms_make_singleton(0), NIL);
	/* Read all rows, keep some. */
	for (;;)
	{
		bool found;
		int	 place;

		vacuum_delay_point(true);
		MemoryContextReset(row_context);
		saved = MemoryContextSwitchTo(row_context);
		found = tb_file_scan_next(scan, values, nulls);
		MemoryContextSwitchTo(saved);
		if (!found)
			break;
		/* Does the sample take it? */
		place = place_of_row(&reservoir, &rows_to_skip, *totalrows, kept, targrows);
		*totalrows += 1;
		if (place < 0)
			continue;
		/* It may replace an earlier one. */
		if (place < kept)
			heap_freetuple(rows[place]);
		else
			kept++;
		rows[place] = heap_form_tuple(attributes, values, nulls);
	}
	tb_file_scan_end(scan);
	MemoryContextDelete(row_context);
	ereport(elevel,
			(errmsg("\"%s\": files contain %.0f rows; %d rows in sample",
					RelationGetRelationName(relation), *totalrows, kept)));
	return kept;
}

bool
tb_arrow_analyze(Relation relation, AcquireSampleRowsFunc *func, BlockNumber *totalpages)
{
	TbFileTable *table = tb_file_table(RelationGetRelid(relation));
	uint64		 bytes = 0;

	for (int i = 0; i < table->nfiles; i++)
		bytes += table->files[i].identity.size;
	*func = sample_rows;
	*totalpages = (BlockNumber) Min(bytes / BLCKSZ + 1, MaxBlockNumber);
	return true;
}
