/*
 * plan.c - plans scans of foreign tables of arrow_fdw.
 *
 * The files are listed and described when a query is planned, for their rows and bytes, and
 * again when it runs. Selectivities are PostgreSQL's, from the statistics of ANALYZE.
 */
#include "postgres.h"

#include <math.h>

#include "access/sysattr.h"
#include "access/table.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "utils/rel.h"

#include "pg/fdw/arrow_fdw.h"
#include "pg/fdw/scan_bounds.h"
#include "pg/fdw/virtual_value.h"
#include "pg/files/file_table.h"

/* Starting a reader, in units of seq_page_cost: it loads libraries of 60 MB. */
#define START_COST 100.0

/* Decoding and forming one value, in units of cpu_operator_cost. */
#define VALUE_COST 4.0

/* attnums of columns that the query refers to; 0 for whole rows. */
static Bitmapset *
referenced_columns(RelOptInfo *baserel)
{
	Bitmapset *offset = NULL;
	Bitmapset *attnums = NULL;
	ListCell  *cell;
	int		   member = -1;

	pull_varattnos((Node *) baserel->reltarget->exprs, baserel->relid, &offset);
	foreach(cell, baserel->baserestrictinfo)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, cell)->clause, baserel->relid,
					   &offset);
	while ((member = bms_next_member(offset, member)) >= 0)
	{
		int attnum = member + FirstLowInvalidHeapAttributeNumber;

		if (attnum >= 0)
			attnums = bms_add_member(attnums, attnum);
	}
	return attnums;
}

/* Bytes in files of the columns that are read. */
static double
column_bytes(const TbFileTable *table, const Bitmapset *attnums)
{
	bool   all = bms_is_member(0, attnums);
	double bytes = 0;

	for (int i = 0; i < table->nfiles; i++)
	{
		const TbTableFile *file = &table->files[i];

		for (int column = 0; column < table->ncolumns; column++)
		{
			if (file->file_columns[column] >= 0 &&
				(all || bms_is_member(column + 1, attnums)))
				bytes += file->description->column_bytes[file->file_columns[column]];
		}
	}
	return bytes;
}

void
tb_arrow_rel_size(PlannerInfo *root, RelOptInfo *baserel, Oid relid)
{
	TbFileTable *table = tb_file_table(relid);

	baserel->fdw_private = table;
	baserel->tuples = table->nrows;
	baserel->pages = ceil(column_bytes(table, referenced_columns(baserel)) / BLCKSZ);
	set_baserel_size_estimates(root, baserel);
}

void
tb_arrow_paths(PlannerInfo *root, RelOptInfo *baserel, Oid relid)
{
	const TbFileTable *table = baserel->fdw_private;
	Bitmapset		  *attnums = referenced_columns(baserel);
	int	 ncolumns = bms_is_member(0, attnums) ? table->ncolumns : bms_num_members(attnums);
	Cost startup = START_COST * seq_page_cost + baserel->baserestrictcost.startup;
	Cost run = column_bytes(table, attnums) / BLCKSZ * seq_page_cost;

	run += table->nrows *
		(cpu_tuple_cost + VALUE_COST * cpu_operator_cost * ncolumns +
		 baserel->baserestrictcost.per_tuple);
	startup += baserel->reltarget->cost.startup;
	run += baserel->reltarget->cost.per_tuple * baserel->rows;
	add_path(baserel,
			 (Path *) create_foreignscan_path(root, baserel, NULL, baserel->rows, startup,
											  startup + run, NIL, baserel->lateral_relids,
											  NULL, NIL));
}

ForeignScan *
tb_arrow_plan(PlannerInfo *root, RelOptInfo *baserel, Oid relid, ForeignPath *best_path,
			  List *tlist, List *scan_clauses, Plan *outer_plan)
{
	List		  *clauses = extract_actual_clauses(scan_clauses, false);
	TbBoundClauses bounds = tb_bound_clauses(clauses, baserel->relid);
	Bitmapset	  *attnums = referenced_columns(baserel);
	List		  *columns = NIL;
	int			   attnum = -1;

	while ((attnum = bms_next_member(attnums, attnum)) >= 0)
		columns = lappend_int(columns, attnum);
	return make_foreignscan(tlist, clauses, baserel->relid,
							list_make2(bounds.values,
									   tb_file_filters(clauses, baserel->relid,
													   baserel->fdw_private)),
							list_make3(columns, bounds.attnums, bounds.compares), NIL, NIL,
							outer_plan);
}
