/*
 * program_builder_test.c - what serialized programs keep, drop and share.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"

#include "pg/planner/program/program_builder.h"
#include "pg/testing/unit_test.h"

static TupleDesc
make_desc(void)
{
	TupleDesc desc = CreateTemplateTupleDesc(4);

	TupleDescInitBuiltinEntry(desc, 1, "a", INT4OID, -1, 0);
	TupleDescInitBuiltinEntry(desc, 2, "b", INT8OID, -1, 0);
	TupleDescInitBuiltinEntry(desc, 3, "c", TEXTOID, -1, 0);
	TupleDescInitBuiltinEntry(desc, 4, "d", INT4OID, -1, 0);
	return desc;
}

static TbValue
literal(TbBuilder *builder, int32 value)
{
	TbTypeInfo info = {TB_TYPE_INT4, 0, 0};

	return tb_builder_param(builder,
							(Expr *) makeConst(INT4OID, -1, InvalidOid, 4,
											   Int32GetDatum(value), false, true),
							info, 0);
}

/* A filter over the column: it is NULL. Nodes that nothing uses are added as well. */
static TbProgram *
null_filter(AttrNumber attnum, int unused, List **params)
{
	TbBuilder	 *builder = tb_builder_create(make_desc());
	TbTypeInfo	  boolean = {TB_TYPE_BOOL, 0, 0};
	TbProgramCost cost;
	TbValue		  column;
	TbValue		  filter;

	for (int i = 0; i < unused; i++)
	{
		TbValue value;

		CHECK(tb_builder_column(builder, (AttrNumber) (1 + i % 4), &value));
		(void) literal(builder, i);
	}
	CHECK(tb_builder_column(builder, attnum, &column));
	filter = tb_builder_expr(builder, TB_EXPR_IS_NULL, boolean, 0, 1, &column, false);
	tb_builder_add_filter(builder, &filter);
	return tb_builder_finish(builder, TB_SINK_ROWS, params, &cost);
}

TB_TEST(programs_drop_what_nothing_uses)
{
	List	  *params;
	TbProgram *lean = null_filter(1, 0, &params);
	TbProgram *cluttered = null_filter(1, 9, &params);

	CHECK(lean != NULL && cluttered != NULL);
	CHECK(params == NIL);
	CHECK(lean->total_size == cluttered->total_size);
	CHECK(memcmp(lean, cluttered, lean->total_size) == 0);
	CHECK(lean->columns.count == 1 && lean->exprs.count == 2 && lean->filters.count == 1);
}

TB_TEST(programs_of_other_columns_differ)
{
	List	  *params;
	TbProgram *first = null_filter(1, 0, &params);
	TbProgram *last = null_filter(4, 0, &params);

	CHECK(first->total_size == last->total_size);
	CHECK(memcmp(first, last, first->total_size) != 0);
}

TB_TEST(sections_lie_within_the_program)
{
	List *params;

	for (AttrNumber attnum = 1; attnum <= 4; attnum++)
	{
		TbProgram		   *program = null_filter(attnum, 3, &params);
		const TbSection	   *sections = &program->attributes;
		static const uint32 sizes[] = {sizeof(TbAttribute),
									   sizeof(TbColumn),
									   sizeof(TbExpr),
									   4,
									   4,
									   4,
									   sizeof(TbAgg),
									   sizeof(TbParamShape),
									   4,
									   sizeof(TbJoin)};

		CHECK(program->magic == TB_PROGRAM_MAGIC && program->sink == TB_SINK_ROWS);
		for (int i = 0; i < lengthof(sizes); i++)
			CHECK(
				sections[i].count == 0 ||
				(sections[i].offset >= sizeof(TbProgram) &&
				 sections[i].offset + sections[i].count * sizes[i] <= program->total_size));
	}
}

/* Literals are parameters, so constants do not make another program. */
TB_TEST(aggregates_are_shared_and_literals_are_parameters)
{
	TbProgram *programs[2];

	for (int i = 0; i < 2; i++)
	{
		TbBuilder	 *builder = tb_builder_create(make_desc());
		TbProgramCost cost;
		List		 *params;
		TbValue		  column;
		TbValue		  constant;

		CHECK(tb_builder_column(builder, 1, &column));
		constant = literal(builder, 100 + i);
		CHECK(tb_builder_add_agg(builder, TB_AGG_COUNT, NULL, NULL) == 0);
		CHECK(tb_builder_add_agg(builder, TB_AGG_MAX, &column, NULL) == 1);
		CHECK(tb_builder_add_agg(builder, TB_AGG_MAX, &constant, NULL) == 2);
		CHECK(tb_builder_add_agg(builder, TB_AGG_MAX, &column, NULL) == 1);
		programs[i] = tb_builder_finish(builder, TB_SINK_AGGREGATE, &params, &cost);
		CHECK(programs[i] != NULL && list_length(params) == 1);
		CHECK(programs[i]->aggs.count == 3);
	}
	CHECK(programs[0]->total_size == programs[1]->total_size);
	CHECK(memcmp(programs[0], programs[1], programs[0]->total_size) == 0);
}
