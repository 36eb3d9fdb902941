/*
 * feeder_count.c - see feeder_count.h.
 *
 * Feeding and computing share the processors, so feeders help while feeding is what
 * takes longest, and until all processors are busy. PostgreSQL's own settings say
 * what a worker costs and what is too small for any.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"

#include "pg/compat/pg16.h"
#include "pg/source/heap/feeders/feeder_count.h"

/* A page that is in shared buffers, and one that comes from the system's cache. */
#define FOUND_PAGE_US 1.7
#define READ_PAGE_US 3.3

/* What a feeder fills in the time of the leader's page: it meets every page of shared
 * memory for the first time. */
#define FEEDER_SPEED 0.8

/* At most this part of the time without feeders: others may want the processors. */
#define WORTH_IT 0.85

/*
 * Units of parallel_setup_cost: a worker took 8 to 12 ms to its first page on a machine
 * with 2 processors, kept one of them busy with it, and touched every page of shared
 * buffers for the first time. One more, of what the first one costs.
 */
#define FIRST_FEEDER 2.5
#define FURTHER_FEEDER 0.4

double
tb_buffered_page_us(double resident)
{
	return FOUND_PAGE_US * resident + READ_PAGE_US * (1 - resident);
}

/* Tables beyond a quarter of shared buffers are read through a small ring, so what is
 * not there comes from the file each time. */
double
tb_likely_resident(double table_blocks)
{
	return table_blocks > NBuffers / 4 ? 0 : 1;
}

double
tb_feeding_us(const TbFeederNeed *need, int feeders)
{
	double feeding = need->buffered * need->page_us / (1 + FEEDER_SPEED * feeders);
	double starting = feeders == 0 ? 0 :
									 parallel_setup_cost * TB_US_PER_UNIT *
			(FIRST_FEEDER + FURTHER_FEEDER * (feeders - 1));

	return starting +
		Max(feeding,
			(feeding * (feeders + 1) + need->engine_us) / Max(need->processors, 1));
}

int
tb_feeder_count(const TbFeederNeed *need)
{
	int most = Min(max_parallel_workers_per_gather, max_parallel_workers);
	int best = 0;

	if (need->buffered < 1)
		return 0;
	if (need->parallel_workers >= 0)
		return Min(need->parallel_workers, most);
	if (debug_parallel_query == DEBUG_PARALLEL_OFF &&
		need->buffered < min_parallel_table_scan_size)
		return 0;
	for (int feeders = 1; feeders <= most && feeders < need->processors; feeders++)
		if (tb_feeding_us(need, feeders) < tb_feeding_us(need, best))
			best = feeders;
	if (tb_feeding_us(need, best) > WORTH_IT * tb_feeding_us(need, 0))
		best = 0;
	return debug_parallel_query == DEBUG_PARALLEL_OFF ? best : Max(best, Min(1, most));
}
