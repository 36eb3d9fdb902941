/*
 * gpu_windows.c - whether a GPU would compute a node's window functions itself.
 *
 * Called when a node is costed. Owns nothing.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/selfuncs.h"

#include "pg/nodes/sort/gpu_windows.h"

/* The type of a result's column; of one that no output names, any number's. */
static uint32
column_type(const TbSortInput *input, uint32 column)
{
	ListCell *lc;

	foreach(lc, input->columns.outputs)
	{
		const TbOutput *output = lfirst(lc);

		if (output->first == column)
			return output->type;
	}
	return TB_TYPE_INT8;
}

static bool
has_texts(const TbSortInput *input)
{
	ListCell *lc;

	foreach(lc, input->columns.outputs)
		if (tb_type_is_text(((const TbOutput *) lfirst(lc))->type))
			return true;
	return false;
}

bool
tb_sort_windows_on_gpu(const TbSortPlan *plan)
{
	const TbResultPlan	   *result = plan->result;
	const TbWindowPass	   *pass = tb_result_passes(result);
	const TbWindowFunction *functions = tb_result_functions(result);

	if (plan->input->groups != NULL || result->passes.count != 1 || result->ndistinct > 0 ||
		(result->flags & TB_RESULT_WITH_TIES) != 0 || pass->nkeys > TB_GPU_WINDOW_KEYS ||
		pass->nfunctions > TB_GPU_WINDOW_FUNCTIONS ||
		result->conditions.count > TB_GPU_WINDOW_CONDITIONS || has_texts(plan->input))
		return false;
	for (uint32 i = 0; i < pass->nfunctions; i++)
	{
		uint32 arg = functions[i].arg;

		if (!tb_window_on_gpu(pass, functions[i].kind,
							  arg == TB_NONE ? TB_TYPE_INVALID :
											   column_type(plan->input, arg)))
			return false;
	}
	return true;
}

/* Does the condition say how many rows of a partition stay at most? */
static bool
limits_partition(const TbResultPlan *result, const TbResultCondition *condition)
{
	switch (tb_result_functions(result)[condition->column - result->ncolumns].kind)
	{
		case TB_WINDOW_ROW_NUMBER:
		case TB_WINDOW_RANK:
		case TB_WINDOW_DENSE_RANK:
			return (condition->flags & TB_CONDITION_AT_LEAST) == 0;
		default:
			return false;
	}
}

double
tb_sort_rows_left(PlannerInfo *root, const TbSortPlan *plan)
{
	const TbResultPlan		*result = plan->result;
	const TbResultCondition *conditions = tb_result_conditions(result);
	const WindowClause		*window = linitial(plan->request.windows);
	double					 left = Min(plan->returned, plan->input->rows);
	double					 partitions = -1;

	for (uint32 i = 0; i < result->conditions.count; i++)
	{
		if (!limits_partition(result, &conditions[i]))
			continue;
		if (partitions < 0)
			partitions = window->partitionClause == NIL ?
				1 :
				estimate_num_groups(root,
									get_sortgrouplist_exprs(window->partitionClause,
															root->processed_tlist),
									plan->input->rows, NULL, NULL);
		left = Min(left, partitions * Max((double) conditions[i].bound, 0));
	}
	return left;
}
