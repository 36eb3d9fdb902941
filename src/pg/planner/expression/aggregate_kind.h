/*
 * aggregate_kind.h - which of PostgreSQL's aggregates a function is, as an aggregate
 * or over a window.
 */
#ifndef TURBINE_PG_PLANNER_EXPRESSION_AGGREGATE_KIND_H
#define TURBINE_PG_PLANNER_EXPRESSION_AGGREGATE_KIND_H

#include "postgres.h"

typedef enum TbAggregateKind
{
	TB_AGGREGATE_UNKNOWN, /* not in the catalogue */
	TB_AGGREGATE_COUNT,
	TB_AGGREGATE_SUM,
	TB_AGGREGATE_AVG,
	TB_AGGREGATE_MIN,
	TB_AGGREGATE_MAX,
	TB_AGGREGATE_BOOL_AND,
	TB_AGGREGATE_BOOL_OR
} TbAggregateKind;

extern TbAggregateKind tb_aggregate_kind(Oid funcid);

extern bool tb_is_one_of(Oid funcid, const Oid *funcids, int count);

#define TB_IS_ONE_OF(funcid, ...) \
	tb_is_one_of(funcid, (const Oid[]) {__VA_ARGS__}, \
				 lengthof(((const Oid[]) {__VA_ARGS__})))

#endif
