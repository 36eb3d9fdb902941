/*
 * heap_source.h - heap relations as a source: a table, or the leaves of a partitioned one.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_HEAP_SOURCE_H
#define TURBINE_PG_SOURCE_HEAP_HEAP_SOURCE_H

#include "postgres.h"

#include "pg/source/heap/heap_input.h"
#include "pg/source/source.h"

/* In the current memory context. Raises PostgreSQL's errors about the relations. */
extern TbSource *tb_heap_source_make(const TbHeapInput *input);

/* Of the input's parts, or of the table as the only one. */
extern TbPartStats tb_heap_source_part_stats(const TbSource *source, int part);

#endif
