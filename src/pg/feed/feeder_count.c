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

#include "pg/feed/feeder_count.h"

/* A page that is in shared buffers, and one that is not: tables beyond a quarter of
 * them are read through a small ring, so theirs come from the file each time. */
#define FOUND_PAGE_US			1.7
#define READ_PAGE_US			2.6

/*
 * Units of parallel_setup_cost: a worker took 8 to 12 ms to its first page on a machine
 * with 2 processors, kept one of them busy with it, and touched every page of shared
 * buffers for the first time. One more, of what the first one costs.
 */
#define FIRST_FEEDER			2.5
#define FURTHER_FEEDER			0.4

double
tb_buffered_page_us(double table_blocks)
{
	return table_blocks > NBuffers / 4 ? READ_PAGE_US : FOUND_PAGE_US;
}

double
tb_feeding_us(const TbFeederNeed *need, int feeders)
{
	double		feeding = need->buffered * need->page_us;
	double		starting = feeders == 0 ? 0 :
	parallel_setup_cost * TB_US_PER_UNIT *
	(FIRST_FEEDER + FURTHER_FEEDER * (feeders - 1));

	return starting + Max(feeding / (feeders + 1),
						  (feeding + need->engine_us) / Max(need->processors, 1));
}

int
tb_feeder_count(const TbFeederNeed *need)
{
	int			most = Min(max_parallel_workers_per_gather, max_parallel_workers);
	int			best = 0;

	if (need->buffered < 1)
		return 0;
	if (need->parallel_workers >= 0)
		return Min(need->parallel_workers, most);
	if (force_parallel_mode == FORCE_PARALLEL_OFF &&
		need->buffered < min_parallel_table_scan_size)
		return 0;
	for (int feeders = 1; feeders <= most && feeders < need->processors; feeders++)
		if (tb_feeding_us(need, feeders) < tb_feeding_us(need, best))
			best = feeders;
	return force_parallel_mode == FORCE_PARALLEL_OFF ? best : Max(best, Min(1, most));
}
