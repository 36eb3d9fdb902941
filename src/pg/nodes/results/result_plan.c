/*
 * result_plan.c - see result_plan.h. Called by the planning of GpuSort.
 *
 * Owns the lists that are added to; a finished plan is plain bytes that travel in
 * custom_private.
 */
#include "postgres.h"

#include "pg/nodes/results/result_plan.h"

struct TbResultBuilder
{
	uint32 ncolumns;
	List  *keys;	   /* TbSortKey *, of the passes */
	List  *passes;	   /* TbWindowPass * */
	List  *functions;  /* TbWindowFunction * */
	List  *conditions; /* TbResultCondition * */
	List  *order;	   /* TbSortKey * */
	List  *steps;	   /* TbEstimateStep *, of the estimates */
	List  *estimates;  /* TbEstimate * */
	uint32 ndistinct;
	uint64 limit;
	bool   with_ties;
};

TbResultBuilder *
tb_result_create(uint32 ncolumns)
{
	TbResultBuilder *builder = palloc0(sizeof(TbResultBuilder));

	builder->ncolumns = ncolumns;
	builder->limit = TB_NO_LIMIT;
	return builder;
}

static void *
copy_of(const void *bytes, Size size)
{
	return memcpy(palloc(size), bytes, size);
}

void
tb_result_add_pass(TbResultBuilder *builder, const TbWindowPass *pass, List *keys)
{
	TbWindowPass *copy = copy_of(pass, sizeof(*pass));

	copy->first_key = list_length(builder->keys);
	copy->nkeys = list_length(keys);
	copy->first_function = list_length(builder->functions);
	copy->nfunctions = 0;
	builder->keys = list_concat(builder->keys, keys);
	builder->passes = lappend(builder->passes, copy);
}

uint32
tb_result_add_function(TbResultBuilder *builder, const TbWindowFunction *function)
{
	TbWindowPass *pass = llast(builder->passes);

	for (uint32 i = 0; i < pass->nfunctions; i++)
	{
		uint32 number = pass->first_function + i;

		if (memcmp(list_nth(builder->functions, number), function, sizeof(*function)) == 0)
			return builder->ncolumns + number;
	}
	builder->functions = lappend(builder->functions, copy_of(function, sizeof(*function)));
	pass->nfunctions++;
	return builder->ncolumns + list_length(builder->functions) - 1;
}

void
tb_result_add_condition(TbResultBuilder *builder, const TbResultCondition *condition)
{
	builder->conditions = lappend(builder->conditions,
								  copy_of(condition, sizeof(*condition)));
}

void
tb_result_add_estimate(TbResultBuilder *builder, TbEstimateRole role, uint32 flags,
					   List *steps)
{
	TbEstimate estimate = {.first_step = list_length(builder->steps),
						   .nsteps = list_length(steps),
						   .role = role,
						   .flags = flags};

	builder->steps = list_concat(builder->steps, steps);
	builder->estimates = lappend(builder->estimates, copy_of(&estimate, sizeof(estimate)));
}

void
tb_result_set_order(TbResultBuilder *builder, List *keys, uint32 ndistinct)
{
	builder->order = keys;
	builder->ndistinct = ndistinct;
}

void
tb_result_set_limit(TbResultBuilder *builder, uint64 limit, bool with_ties)
{
	builder->limit = limit;
	builder->with_ties = with_ties;
}

static TbSection
reserve(uint32 *total, const List *list, Size size)
{
	TbSection section;

	*total = TYPEALIGN(8, *total);
	section.count = list_length(list);
	section.offset = *total;
	*total += section.count * size;
	return section;
}

static void
write_section(TbResultPlan *plan, TbSection section, const List *list, Size size)
{
	char	 *to = (char *) plan + section.offset;
	ListCell *lc;

	foreach(lc, list)
	{
		memcpy(to, lfirst(lc), size);
		to += size;
	}
}

TbResultPlan *
tb_result_finish(const TbResultBuilder *builder)
{
	List		 *keys = list_concat_copy(builder->keys, builder->order);
	uint32		  total = sizeof(TbResultPlan);
	TbResultPlan  header = {0};
	TbResultPlan *plan;

	/* Is it within the limits? */
	if (list_length(keys) > TB_MAX_SORT_KEYS ||
		list_length(builder->passes) > TB_MAX_WINDOW_PASSES ||
		list_length(builder->functions) > TB_MAX_WINDOW_FUNCTIONS ||
		list_length(builder->conditions) > TB_MAX_RESULT_CONDITIONS ||
		list_length(builder->steps) > TB_MAX_ESTIMATE_STEPS ||
		list_length(builder->estimates) > TB_MAX_ESTIMATES)
		return NULL;
	/* What the engine reads first. */
	header.magic = TB_RESULT_MAGIC;
	header.version = TB_RESULT_VERSION;
	header.flags = builder->with_ties ? TB_RESULT_WITH_TIES : 0;
	header.first_key = list_length(builder->keys);
	header.nkeys = list_length(builder->order);
	header.ndistinct = builder->ndistinct;
	header.limit = builder->limit;
	header.ncolumns = builder->ncolumns;
	/* Where arrays will lie. */
	header.keys = reserve(&total, keys, sizeof(TbSortKey));
	header.passes = reserve(&total, builder->passes, sizeof(TbWindowPass));
	header.functions = reserve(&total, builder->functions, sizeof(TbWindowFunction));
	header.conditions = reserve(&total, builder->conditions, sizeof(TbResultCondition));
	header.steps = reserve(&total, builder->steps, sizeof(TbEstimateStep));
	header.estimates = reserve(&total, builder->estimates, sizeof(TbEstimate));
	header.total_size = total;

	/* Write them. */
	plan = palloc0(total);
	*plan = header;
	write_section(plan, plan->keys, keys, sizeof(TbSortKey));
	write_section(plan, plan->passes, builder->passes, sizeof(TbWindowPass));
	write_section(plan, plan->functions, builder->functions, sizeof(TbWindowFunction));
	write_section(plan, plan->conditions, builder->conditions, sizeof(TbResultCondition));
	write_section(plan, plan->steps, builder->steps, sizeof(TbEstimateStep));
	write_section(plan, plan->estimates, builder->estimates, sizeof(TbEstimate));
	return plan;
}

const TbSortKey *
tb_result_keys(const TbResultPlan *plan)
{
	return (const TbSortKey *) ((const char *) plan + plan->keys.offset);
}

const TbWindowPass *
tb_result_passes(const TbResultPlan *plan)
{
	return (const TbWindowPass *) ((const char *) plan + plan->passes.offset);
}

const TbWindowFunction *
tb_result_functions(const TbResultPlan *plan)
{
	return (const TbWindowFunction *) ((const char *) plan + plan->functions.offset);
}

const TbResultCondition *
tb_result_conditions(const TbResultPlan *plan)
{
	return (const TbResultCondition *) ((const char *) plan + plan->conditions.offset);
}
