/*
 * numeric_statistics.h - a form for the values of a numeric column that is
 * declared without precision and scale.
 */
#ifndef TURBINE_PG_NUMERIC_STATISTICS_H
#define TURBINE_PG_NUMERIC_STATISTICS_H

#include "postgres.h"

#include "access/attnum.h"

#include "pg/planner/partitions.h"
#include "pg/convert/type_map.h"

/*
 * A guess from pg_statistic: values that it does not hold are a verdict at run
 * time, never a wrong answer. `missing` is the value of tuples too short to have
 * the attribute, or NULL.
 */
extern TbTypeInfo tb_numeric_column_info(Oid relid, AttrNumber attnum,
										 struct NumericData *missing);

/* The same of a partitioned table's column. */
extern TbTypeInfo tb_numeric_partitions_info(Oid relid, AttrNumber attnum,
											 const TbPartitions *partitions);

#endif
