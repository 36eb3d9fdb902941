/*
 * source_pair.h - two sources as one input: one that sends nothing in slots, and any other.
 *
 * Of a partitioned table whose leaves are files and heap tables.
 */
#ifndef TURBINE_PG_SOURCE_PAIR_H
#define TURBINE_PG_SOURCE_PAIR_H

#include "postgres.h"

#include "pg/source/source.h"

/* In the current memory context. `first` sends all that it has in begin(), and no chunk; it
 * has no methods but announce, begin, report and end that matter. Both end with the pair.
 */
extern TbSource *tb_source_pair_make(TbSource *first, TbSource *second);

#endif
