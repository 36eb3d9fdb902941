/*
 * training_source.c - see training_source.h.
 *
 * Names of relations are parsed by PostgreSQL's own rules, and queries by its parser; names
 * of columns are looked up, and what goes into a statement is quoted. So no name becomes
 * more than a name. A query is the caller's own SQL, with the caller's rights.
 *
 * Called by the trainings of this folder. Must never change data: queries are read only.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "nodes/parsenodes.h"
#include "parser/parser.h"
#include "parser/scansup.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/regproc.h"
#include "utils/varlena.h"

#include "pg/compat/pg16.h"
#include "pg/learning/aggregation.h"
#include "pg/learning/training_source.h"

/* ---- The source ---- */

/* Whether the text begins as a query does; a name may be quoted, but is no such word. */
static bool
begins_query(const char *text)
{
	static const char *const words[] = {"select", "with", "values", "table"};

	if (*text == '(')
		return true;
	for (int i = 0; i < (int) lengthof(words); i++)
	{
		size_t length = strlen(words[i]);

		if (pg_strncasecmp(text, words[i], length) == 0 && text[length] != '.' &&
			text[length] != '\0' && strchr(" \t\r\n\f(*'\"-/+", text[length]) != NULL)
			return true;
	}
	return false;
}

/* The text of the one SELECT that it is. */
static char *
checked_query(const char *text)
{
	List	*statements = pg_parse_query(text);
	RawStmt *statement;
	int		 length;

	if (list_length(statements) != 1 ||
		!IsA(linitial_node(RawStmt, statements)->stmt, SelectStmt))
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR), errmsg("a source must be one query"),
				 errhint("It may be SELECT, WITH ... SELECT, VALUES or TABLE, or the name "
						 "of a relation.")));
	statement = linitial_node(RawStmt, statements);
	if (((SelectStmt *) statement->stmt)->intoClause != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("a source must not have an INTO clause")));
	length = statement->stmt_len > 0 ? statement->stmt_len :
									   (int) strlen(text) - statement->stmt_location;
	return pnstrdup(text + statement->stmt_location, length);
}

static char *
checked_relation(const char *text, Oid *relid)
{
	List	 *names = stringToQualifiedNameList(text, NULL);
	RangeVar *relation = makeRangeVarFromNameList(names);

	*relid = RangeVarGetRelid(relation, NoLock, false);
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(*relid)),
									  get_rel_name(*relid));
}

TbTrainingSource *
tb_training_source_open(const char *text)
{
	TbTrainingSource *source = palloc0(sizeof(TbTrainingSource));
	SPIPlanPtr		  plan;
	CachedPlanSource *analyzed;

	while (scanner_isspace(*text))
		text++;
	/* A comment may end the query's last line. */
	source->from = begins_query(text) ?
		psprintf("(\n%s\n) AS source", checked_query(text)) :
		psprintf("%s AS source", checked_relation(text, &source->relid));
	/* Which columns are there? */
	plan = SPI_prepare(psprintf("SELECT * FROM %s", source->from), 0, NULL);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	analyzed = linitial(SPI_plan_get_plan_sources(plan));
	source->desc = CreateTupleDescCopy(analyzed->resultDesc);
	SPI_freeplan(plan);
	return source;
}

/* ---- Columns ---- */

static char *
column_list(TupleDesc desc)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < desc->natts; i++)
		appendStringInfo(&list, "%s%s", i > 0 ? ", " : "",
						 quote_identifier(NameStr(TupleDescAttr(desc, i)->attname)));
	return list.data;
}

/* Its value as a number: booleans are 0 and 1. */
static char *
number_of(const TbTrainingSource *source, const char *name)
{
	const char *column = psprintf("source.%s", quote_identifier(name));

	for (int i = 0; i < source->desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(source->desc, i);

		if (strcmp(NameStr(att->attname), name) != 0)
			continue;
		switch (getBaseType(att->atttypid))
		{
			case FLOAT8OID:
				return pstrdup(column);
			case INT2OID:
			case INT4OID:
			case INT8OID:
			case FLOAT4OID:
			case NUMERICOID:
				return psprintf("%s::pg_catalog.float8", column);
			case BOOLOID:
				return psprintf("%s::pg_catalog.int4::pg_catalog.float8", column);
			default:
				ereport(ERROR,
						(errcode(ERRCODE_DATATYPE_MISMATCH),
						 errmsg("column \"%s\" is of type %s, which is no number", name,
								format_type_be(att->atttypid)),
						 errhint("A source may be a query that makes numbers of it.")));
		}
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("column \"%s\" of the source does not exist", name),
			 errhint("Its columns are: %s.", column_list(source->desc))));
}

void
tb_training_source_columns(TbTrainingSource *source, ArrayType *names)
{
	Datum *elements;
	bool  *nulls;
	int	   count;

	deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &count);
	if (count == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a model needs at least one column")));
	if (count > TB_TRAINING_MOST_COLUMNS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a model can have at most %d columns", TB_TRAINING_MOST_COLUMNS)));
	source->columns = palloc0(sizeof(TbTrainingColumn) * count);
	for (int i = 0; i < count; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("column names must not be null")));
		source->columns[i].name = TextDatumGetCString(elements[i]);
		source->columns[i].value = number_of(source, source->columns[i].name);
	}
	source->ncolumns = count;
}

void
tb_training_source_target(TbTrainingSource *source, const char *name)
{
	source->target = palloc0(sizeof(TbTrainingColumn));
	source->target->name = pstrdup(name);
	source->target->value = number_of(source, name);
}

/* ---- Rows ---- */

int
tb_training_source_nparams(const TbTrainingSource *source, TbTrainingForm form)
{
	switch (form)
	{
		case TB_TRAINING_PLAIN:
			return 0;
		case TB_TRAINING_CENTERED:
			return source->ncolumns;
		default:
			return 2 * source->ncolumns;
	}
}

void
tb_training_source_params(const TbTrainingSource *source, TbTrainingForm form,
						  Datum *values)
{
	for (int i = 0; i < source->ncolumns; i++)
	{
		if (form != TB_TRAINING_PLAIN)
			*values++ = Float8GetDatum(source->columns[i].center);
		if (form == TB_TRAINING_NORMALIZED)
			*values++ = Float8GetDatum(source->columns[i].scale);
	}
}

static void
append_not_null(StringInfo sql, const TbTrainingSource *source)
{
	for (int i = 0; i < source->ncolumns; i++)
		appendStringInfo(sql, "%s source.%s IS NOT NULL", i > 0 ? " AND" : "",
						 quote_identifier(source->columns[i].name));
	if (source->target != NULL)
		appendStringInfo(sql, " AND source.%s IS NOT NULL",
						 quote_identifier(source->target->name));
}

char *
tb_training_source_rows(const TbTrainingSource *source, TbTrainingForm form,
						int first_param)
{
	StringInfoData sql;
	int			   param = first_param;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT ");
	for (int i = 0; i < source->ncolumns; i++)
	{
		const char *value = source->columns[i].value;

		appendStringInfoString(&sql, i > 0 ? ", " : "");
		if (form == TB_TRAINING_PLAIN)
			appendStringInfo(&sql, "%s AS x%d", value, i + 1);
		else if (form == TB_TRAINING_CENTERED)
			appendStringInfo(&sql, "%s - $%d AS x%d", value, param++, i + 1);
		else
		{
			appendStringInfo(&sql, "turbine.product(%s - $%d, $%d) AS x%d", value, param,
							 param + 1, i + 1);
			param += 2;
		}
	}
	if (source->target != NULL)
		appendStringInfo(&sql, ", %s AS t", source->target->value);
	appendStringInfo(&sql, " FROM %s", source->from);
	/* The rows are the same as when they were counted. */
	if (source->left_out > 0)
	{
		appendStringInfoString(&sql, " WHERE");
		append_not_null(&sql, source);
	}
	return sql.data;
}

char *
tb_training_arguments(int ncolumns)
{
	StringInfoData list;

	initStringInfo(&list);
	appendStringInfoString(&list, ", VARIADIC ARRAY[");
	for (int i = 0; i < ncolumns; i++)
		appendStringInfo(&list, "%sx%d", i > 0 ? ", " : "", i + 1);
	appendStringInfoChar(&list, ']');
	return list.data;
}

/* ---- Statistics ---- */

/* Three aggregates of a column: their places are first, first + 1, first + 2. */
static int
add_statistics(TbAggregation *aggregation, const char *name)
{
	int first = tb_aggregation_add(aggregation,
								   psprintf("pg_catalog.sum(%s) FILTER (WHERE used)",
											name));

	tb_aggregation_add(aggregation,
					   psprintf("pg_catalog.min(%s) FILTER (WHERE used)", name));
	tb_aggregation_add(aggregation,
					   psprintf("pg_catalog.max(%s) FILTER (WHERE used)", name));
	return first;
}

static void
set_statistics(TbTrainingColumn *column, const double *found, int64 rows)
{
	double extent;

	column->center = found[0] / rows;
	column->least = found[1];
	column->largest = found[2];
	if (!isfinite(column->center) || !isfinite(column->least) || !isfinite(column->largest))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("column \"%s\" has NaN or infinite values", column->name),
				 errhint("A source may be a query that leaves these rows out.")));
	extent = Max(column->largest - column->center, column->center - column->least);
	column->scale = column->least < column->largest ? 1 / extent : 0;
	/* Of a constant column the mean may be another number, by rounding. */
	if (column->least == column->largest)
		column->center = column->least;
	if (!isfinite(column->scale))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("values of column \"%s\" are too close to each other",
						column->name)));
}

void
tb_training_source_measure(TbTrainingSource *source)
{
	StringInfoData rows;
	TbAggregation *aggregation;
	const double  *found;
	int			   all;
	int			   used;
	int			   target = 0;
	int			   columns[TB_TRAINING_MOST_COLUMNS];

	/* The rows, and which of them have all values. */
	initStringInfo(&rows);
	appendStringInfoString(&rows, "SELECT (");
	append_not_null(&rows, source);
	appendStringInfoString(&rows, ") AS used");
	for (int i = 0; i < source->ncolumns; i++)
		appendStringInfo(&rows, ", %s AS x%d", source->columns[i].value, i + 1);
	if (source->target != NULL)
		appendStringInfo(&rows, ", %s AS t", source->target->value);
	appendStringInfo(&rows, " FROM %s", source->from);

	/* What is asked of them */
	aggregation = tb_aggregation_create(rows.data, 0, NULL);
	all = tb_aggregation_add(aggregation, "pg_catalog.count(*)");
	used = tb_aggregation_add(aggregation, "pg_catalog.count(*) FILTER (WHERE used)");
	for (int i = 0; i < source->ncolumns; i++)
		columns[i] = add_statistics(aggregation, psprintf("x%d", i + 1));
	if (source->target != NULL)
	{
		target = add_statistics(aggregation, "t");
		tb_aggregation_add(aggregation,
						   "pg_catalog.count(*) FILTER (WHERE used AND t <> 0 "
						   "AND t <> 1)");
	}

	/* The answers */
	found = tb_aggregation_run(aggregation, NULL);
	source->rows = (int64) found[used];
	source->left_out = (int64) found[all] - source->rows;
	if (source->rows == 0)
		ereport(ERROR,
				(errcode(ERRCODE_NO_DATA_FOUND), errmsg("there is no row to learn from"),
				 source->left_out > 0 ?
					 errdetail("All " INT64_FORMAT " rows have a NULL in a column.",
							   source->left_out) :
					 errdetail("The source is empty.")));
	for (int i = 0; i < source->ncolumns; i++)
		set_statistics(&source->columns[i], found + columns[i], source->rows);
	if (source->target != NULL)
	{
		set_statistics(source->target, found + target, source->rows);
		source->neither = (int64) found[target + 3];
	}
}

/* ---- Linear models ---- */

void
tb_training_unscale(const TbTrainingSource *source, const double *weights,
					double *coefficients)
{
	coefficients[0] = weights[0];
	for (int i = 0; i < source->ncolumns; i++)
	{
		coefficients[i + 1] = weights[i + 1] * source->columns[i].scale;
		coefficients[0] -= coefficients[i + 1] * source->columns[i].center;
	}
}

void
tb_training_unscale_errors(const TbTrainingSource *source, const double *covariance,
						   double *errors)
{
	int		m = source->ncolumns + 1;
	double *turn = palloc(sizeof(double) * m);
	double	variance = 0;

	turn[0] = 1;
	for (int i = 1; i < m; i++)
	{
		const TbTrainingColumn *column = &source->columns[i - 1];

		errors[i] = sqrt(covariance[i * m + i]) * column->scale;
		turn[i] = -column->scale * column->center;
	}
	for (int i = 0; i < m; i++)
		for (int j = 0; j < m; j++)
			variance += turn[i] * covariance[i * m + j] * turn[j];
	errors[0] = sqrt(variance);
	pfree(turn);
}

void
tb_training_refuse_constants(const TbTrainingSource *source)
{
	for (int i = 0; i < source->ncolumns; i++)
		if (source->columns[i].scale == 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("column \"%s\" is constant", source->columns[i].name),
					 errdetail("It is %g in all rows. The constant term of the model "
							   "stands for it.",
							   source->columns[i].center),
					 errhint("Leave the column out.")));
}

void
tb_training_raise_dependent(const TbTrainingSource *source, int column)
{
	/* The constant term comes first, and depends on nothing. */
	const char *name = source->columns[Max(column, 1) - 1].name;

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("column \"%s\" depends on the columns before it", name),
			 errdetail("In all rows it is a constant plus multiples of them, so there is "
					   "no best coefficient."),
			 errhint("Leave the column out.")));
}
