/*
 * column_hints.c - see column_hints.h. Noted by rivals.c, sent by the planner hook when a
 * run of the planner ends.
 *
 * A plan scans a table if it reads all of it, or of a partition, row by row or by a
 * GpuScan. An index, or BRIN, may lead to a few pages of it: such plans ask for nothing.
 * Nor do nodes of ours that read columns, since what they read is cached by that.
 *
 * Owns nothing: the list is the run's. Must never make planning fail.
 */
#include "postgres.h"

#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "pg/cache/cache_policy.h"
#include "pg/convert/type_map.h"
#include "pg/planner/program/column_hints.h"
#include "pg/planner/program/compile_hints.h"
#include "pg/planner/planning.h"
#include "pg/plans/our_nodes.h"
#include "pg/plans/plan_walk.h"
#include "pg/settings/service_settings.h"
#include "pg/shmem/wanted_columns.h"

typedef struct ColumnHint
{
	Oid		   relid;
	Bitmapset *columns;
	List	  *stages; /* of nodes that want them */
} ColumnHint;

/* Whether a load reads the column: a numeric without precision and scale it leaves out. */
static bool
is_loadable(Oid relid, AttrNumber attnum)
{
	Oid		   typid;
	int32	   typmod;
	Oid		   collation;
	TbTypeInfo info;

	get_atttypetypmodcoll(relid, attnum, &typid, &typmod, &collation);
	return tb_type_of(typid, typmod, &info);
}

/* Of the probe side. None if a load would leave one out, since all are needed. */
static Bitmapset *
columns_of_program(Oid relid, const TbProgram *program)
{
	const TbColumn *columns = (const TbColumn *) ((const char *) program +
												  program->columns.offset);
	Bitmapset	   *result = NULL;

	for (uint32 i = 0; i < program->columns.count; i++)
	{
		/* Tuple ids are loaded in any case. */
		if (columns[i].join != 0 || columns[i].attnum == 0)
			continue;
		if (!is_loadable(relid, columns[i].attnum))
			return NULL;
		result = bms_add_member(result, columns[i].attnum);
	}
	return result;
}

void
tb_column_hints_note(Oid relid, const TbProgram *program, const TbWork *work, List *stages)
{
	List	  **hints = &tb_planning()->column_hints;
	ColumnHint *hint;
	Bitmapset  *columns;
	ListCell   *lc;

	if (!tb_cache_background_load || !OidIsValid(relid) || program == NULL ||
		work->cached >= work->cacheable)
		return;
	columns = columns_of_program(relid, program);
	if (columns == NULL)
		return;
	/* One hint a table: shapes of a node differ little in what they read. */
	foreach(lc, *hints)
	{
		hint = lfirst(lc);
		if (hint->relid == relid)
		{
			hint->columns = bms_add_members(hint->columns, columns);
			hint->stages = list_concat_unique_ptr(hint->stages, stages);
			return;
		}
	}
	hint = palloc(sizeof(ColumnHint));
	hint->relid = relid;
	hint->columns = columns;
	hint->stages = list_copy(stages);
	*hints = lappend(*hints, hint);
}

/* Whether the table is the hint's, or a partition of it. */
static bool
is_part_of(const RangeTblEntry *rte, Oid top)
{
	return rte->relid == top ||
		(get_rel_relispartition(rte->relid) &&
		 list_member_oid(get_partition_ancestors(rte->relid), top));
}

static void
ask_for(const RangeTblEntry *rte)
{
	ListCell *lc;

	if (rte->rtekind != RTE_RELATION ||
		get_rel_persistence(rte->relid) != RELPERSISTENCE_PERMANENT ||
		tb_cache_policy_of(rte->relid) == TB_CACHE_OFF)
		return;
	foreach(lc, tb_planning()->column_hints)
	{
		const ColumnHint *hint = lfirst(lc);

		if (!is_part_of(rte, hint->relid))
			continue;
		tb_wanted_columns_ask(rte->relid,
							  tb_columns_in_leaf(hint->relid, rte->relid, hint->columns));
		tb_compile_hints_note(hint->stages);
	}
}

/* `stmt`: whose node it is. */
static bool
visit_scan(Plan *plan, void *stmt)
{
	TbNodeKind kind = tb_node_kind(plan);
	bool	   is_scan = IsA(plan, SeqScan) ||
		(kind == TB_NODE_SCAN && ((const CustomScan *) plan)->custom_plans == NIL);

	if (is_scan)
		ask_for(rt_fetch(((const Scan *) plan)->scanrelid,
						 ((const PlannedStmt *) stmt)->rtable));
	/* Below nodes of ours are plans that run in their place, if anything. */
	return kind == TB_NODE_NONE || kind == TB_NODE_DISTINCT;
}

void
tb_column_hints_send(const PlannedStmt *stmt)
{
	if (tb_planning()->column_hints == NIL || tb_planning()->plain_explain)
		return;
	tb_walk_statement(unconstify(PlannedStmt *, stmt), visit_scan,
					  unconstify(PlannedStmt *, stmt));
}
