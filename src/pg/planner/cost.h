/*
 * cost.h - what running a program over a table costs, in PostgreSQL's units, and on which
 * device it costs least.
 *
 * The device is chosen here, as a query starts; turbined takes another only if it may
 * (TB_ANY_DEVICE, or the GPU is gone): src/engine/execution/query_device.h.
 */
#ifndef TURBINE_PG_PLANNER_COST_H
#define TURBINE_PG_PLANNER_COST_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "pg/planner/program/program_builder.h"

typedef struct TbWork
{
	double		  pages;
	double		  all_visible;		/* fraction of the pages: read from the files */
	double		  cacheable;		/* fraction of the pages: those that are not all-visible
									 * too, once they have been read */
	double		  rows;				/* of the table */
	double		  partitions;		/* that it is read as; 0: the table itself */
	bool		  may_be_fed;		/* by parallel workers */
	int			  parallel_workers; /* of the table, -1: not set */
	double		  passing;			/* rows that pass the filters */
	double		  reaching;			/* rows or joined rows that reach the sink */
	double		  probes;			/* rows that look into join tables, of all joins */
	double		  candidates;		/* rows of tables without keys that are looked at */
	double		  matches;			/* rows that come out of joins, of all */
	double		  built;			/* rows that become a join table */
	double		  projected;		/* rows that are returned */
	double		  groups;		/* that rows which reach the sink are put into; 0: none */
	double		  cached;		/* fraction of the pages that need not be read */
	bool		  stays_cached; /* what is read into the cache is likely to stay there */
	double		  paid_us;		/* by scans, that reading columns now would have saved */
	/* With a result plan that a GPU may run over rows which stay there; else 0 and charged
	 * elsewhere: what the host takes for it, and the rows that are left of them. */
	double		  result_us;
	double		  left;
	TbProgramCost program;
} TbWork;

/* `relid`: the table, or InvalidOid where it is none. */
extern TbWork tb_cost_work(Oid relid, const RelOptInfo *rel, double passing,
						   const TbProgramCost *program);

/* What a join table of the work's rows should take. */
extern double tb_cost_table_bytes(const TbWork *work);

/* The fraction of a table's pages whose columns the program may take from the cache. */
extern double tb_cost_cached(Oid relid, const TbProgramCost *program);

/* From the start of the query until the last chunk is done, without what the
 * backend does with each row that comes back. */
extern Cost tb_cost_run(const TbWork *work);
extern Cost tb_cost_startup(const TbWork *work);

/* What is known of a node before it is planned: how many tables it reads, the pages and
 * rows of those that it cannot leave out, and the rows that it returns as tuples. */
typedef struct TbLeastWork
{
	int	   tables;
	double pages;
	double rows;
	double returned;
} TbLeastWork;

/* Microseconds that it takes at least, planning included; `later`: with all columns cached.
 */
extern double tb_cost_least_us(const TbLeastWork *work, bool later);

/* What no program over a table can cost less than. */
extern Cost tb_cost_least(bool cached);

/* The same of a join table, on the device that builds it. */
extern Cost tb_cost_build(const TbWork *work);

/* The device that builds it: an index of turbined's. */
extern uint32 tb_build_device(const TbWork *work);

/* What decides between shapes of a join, in nanoseconds of one thread: to read so many rows
 * of a few columns; to make them a join table; to look into one so often, by one key or by
 * `nkeys`, look at `rejected` of its rows in vain and get `matches`. */
extern double tb_cost_scan_ns(double rows);
extern double tb_cost_build_ns(double rows);
extern double tb_cost_probe_ns(double probes, int nkeys, double rejected, double matches);

/* Parallel workers that the cost counts on to feed it. */
extern int tb_cost_feeders(const TbWork *work);

/* What the processors do with the rows if that device runs it, in sum. */
extern double tb_cost_engine_us(const TbWork *work, uint32 device);

/* Of GpuScan: each row that the device passed on. */
extern Cost tb_cost_returned_row(void);

/* Of GpuScan: to read the pages of rows whose other columns were cached. Where these are
 * too many nothing is taken from the cache: that work remains is noted. */
extern Cost tb_cost_wanted_pages(TbWork *work);

/*
 * Of GpuScan, all of it: until the backend has the last row, in microseconds, of which
 * `processes` form what is returned. Not of a table beyond the operating system's cache.
 * `later`: when its columns are cached as far as they can be, and its code is known.
 */
extern double tb_cost_scan_us(const TbWork *work, double processes, bool later);

/* What the cost of a program (a BUILD, or a node's last one) has too much of a compilation
 * when times are compared: a part of it, or with `later`, when its code is known, all. */
extern double tb_cost_kept_compilation_us(const TbWork *work, bool builds, bool later);

/*
 * What a node takes, to be compared with PostgreSQL's `rival_us`: the time `now`. If it
 * will be much faster than the rival `later`, when columns are cached and code is known, it
 * is charged more, so that it must be clearly faster now: a first read is estimated worst.
 * A node that loses by that is paid for by the runs to come (postgres/rivals.c).
 */
extern double tb_cost_weighed_us(double now, double later, double rival_us);

/* Whether it is so much faster later. */
extern bool tb_cost_is_promising(double later, double rival_us);

/* Whether a load in the background pays: a run takes `rival_us` now, and `later` once the
 * columns are cached; `now`: what reading and caching them takes. */
extern bool tb_cost_load_pays(double now, double later, double rival_us);

/* Threads of the service on the host, one for each processor that it may use. */
extern int tb_cost_processors(void);

/* Of GpuPreAgg: each group. */
extern Cost tb_cost_returned_group(void);

/* A call of a function that devices lack, for all that is known of it. */
extern Cost tb_cost_function(void);

/* Of GpuSort: to sort so many rows by so many keys; `kept` of them are wanted. */
extern Cost tb_cost_sort(double rows, int nkeys, double kept);
extern Cost tb_cost_windows(double rows, int values);

/* Of the work's rows only the `kept` first by an order are wanted, whose first key is an
 * integer or the like: devices drop most others at sight. */
extern void tb_cost_first_rows(TbWork *work, double kept);

/* To fetch tuples by their ids from the heap. */
extern Cost tb_cost_fetched_rows(double rows);

/* Such costs are charged as the devices of the work would take them. */
extern void tb_cost_result_on_gpu(TbWork *work, Cost cost, double left);

/* Whether the service may keep so many bytes for a query and still serve others. */
extern bool tb_cost_fits_in_memory(double bytes);

/* The device of a query: an index of turbined's, or TB_ANY_DEVICE. False if
 * there is none that may run it, or no service. */
extern bool tb_choose_device(const TbWork *work, uint32 *device, const char **reason);

#endif
