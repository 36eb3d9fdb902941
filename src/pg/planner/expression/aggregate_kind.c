/*
 * aggregate_kind.c - see aggregate_kind.h. Called by the planning of GpuPreAgg and of
 * GpuSort's windows; what they can compute of it, by type, is theirs to say.
 *
 * Answers from built-in OIDs alone.
 */
#include "postgres.h"

#include "utils/fmgroids.h"

#include "pg/planner/expression/aggregate_kind.h"

bool
tb_is_one_of(Oid funcid, const Oid *funcids, int count)
{
	for (int i = 0; i < count; i++)
		if (funcids[i] == funcid)
			return true;
	return false;
}

TbAggregateKind
tb_aggregate_kind(Oid f)
{
	if (TB_IS_ONE_OF(f, F_COUNT_, F_COUNT_ANY))
		return TB_AGGREGATE_COUNT;
	if (TB_IS_ONE_OF(f, F_SUM_INT2, F_SUM_INT4, F_SUM_INT8, F_SUM_NUMERIC, F_SUM_FLOAT4,
					 F_SUM_FLOAT8))
		return TB_AGGREGATE_SUM;
	if (TB_IS_ONE_OF(f, F_AVG_INT2, F_AVG_INT4, F_AVG_INT8, F_AVG_NUMERIC, F_AVG_FLOAT4,
					 F_AVG_FLOAT8))
		return TB_AGGREGATE_AVG;
	if (TB_IS_ONE_OF(f, F_MIN_INT2, F_MIN_INT4, F_MIN_INT8, F_MIN_FLOAT4, F_MIN_FLOAT8,
					 F_MIN_DATE, F_MIN_TIMESTAMP, F_MIN_TIMESTAMPTZ, F_MIN_NUMERIC,
					 F_MIN_TEXT, F_MIN_BPCHAR))
		return TB_AGGREGATE_MIN;
	if (TB_IS_ONE_OF(f, F_MAX_INT2, F_MAX_INT4, F_MAX_INT8, F_MAX_FLOAT4, F_MAX_FLOAT8,
					 F_MAX_DATE, F_MAX_TIMESTAMP, F_MAX_TIMESTAMPTZ, F_MAX_NUMERIC,
					 F_MAX_TEXT, F_MAX_BPCHAR))
		return TB_AGGREGATE_MAX;
	if (TB_IS_ONE_OF(f, F_BOOL_AND, F_EVERY))
		return TB_AGGREGATE_BOOL_AND;
	return f == F_BOOL_OR ? TB_AGGREGATE_BOOL_OR : TB_AGGREGATE_UNKNOWN;
}
