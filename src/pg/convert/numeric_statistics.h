/*
 * numeric_statistics.h - a form for the values of a numeric column that is
 * declared without precision and scale.
 */
#ifndef TURBINE_PG_CONVERT_NUMERIC_STATISTICS_H
#define TURBINE_PG_CONVERT_NUMERIC_STATISTICS_H

#include "postgres.h"

#include "access/attnum.h"

#include "pg/convert/type_map.h"

/*
 * A guess from pg_statistic: values that it does not hold are a verdict at run
 * time, never a wrong answer. `missing` is the value of tuples too short to have
 * the attribute, or NULL.
 */
extern TbTypeInfo tb_numeric_column_info(Oid relid, AttrNumber attnum,
										 struct NumericData *missing);

/* A partitioned table's column as one of its leaves has it. */
typedef struct TbLeafColumn
{
	Oid		   relid;
	AttrNumber attnum;
} TbLeafColumn;

/* The same of a partitioned table's column, of which these are the leaves' columns. */
extern TbTypeInfo tb_numeric_leaves_info(Oid relid, AttrNumber attnum,
										 const TbLeafColumn *leaves, int nleaves);

#endif
