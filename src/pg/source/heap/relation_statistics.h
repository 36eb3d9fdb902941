/*
 * relation_statistics.h - what pg_stat_user_tables counts of our scans.
 */
#ifndef TURBINE_PG_RELATION_STATISTICS_H
#define TURBINE_PG_RELATION_STATISTICS_H

#include "postgres.h"

#include "pgstat.h"
#include "utils/rel.h"

/* Rows that a sequential scan read, however they were read. */
static inline void
tb_count_rows_read(Relation rel, uint64 rows)
{
	if (pgstat_should_count_relation(rel))
		rel->pgstat_info->t_counts.t_tuples_returned += rows;
}

#endif
