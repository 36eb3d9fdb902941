/*
 * cache_requests.h - asks turbined what its column cache holds, and to forget a file.
 */
#ifndef TURBINE_PG_BRIDGE_CACHE_REQUESTS_H
#define TURBINE_PG_BRIDGE_CACHE_REQUESTS_H

#include "postgres.h"

#include "turbine/wire.h"

#include "pg/compat/pg16.h"

/* A palloc'd report, whose columns are as many as it says. NULL with *why if there is no
 * answer within seconds. */
extern TbCacheReported *tb_cache_report(TbFailure *why);

/* Drops all that is cached of this file. *bytes: what it took. False with *why as above. */
extern bool tb_cache_drop(const RelFileLocator *node, uint64 *bytes, TbFailure *why);

/* The same of an Arrow or Parquet file, by its device and inode. */
extern bool tb_cache_drop_file(uint64 device, uint64 inode, uint64 *bytes, TbFailure *why);

#endif
