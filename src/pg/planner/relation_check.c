/*
 * relation_check.c - may this table of this query be read by us at all?
 *
 * The reasons not to are about the table's kind and storage, the statement
 * (row marks, data-modifying commands), and what of the tuple is wanted.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "pg/compat/pg17.h"
#include "pg/files/file_relation.h"
#include "pg/planner/foreign_inputs.h"
#include "pg/settings/guc.h"
#include "pg/planner/relation_check.h"

bool
tb_isolation_qualifies(void)
{
	/* Predicate locks are taken tuple by tuple inside heapam. */
	return !IsolationIsSerializable();
}

static const char *
check_statement(PlannerInfo *root)
{
	if (root->parse->commandType != CMD_SELECT && root->parse->commandType != CMD_INSERT)
		return "the command modifies rows of what it reads";
	if (root->parse->rowMarks != NIL || root->rowMarks != NIL)
		return "rows are locked";
	if (!tb_isolation_qualifies())
		return "the isolation level is serializable";
	if (TB_SNAPSHOTS_GROW_TOO_OLD)
		return "old_snapshot_threshold is set";
	return NULL;
}

static const char *
check_entry(RelOptInfo *rel, RangeTblEntry *rte)
{
	if (rel->rtekind != RTE_RELATION || rte->rtekind != RTE_RELATION)
		return "it is not a table";
	if (rel->reloptkind != RELOPT_BASEREL && rel->reloptkind != RELOPT_OTHER_MEMBER_REL)
		return "it is not a table";
	if (rte->inh)
		return "it is a partitioned table or has children";
	if (rte->relkind != RELKIND_RELATION && rte->relkind != RELKIND_MATVIEW &&
		tb_foreign_input(rte->relid, rte->relkind) == NULL)
		return "it is not a table";
	if (rte->tablesample != NULL)
		return "TABLESAMPLE";
	if (!bms_is_empty(rel->lateral_relids))
		return "it refers to other tables laterally";
	if (IsCatalogRelationOid(rte->relid))
		return "it is a system catalog";
	return NULL;
}

static const char *
check_storage(RangeTblEntry *rte)
{
	Relation	relation;
	const char *reason = NULL;

	if (rte->relkind == RELKIND_FOREIGN_TABLE)
		return NULL;
	relation = table_open(rte->relid, NoLock);
	if (relation->rd_rel->relam != HEAP_TABLE_AM_OID)
		reason = "its access method is not heap";
	else if (relation->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		reason = "it is a temporary table";
	table_close(relation, NoLock);
	return reason;
}

/* ctid and tableoid are known of every tuple; the other system columns may be
 * torn in pages that are read directly. */
static const char *
check_attributes(RelOptInfo *rel, bool of_files)
{
	Bitmapset *wanted = NULL;
	ListCell  *lc;
	int		   bit = -1;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &wanted);
	foreach(lc, rel->baserestrictinfo)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, lc)->clause, rel->relid, &wanted);
	while ((bit = bms_next_member(wanted, bit)) >= 0)
	{
		AttrNumber attnum = bit + FirstLowInvalidHeapAttributeNumber;

		if (attnum == 0 && of_files)
			return "a whole row of a foreign table is wanted";
		if (attnum < 0 && of_files)
			return "a system column of a foreign table is wanted";
		if (attnum < 0 && attnum != SelfItemPointerAttributeNumber &&
			attnum != TableOidAttributeNumber)
			return "a system column other than ctid and tableoid is wanted";
	}
	return NULL;
}

bool
tb_relation_qualifies(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte,
					  const char **reason)
{
	*reason = check_entry(rel, rte);
	if (*reason == NULL)
		*reason = check_statement(root);
	if (*reason == NULL)
		*reason = check_storage(rte);
	if (*reason == NULL)
		*reason = check_attributes(rel, rte->relkind == RELKIND_FOREIGN_TABLE);
	return *reason == NULL;
}

static const char *
check_partition(RangeTblEntry *rte)
{
	if (rte->relkind == RELKIND_FOREIGN_TABLE &&
		!tb_is_file_table(rte->relid, rte->relkind))
		return "a partition is a foreign table";
	if (rte->relkind != RELKIND_RELATION && rte->relkind != RELKIND_FOREIGN_TABLE)
		return "a partition is not a table";
	return check_storage(rte);
}

static const char *
check_partitions(PlannerInfo *root, const TbPartitions *partitions)
{
	const char *reason = NULL;
	ListCell   *lc;

	foreach(lc, partitions->leaves)
	{
		const TbLeaf *leaf = lfirst(lc);

		reason = check_partition(planner_rt_fetch(leaf->rel->relid, root));
		if (reason != NULL)
			break;
	}
	return reason;
}

bool
tb_partitioned_qualifies(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte,
						 const TbPartitions *partitions, const char **reason)
{
	*reason = NULL;
	if (!tb_guc_enable_partitionwise)
		*reason = "pg_turbine.enable_partitionwise is off";
	else if (rte->tablesample != NULL)
		*reason = "TABLESAMPLE";
	else if (!bms_is_empty(rel->lateral_relids))
		*reason = "it refers to other tables laterally";
	if (*reason == NULL)
		*reason = check_statement(root);
	if (*reason == NULL)
		*reason = check_partitions(root, partitions);
	if (*reason == NULL)
		*reason = check_attributes(rel, false);
	return *reason == NULL;
}

bool
tb_statement_qualifies(PlannerInfo *root, const char **reason)
{
	*reason = check_statement(root);
	return *reason == NULL;
}

bool
tb_rows_qualify(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte, const char **reason)
{
	bool is_volatile = contain_volatile_functions((Node *) rel->baserestrictinfo);

	switch (rte->rtekind)
	{
		case RTE_RELATION:
			break;
		case RTE_SUBQUERY:
			is_volatile = is_volatile || contain_volatile_functions((Node *) rte->subquery);
			break;
		case RTE_FUNCTION:
			is_volatile = is_volatile ||
				contain_volatile_functions((Node *) rte->functions);
			break;
		case RTE_TABLEFUNC: /* XMLTABLE, and JSON_TABLE since 17 */
			is_volatile = is_volatile ||
				contain_volatile_functions((Node *) rte->tablefunc);
			break;
		case RTE_VALUES:
			is_volatile = is_volatile ||
				contain_volatile_functions((Node *) rte->values_lists);
			break;
		case RTE_CTE:
			if (rte->self_reference)
			{
				*reason = "the working table of a recursive query is joined";
				return false;
			}
			break;
		default:
			*reason = "a relation of a kind whose rows cannot be sent";
			return false;
	}
	if (is_volatile)
		*reason = "a volatile function in a joined subquery";
	else if (!bms_is_empty(rel->lateral_relids))
		*reason = "it refers to other tables laterally";
	else
		return true;
	return false;
}

/* As order_qual_clauses() of createplan.c does. */
static bool
is_before(PlannerInfo *root, RestrictInfo *a, RestrictInfo *b)
{
	QualCost cost_a;
	QualCost cost_b;
	Index	 level_a;
	Index	 level_b;

	cost_qual_eval_node(&cost_a, (Node *) a, root);
	cost_qual_eval_node(&cost_b, (Node *) b, root);
	level_a = a->leakproof && cost_a.per_tuple < 10 * cpu_operator_cost ? 0 :
																		  a->security_level;
	level_b = b->leakproof && cost_b.per_tuple < 10 * cpu_operator_cost ? 0 :
																		  b->security_level;
	if (level_a != level_b)
		return level_a < level_b;
	return cost_a.per_tuple < cost_b.per_tuple;
}

List *
tb_ordered_clauses(PlannerInfo *root, RelOptInfo *rel)
{
	List	 *result = NIL;
	ListCell *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		int			  position = list_length(result);

		if (rinfo->pseudoconstant)
			continue;
		while (position > 0 && is_before(root, rinfo, list_nth(result, position - 1)))
			position--;
		result = list_insert_nth(result, position, rinfo);
	}
	return result;
}
