/*
 * query_counters.h - counts what queries did and why they went back to
 * PostgreSQL, for turbine.stat_queries (views/) and the server's log.
 *
 * All counters are shared atomics; they start at zero with the postmaster.
 */
#ifndef TURBINE_PG_SHMEM_QUERY_COUNTERS_H
#define TURBINE_PG_SHMEM_QUERY_COUNTERS_H

#include "postgres.h"

#include "turbine/wire.h"

#include "pg/shmem/shared_state.h"

extern void tb_stat_add(TbCounter counter, uint64 count);

/* Counts a fallback and says why in the server's log, at most once a second
 * for each reason. `relation` is the table's name. */
extern void tb_stat_fallback(const TbFailure *why, const char *relation);

/* The same where the host device stands in for a GPU, for `reason`. */
extern void tb_stat_host_instead(uint32 reason, const char *relation);

/* "no_service" ...; "unknown" if out of range. */
extern const char *tb_fallback_name(uint32 reason);

#endif
