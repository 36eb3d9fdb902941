/*
 * cache_advice.h - what queries have found in the service's caches, for the costs of those
 * to come: which programs have code, and how much of which tables is in the column cache.
 *
 * Advice, nothing more: turbined evicts without a word, and an entry may give way to
 * another's. A wrong one makes a plan dearer or cheaper than it is, and the query that runs
 * it puts it right. All of it is lost with the postmaster; columns also with the service.
 */
#ifndef TURBINE_PG_SHMEM_CACHE_ADVICE_H
#define TURBINE_PG_SHMEM_CACHE_ADVICE_H

#include "postgres.h"

/* Of the pages whose columns are cached, how many a scan may take rows from: reading one
 * from shared buffers costs about twice of what turbined needs to read and decode it. */
#define TB_WANTED_PAGES_SHARE 0.5

/* A set of columns, for comparison alone: a bit for each attribute number modulo 64. That
 * of number 0 stands for line pointers, and for tuple ids. */
typedef uint64 TbAttributes;

static inline TbAttributes
tb_attribute(int attnum)
{
	return UINT64CONST(1) << (attnum % 64);
}

/* The service has code for a program of this shape (TbProgramCost). */
extern void tb_advice_note_code(uint64 shape);
extern bool tb_advice_has_code(uint64 shape);

/*
 * Microseconds that a node of this shape, which may have a table mixed in, would have saved
 * with its columns cached, in all plans that were made without it: what reading them may
 * cost.
 */
extern void	  tb_advice_note_foregone(uint64 shape, double us);
extern double tb_advice_foregone_us(uint64 shape);

/* Of this share of a table's blocks these columns are cached now. `found`: before the query
 * that tells so had read the others. */
extern void tb_advice_note_columns(Oid relid, TbAttributes attributes, double found,
								   double cached);

/* The share of a table's blocks of which all these columns are likely to be cached. */
extern double tb_advice_cached_share(Oid relid, TbAttributes attributes);

/* False: queries have read these columns into the cache, and later ones have found less
 * than half there. */
extern bool tb_advice_stays(Oid relid, TbAttributes attributes);

/* Whether anything of the table is likely to be cached. */
extern bool tb_advice_has_columns(Oid relid);

/*
 * What scans have paid for pages that they took rows from, since columns of the table were
 * read into the cache last. A plan that would read further columns into it is charged that
 * much less: else one that does with the cached ones, a little cheaper each time than
 * reading the others once, would be chosen for ever.
 */
#define TB_WANTED_PAGE_US 1.7 /* to take rows from a page in shared buffers */
extern void	  tb_advice_note_paid(Oid relid, double us);
extern double tb_advice_paid_us(Oid relid);

#endif
