/*
 * input_kinds.c - the one place that knows all kinds of inputs, with the table of those of
 * foreign tables (planner/foreign_inputs.c). Called when the executor prepares a node's
 * stages, and by partitions_input.c for leaves.
 */
#include "postgres.h"

#include "executor/executor.h"

#include "pg/planner/foreign_inputs.h"
#include "pg/source/heap/table_input.h"
#include "pg/source/plan_rows/plan_rows_input.h"
#include "pg/stage/input_kinds.h"
#include "pg/stage/partitions_input.h"
#include "pg/stage/plan_private.h"

static Plan *
child_plan(const CustomScan *plan, int number)
{
	return number < 0 ? NULL : list_nth(plan->custom_plans, number);
}

TbInput *
tb_relation_input_make(CustomScanState *css, Index rti, Plan *index_scan, int eflags)
{
	const RangeTblEntry *rte = exec_rt_fetch(rti, css->ss.ps.state);
	TbMakeForeignInput	 make = tb_foreign_input(rte->relid, rte->relkind);

	return make != NULL ? make(css, rti, eflags) :
						  tb_table_input_make(css, rti, index_scan, eflags);
}

TbInput *
tb_stage_input_make(CustomScanState *css, int stage, int eflags)
{
	CustomScan *plan = tb_stages_plan((CustomScan *) css->ss.ps.plan);
	TbStageInfo info = tb_private_stage(plan, stage);
	Index		rti = tb_private_notes(plan, stage).rti;

	if (info.source_plan >= 0)
		return tb_plan_rows_input_make(css, child_plan(plan, info.source_plan),
									   tb_private_source_columns(plan, stage),
									   info.nsource_columns, eflags);
	(void) ExecOpenScanRelation(css->ss.ps.state, rti, eflags);
	if (info.nleaves > 0)
		return tb_partitions_input_make(css, stage, eflags);
	return tb_relation_input_make(css, rti, child_plan(plan, info.brin_plan), eflags);
}
