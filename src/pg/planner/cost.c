/*
 * cost.c - what running a program costs, and which device runs it at least cost.
 *
 * Times are in microseconds, turned into PostgreSQL's units. PostgreSQL charges 0.0125
 * for a tuple and one operator, which take it 60-100 ns: so a unit is about 7 us. Reads
 * from a drive are charged as PostgreSQL charges them. Owns the figures. Must estimate
 * only: nothing is read or sent here.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include <math.h>

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#include "pg/source/heap/feeders/feeder_count.h"
#include "pg/settings/guc.h"
#include "pg/settings/service_settings.h"
#include "pg/planner/cost.h"
#include "pg/planner/planning.h"
#include "pg/shmem/cache_advice.h"
#include "pg/shmem/device_list.h"
#include "pg/shmem/wanted_columns.h"

#define US_PER_UNIT TB_US_PER_UNIT

/* Of columns that are cached: each, a row, once decoded to the second-level cache. */
#define CACHED_COLUMN_NS 0.4

/* Planning aside: connect, admission, start of threads; and the compilation to quick
 * code: 20 ms, once a shape, then cached in memory and on disk; charged where the shape
 * is not known to have code, so that a first run is rarely a loss. */
#define STARTUP_US 500.0
#define COMPILE_SHARE_US 20000.0
/* What each expression beyond the usual number adds to that. A GPU's code takes longer,
 * since it is assembled as well: the host runs a query whose GPU code is expected later
 * than pg_turbine.compile_wait. */
#define USUAL_NODES 100
#define COMPILED_NODE_US 70.0
#define GPU_COMPILED_US 200000.0
#define GPU_COMPILED_NODE_US 1500.0
#define GPU_STARTUP_US 700.0

/* A page from the operating system's cache, by a thread of the daemon, and what its
 * backend does with it: classify and confirm. Through the buffer manager:
 * feeder_count.c. */
#define DIRECT_PAGE_US 0.87
#define CONFIRMED_PAGE_US 0.15

/*
 * Decoding, a row: the tuple, each attribute that must be walked over, each column
 * that is taken. What is done with a text is counted here, since most of it is
 * waiting for the page, which has left the caches by then.
 */
#define DECODE_ROW_NS 2.0
#define DECODE_WALKED_NS 1.3
#define DECODE_COLUMN_NS 1.0
#define DECODE_NUMERIC_NS 7.0
#define DECODE_TEXT_NS 30.0

/* One unit of the catalogue's costs in a tile loop, a row. */
#define OPERATION_NS 0.3

/* Join tables, on one core: a row that becomes part of one, a look into one, a
 * row that comes out of a join, a row that is kept to be returned. */
#define BUILD_ROW_NS 20.0
#define PROBE_NS 4.0
#define MATCH_NS 2.0
#define CANDIDATE_NS 1.5 /* without keys: every row of the table */
#define PROJECTED_ROW_NS 60.0

/* A look into one that is hashed, as those of several keys are. */
#define HASHED_PROBE_NS 20.0

/* Columns that are read of a table whose program is not made yet. */
#define SHAPE_COLUMNS 3

/* A join table's own program: query and answer, beside its compilation as above. */
#define STAGE_US 250.0

/* Of a compilation, what a run is charged when times are compared: code is kept, also by
 * the next server, and most shapes come again. */
#define COMPILATION_SHARE 0.25

/* A node that will take less than that part of PostgreSQL's time once its columns are
 * cached and its code is known, is to take less than this part of it now: what is read the
 * first time is estimated worst, and one that has to wait is paid for by the next runs
 * (postgres/rivals.c). */
#define PROMISING 0.5
#define CLEARLY 0.9

/* Each process of a parallel scan runs a query for so many shares of the table. */
#define SHARES_OF_PROCESS 3

/* A row that comes back to the backend: copied out of its page, and formed as
 * a tuple there. PostgreSQL's scan does this in place. */
#define RETURNED_ROW_US 0.25

/* One that is taken in columns: copied, with some thousands of others. */
#define COLUMNS_ROW_US 0.02

/* A group: made in the table, written as columns, copied, finished. */
#define RETURNED_GROUP_US 0.4

/* to_char, md5, PL/pgSQL; regular expressions take up to 25. */
#define FUNCTION_US 2.0

/* Planning a node, each table that it reads: of one that is not taken in the end it is time
 * lost, so what a node may gain must be worth several. */
#define PLANNED_TABLE_US 15.0
#define WORTH_PLANNINGS 4

/* A partition: its start, and that its last chunk is not full. */
#define PARTITION_US 50.0

/* A GPU: pages over the bus, and its work on a row of them or on a look into a join table.
 */
#define GPU_PAGE_US 0.19
#define GPU_ROW_NS 0.4

/* The same work where columns are in its memory as they are stored; a value of theirs, and
 * its way over the bus where the GPU may keep less than the table's columns. */
#define GPU_STORED_ROW_NS 0.025
#define STORED_VALUE_BYTES 3.0
#define GPU_STORED_BYTES_PER_US 14000.0

/* A join table built there: its start; a row of it, and its way to the host, of so many
 * bytes. */
#define GPU_BUILD_STARTUP_US 400.0
#define GPU_BUILT_ROW_NS 0.8
#define BUILT_ROW_BYTES 40.0
#define CACHED_TO_BUILD 0.5 /* share of the table */

/* A segment of cached columns, on one of the host's threads. */
#define SEGMENT_US 2.0

/* A row that is put into one of more groups than the first, for each doubling of them: 16
 * threads took 110 ns a row with 1 M groups. A GPU does it like so many threads. */
#define FEW_GROUPS 2048.0
#define GROUPED_ROW_NS 14.0
#define MOST_GROUPED_ROW_NS 140.0
#define GROUPS_GPU_THREADS 96

/* Windows over rows that stay there (one H200: 24 M rows, of which few are left, 9 ms):
 * their start; a row; and one that is left, on its way to the host, and what is made of it
 * there (24 M rows 130 ms). */
#define GPU_WINDOW_STARTUP_US 1000.0
#define GPU_WINDOW_ROW_NS 0.4
#define GPU_LEFT_ROW_NS 5.0

/* The host decodes what is read into the cache, whichever device runs the query. Where a
 * GPU that finds it there takes less than PROMISING of the time, the host runs it first, if
 * so many later runs save what that takes longer; and while nobody has code, since a GPU's
 * first run compiles for 0.25 to 1.2 s, the host's for 0.02 to 0.1. */
#define RUNS_TO_PAY 16.0
#define LEAST_GAIN_US 1000.0
#define GPU_COMPILE_US 250000.0
/* What is cached to that share is filled: the rest may be what changes all the time. */
#define LEAST_CACHED 0.5

/* On the host a thread takes so many rows of a join table at a time, and more threads than
 * these do not build it any faster: they wait for memory (16 threads: 43 K rows 0.9 ms, 700
 * K rows 4, 2.6 M rows 11). */
#define BUILT_PART_ROWS 65536.0
#define BUILD_THREADS 4.0

double
tb_cost_cached(Oid relid, const TbProgramCost *program)
{
	if (!tb_guc_enable_cache || !OidIsValid(relid))
		return 0;
	return tb_advice_cached_share(relid, program->attributes);
}

/* Whether blocks of the table that are not all-visible may be cached, as far as can be told
 * now. */
static bool
may_be_fresh(Oid relid)
{
	return OidIsValid(relid) && get_rel_persistence(relid) == RELPERSISTENCE_PERMANENT &&
		!IsolationIsSerializable();
}

TbWork
tb_cost_work(Oid relid, const RelOptInfo *rel, double passing, const TbProgramCost *program)
{
	TbWork work = {0};

	work.pages = rel->pages;
	/* Files are read by the service alone: their pages are what the wrapper says of their
	 * bytes. */
	work.all_visible = rel->fdwroutine != NULL ? 1 : rel->allvisfrac;
	work.cacheable = may_be_fresh(relid) ? 1 : work.all_visible;
	work.parallel_workers = rel->rel_parallel_workers;
	work.rows = rel->tuples;
	work.passing = Min(passing, rel->tuples);
	work.reaching = work.passing;
	work.program = *program;
	work.cached = tb_cost_cached(relid, program);
	work.stays_cached = OidIsValid(relid) && tb_advice_stays(relid, program->attributes);
	/* What is being loaded need not be read. */
	if (tb_guc_enable_cache && OidIsValid(relid) && !program->rows &&
		!tb_wanted_columns_are_coming(relid))
		work.paid_us = tb_advice_paid_us(relid);
	return work;
}

static double
cached_pages(const TbWork *work)
{
	return Min(work->cached, work->cacheable) * work->pages;
}

/* All-visible ones, which the daemon reads. They have the same share of the pages that are
 * not cached as of all pages. */
static double
direct_pages(const TbWork *work)
{
	if (work->pages < tb_guc_direct_threshold)
		return 0;
	return work->all_visible * (work->pages - cached_pages(work));
}

/* Blocks that PostgreSQL's processes read. */
static TbFeederNeed
feeder_need(const TbWork *work, double engine_us, int threads)
{
	TbFeederNeed need = {.engine_us = engine_us, .processors = threads};

	need.buffered = work->pages - direct_pages(work) - cached_pages(work);
	need.page_us = tb_buffered_page_us(
		tb_likely_resident(work->pages / Max(work->partitions, 1)));
	need.parallel_workers = work->parallel_workers;
	return need;
}

/* By the backend, and feeders if they are worth it. */
static double
feed_us(const TbWork *work, const TbFeederNeed *need)
{
	double alone = need->buffered * need->page_us;
	int	   feeders = work->may_be_fed ? tb_feeder_count(need) : 0;
	double shared;

	if (feeders == 0)
		return alone;
	/* Of the computing only what feeders take away from it is counted here. */
	shared = tb_feeding_us(need, feeders) - need->engine_us / Max(need->processors, 1);
	/* Feeders that were asked for whatever they cost make no plan worse. */
	return Min(alone, Max(shared, 0));
}

/* What PostgreSQL and the file system do, whatever the device. */
static double
read_us(const TbWork *work, double engine_us, int threads)
{
	TbFeederNeed need = feeder_need(work, engine_us, threads);

	/* The daemon reads meanwhile. */
	return work->partitions * PARTITION_US +
		Max(feed_us(work, &need),
			direct_pages(work) * Max(DIRECT_PAGE_US / threads, CONFIRMED_PAGE_US));
}

/* A row of pages that are read. */
static double
decode_ns(const TbWork *work)
{
	return DECODE_ROW_NS + DECODE_WALKED_NS * work->program.walked +
		DECODE_COLUMN_NS * work->program.columns +
		DECODE_NUMERIC_NS * work->program.numerics + DECODE_TEXT_NS * work->program.texts;
}

/* Of all rows. */
static double
cached_fraction(const TbWork *work)
{
	return work->pages > 0 ? cached_pages(work) / work->pages : 0;
}

/* What the host's threads do with the rows, in sum. */
static double
compute_us(const TbWork *work)
{
	double cached = cached_fraction(work);
	double row_ns = decode_ns(work) * (1 - cached) +
		CACHED_COLUMN_NS * work->program.columns * cached +
		OPERATION_NS * work->program.filters;
	double compute_ns = work->rows * row_ns +
		work->passing * OPERATION_NS * work->program.probes +
		work->reaching * OPERATION_NS * work->program.others + work->probes * PROBE_NS +
		work->candidates * CANDIDATE_NS + work->matches * MATCH_NS +
		work->built * BUILD_ROW_NS + work->projected * PROJECTED_ROW_NS;

	return compute_ns / 1000.0;
}

/* Of that and of reading, what need not be done again, since its columns are cached then.
 */
static double
filling_us(const TbWork *work, int threads)
{
	double pages = work->cacheable * work->pages - cached_pages(work);
	double rows = work->pages > 0 ? work->rows * pages / work->pages : 0;

	return direct_pages(work) * DIRECT_PAGE_US / threads +
		rows * decode_ns(work) / 1000.0 / threads;
}

static double
compile_us(const TbProgramCost *program)
{
	double unusual = Max((double) program->nodes - USUAL_NODES, 0);

	return tb_advice_has_code(program->shape) ?
		0 :
		COMPILE_SHARE_US + unusual * COMPILED_NODE_US;
}

/* Whether nobody waits for the GPU's code, as far as the program's size tells. */
static bool
gpu_code_comes_late(const TbProgramCost *program)
{
	return tb_compile_wait_ms > 0 && !tb_advice_has_code(program->shape) &&
		GPU_COMPILED_US + program->nodes * GPU_COMPILED_NODE_US >
		tb_compile_wait_ms * 1000.0;
}

/* What compilation has left of what was paid is taken off here. */
static double
host_us(const TbWork *work, int threads)
{
	double compute = compute_us(work);
	double us = Max(read_us(work, compute, threads), 0) + compute / Max(threads, 1);
	double paid = Max(work->paid_us - compile_us(&work->program), 0);

	return us - Min(paid, Min(filling_us(work, Max(threads, 1)), us)) + work->result_us;
}

/* Bytes of cached columns that cross the bus in each run. Where the GPU has room for all of
 * them they cross once, which pays after a run or two. */
static double
stored_transfer_us(const TbWork *work, const TbDeviceInfo *gpu)
{
	double bytes = work->rows * cached_fraction(work) * work->program.columns *
		STORED_VALUE_BYTES;

	return bytes > (double) gpu->cache_size ? bytes / GPU_STORED_BYTES_PER_US : 0;
}

/* Of rows that are returned, or that windows are computed of. */
static double
gpu_rows_us(const TbWork *work)
{
	if (work->result_us > 0)
		return GPU_WINDOW_STARTUP_US +
			(work->projected * GPU_WINDOW_ROW_NS + work->left * GPU_LEFT_ROW_NS) / 1000.0;
	return work->projected * PROJECTED_ROW_NS / 1000.0;
}

/* Rows that the backend forms it takes from pages, as if nothing were cached. */
static double
gpu_us(const TbWork *host_work, const TbDeviceInfo *gpu, int threads)
{
	TbWork		  of_gpu = *host_work;
	const TbWork *work = &of_gpu;
	double		  row_ns;

	if (work->program.rows)
		of_gpu.cached = 0;
	row_ns = GPU_ROW_NS + (GPU_STORED_ROW_NS - GPU_ROW_NS) * cached_fraction(work);
	/* Transfers and kernels run while the next chunk is read. */
	return GPU_STARTUP_US +
		Max(read_us(work, 0, threads), (work->pages - cached_pages(work)) * GPU_PAGE_US) +
		stored_transfer_us(work, gpu) +
		(work->rows + work->probes + work->candidates + work->matches) * row_ns / 1000.0 +
		gpu_rows_us(work);
}

/* Pages that are not cached: charged like PostgreSQL's sequential scan. */
static Cost
disk_cost(const TbWork *work)
{
	double uncached = Max(work->pages - cached_pages(work) - effective_cache_size, 0);

	return uncached * seq_page_cost;
}

/* What tells devices apart and matters little against PostgreSQL's plan: cached segments,
 * which the host's threads take one by one, and rows that are put into many groups, whose
 * table no cache holds. (One H200 and 16 cores, 5 M rows of 0.8 kB: a count 2 ms and 0.7, 1
 * M groups 50 and 7.) */
static double
apart_us(const TbWork *work, bool on_gpu, int threads)
{
	double grouped_ns = 0;

	if (work->groups > FEW_GROUPS)
		grouped_ns = Min(log2(work->groups / FEW_GROUPS) * GROUPED_ROW_NS,
						 MOST_GROUPED_ROW_NS);
	if (on_gpu)
		return work->reaching * grouped_ns / 1000.0 / GROUPS_GPU_THREADS;
	return (cached_pages(work) / TB_SEGMENT_BLOCKS * SEGMENT_US +
			work->reaching * grouped_ns / 1000.0) /
		Max(threads, 1);
}

/* Whether the configuration lets this device run the program. */
static bool
may_run_on(const TbDeviceInfo *info, int index, const TbWork *work)
{
	bool is_gpu = info->kind != 0;

	if (!info->usable)
		return false;
	if (is_gpu && work->program.inexact && !tb_guc_allow_inexact_math)
		return false;
	/* The service would try the GPU, and run it on the host. */
	if (work->program.host_only)
		return !is_gpu;
	switch (tb_guc_device_choice())
	{
		case TB_CHOOSE_CPU:
			return !is_gpu;
		case TB_CHOOSE_GPU:
			return is_gpu;
		case TB_CHOOSE_GPUS:
			return is_gpu && (tb_guc_gpus() >> (index - 1) & 1) != 0;
		default:
			return true;
	}
}

/* Is it worth while that the host runs it, so that a GPU finds the columns cached later? */
static bool
fills_for_gpu(const TbWork *work, const TbDeviceInfo *gpu, int threads, double us)
{
	TbWork later = *work;
	double later_us;

	if (tb_guc_device_choice() != TB_CHOOSE_AUTO || !tb_guc_enable_cache ||
		!work->stays_cached || work->cached >= work->cacheable * LEAST_CACHED)
		return false;
	later.cached = later.cacheable;
	later_us = gpu_us(&later, gpu, threads);
	return later_us < us * PROMISING &&
		host_us(work, threads) - us < RUNS_TO_PAY * (us - later_us) +
			(tb_advice_has_code(work->program.shape) ? 0 : GPU_COMPILE_US);
}

int
tb_cost_processors(void)
{
	TbDeviceInfo devices[TB_MAX_DEVICES];
	int			 count = tb_devices_snapshot(devices, TB_MAX_DEVICES);

	return count > 0 ? Max((int) devices[TB_DEVICE_HOST].units, 1) : 1;
}

/* When a device that runs so many queries is through with one more. The count is as old as
 * the supervisor's last look. A query shorter than the time between looks meets others than
 * those, and all sessions that believed the count would change devices at once. */
static double
through_us(double us, uint32 running)
{
	return us < TB_DEVICES_LOOK_MS * 1000.0 ? us : us * (1.0 + 0.5 * running);
}

/*
 * The time of the device that would be through first; index -1 if none may run it.
 * What runs there now decides between devices and is no part of the time: a query must not
 * go back to PostgreSQL because the look at devices met the one before it.
 */
static double
cheapest_device(const TbWork *work, int *index, int *ndevices)
{
	TbDeviceInfo devices[TB_MAX_DEVICES];
	double		 soonest = 0;
	double		 best = 0;
	int			 threads = 1;

	*ndevices = tb_devices_snapshot(devices, TB_MAX_DEVICES);
	*index = -1;
	if (*ndevices > 0)
		threads = Max((int) devices[TB_DEVICE_HOST].units, 1);
	for (int i = 0; i < *ndevices; i++)
	{
		double us;
		double through;

		if (!may_run_on(&devices[i], i, work))
			continue;
		us = devices[i].kind == 0 ? host_us(work, threads) :
									gpu_us(work, &devices[i], threads);
		through = through_us(us + apart_us(work, devices[i].kind != 0, threads),
							 devices[i].queries_running);
		if (*index < 0 || through < soonest)
		{
			soonest = through;
			best = us;
			*index = i;
		}
	}
	/* The first run is dearer, and no more than the GPU's time is charged. */
	if (*index > 0 && may_run_on(&devices[TB_DEVICE_HOST], TB_DEVICE_HOST, work) &&
		fills_for_gpu(work, &devices[*index], threads, best))
		*index = TB_DEVICE_HOST;
	if (*index > 0 && may_run_on(&devices[TB_DEVICE_HOST], TB_DEVICE_HOST, work) &&
		gpu_code_comes_late(&work->program))
		return host_us(work, threads);
	/* No device: what the host would need, for forced plans. */
	return *index < 0 ? host_us(work, threads) : best;
}

Cost
tb_cost_startup(const TbWork *work)
{
	return (STARTUP_US + Max(compile_us(&work->program) - work->paid_us, 0)) / US_PER_UNIT;
}

/* What is cached takes a millisecond at least, planning it included. */
Cost
tb_cost_least(bool cached)
{
	return (STARTUP_US + (cached ? STARTUP_US : COMPILE_SHARE_US)) / US_PER_UNIT;
}

/* A GPU decodes in less than the host's threads, so it is only reading that is certain. */
double
tb_cost_least_us(const TbLeastWork *work, bool later)
{
	TbDeviceInfo devices[TB_MAX_DEVICES];
	int			 count = tb_devices_snapshot(devices, TB_MAX_DEVICES);
	int			 threads = count > 0 ? Max((int) devices[TB_DEVICE_HOST].units, 1) : 1;
	double		 us = STARTUP_US + STAGE_US * Max(work->tables - 1, 0) +
		work->tables * PLANNED_TABLE_US * WORTH_PLANNINGS +
		work->returned * tb_cost_returned_row() * US_PER_UNIT;

	if (later)
		return us;
	us += work->pages * Max(DIRECT_PAGE_US / threads, CONFIRMED_PAGE_US);
	if (count <= 1)
		us += work->rows * (DECODE_ROW_NS + DECODE_COLUMN_NS) / 1000.0 / threads;
	return us;
}

Cost
tb_cost_wanted_pages(TbWork *work)
{
	double wanted = Min(work->passing, work->pages);

	if (wanted > work->pages * TB_WANTED_PAGES_SHARE)
		work->cached = 0;
	return wanted * Min(work->cached, work->cacheable) * TB_WANTED_PAGE_US / US_PER_UNIT;
}

Cost
tb_cost_run(const TbWork *work)
{
	int index;
	int ndevices;

	return cheapest_device(work, &index, &ndevices) / US_PER_UNIT + disk_cost(work);
}

double
tb_cost_scan_us(const TbWork *scanned, double processes, bool later)
{
	TbWork work = *scanned;
	double us = STARTUP_US + (processes > 1 ? SHARES_OF_PROCESS * STAGE_US : 0);
	int	   index;
	int	   ndevices;

	if (later && tb_guc_enable_cache)
		work.cached = work.cacheable;
	if (!later)
		us += compile_us(&work.program) * COMPILATION_SHARE;
	/* May take nothing from the cache after all. */
	us += tb_cost_wanted_pages(&work) * US_PER_UNIT / processes;
	return us + cheapest_device(&work, &index, &ndevices) +
		work.passing * RETURNED_ROW_US / processes;
}

double
tb_cost_kept_compilation_us(const TbWork *work, bool builds, bool later)
{
	double charged = compile_us(&work->program);

	if (!builds)
		charged = Max(charged - work->paid_us, 0);
	return charged * (later ? 1 : 1 - COMPILATION_SHARE);
}

bool
tb_cost_is_promising(double later, double rival_us)
{
	return later < rival_us * PROMISING;
}

/* The load takes nobody's time, so less need be gained than by a node that reads now. */
bool
tb_cost_load_pays(double now, double later, double rival_us)
{
	return later < rival_us * CLEARLY && rival_us - later >= LEAST_GAIN_US &&
		now < RUNS_TO_PAY * (rival_us - later);
}

double
tb_cost_weighed_us(double now, double later, double rival_us)
{
	return tb_cost_is_promising(later, rival_us) ? Max(later, now / CLEARLY) : now;
}

double
tb_cost_table_bytes(const TbWork *work)
{
	return work->built * BUILT_ROW_BYTES;
}

/* Rows, their table and its copy have to fit. What is to be cached the host decodes in any
 * case, so it builds as well. */
static bool
may_build_on(const TbDeviceInfo *gpu, int index, const TbWork *work)
{
	if (gpu->kind == 0 || !may_run_on(gpu, index, work))
		return false;
	if (tb_guc_enable_cache && work->cached < CACHED_TO_BUILD)
		return false;
	return tb_cost_table_bytes(work) * 3 < gpu->memory_budget / 4.0;
}

/* Of a BUILD without its start. A GPU builds large tables alone, unless it was asked for.
 */
static double
build_us(const TbWork *work, uint32 *device)
{
	TbDeviceInfo devices[TB_MAX_DEVICES];
	int			 count = tb_devices_snapshot(devices, TB_MAX_DEVICES);
	int			 threads = count > 0 ? Max((int) devices[TB_DEVICE_HOST].units, 1) : 1;
	bool		 gpu_wanted = tb_guc_device_choice() == TB_CHOOSE_GPU ||
		tb_guc_device_choice() == TB_CHOOSE_GPUS;
	double building = Min(threads,
						  Max(1, Min(work->built / BUILT_PART_ROWS, BUILD_THREADS)));
	double best = host_us(work, threads) +
		work->built * BUILD_ROW_NS / 1000.0 * (1.0 / building - 1.0 / threads);

	*device = TB_DEVICE_HOST;
	for (int i = 0; i < count; i++)
	{
		double us;

		if (!may_build_on(&devices[i], i, work))
			continue;
		us = gpu_us(work, &devices[i], threads) - GPU_STARTUP_US + GPU_BUILD_STARTUP_US +
			work->built * GPU_BUILT_ROW_NS / 1000.0;
		if (us >= best && !(gpu_wanted && *device == TB_DEVICE_HOST))
			continue;
		best = us;
		*device = (uint32) i;
	}
	return best;
}

uint32
tb_build_device(const TbWork *work)
{
	uint32 device;

	(void) build_us(work, &device);
	return device;
}

Cost
tb_cost_build(const TbWork *work)
{
	uint32 device;

	return (STAGE_US + compile_us(&work->program) + build_us(work, &device)) / US_PER_UNIT +
		disk_cost(work);
}

double
tb_cost_scan_ns(double rows)
{
	return rows * (DECODE_ROW_NS + DECODE_COLUMN_NS * SHAPE_COLUMNS);
}

double
tb_cost_build_ns(double rows)
{
	return rows * BUILD_ROW_NS;
}

double
tb_cost_probe_ns(double probes, int nkeys, double rejected, double matches)
{
	return probes * (nkeys > 1 ? HASHED_PROBE_NS : PROBE_NS) + rejected * CANDIDATE_NS +
		matches * MATCH_NS;
}

int
tb_cost_feeders(const TbWork *work)
{
	TbFeederNeed need;
	int			 index;
	int			 ndevices;

	if (!work->may_be_fed)
		return 0;
	(void) cheapest_device(work, &index, &ndevices);
	need = feeder_need(work, tb_cost_engine_us(work, index), tb_cost_processors());
	return tb_feeder_count(&need);
}

double
tb_cost_engine_us(const TbWork *work, uint32 device)
{
	return device == TB_DEVICE_HOST ? compute_us(work) : 0;
}

Cost
tb_cost_returned_row(void)
{
	return (tb_planning()->wants_columns ? COLUMNS_ROW_US : RETURNED_ROW_US) / US_PER_UNIT;
}

Cost
tb_cost_returned_group(void)
{
	return RETURNED_GROUP_US / US_PER_UNIT;
}

Cost
tb_cost_function(void)
{
	return FUNCTION_US / US_PER_UNIT;
}

bool
tb_cost_fits_in_memory(double bytes)
{
	TbDeviceInfo devices[TB_MAX_DEVICES];
	int			 count = tb_devices_snapshot(devices, TB_MAX_DEVICES);

	return count == 0 || bytes <= devices[TB_DEVICE_HOST].memory_budget / 2.0;
}

/* Its index; of none, one that no device has. */
static uint32
first_gpu(uint32 gpus)
{
	return gpus == 0 ? TB_MAX_DEVICES : (uint32) pg_rightmost_one_pos32(gpus) + 1;
}

bool
tb_choose_device(const TbWork *work, uint32 *device, const char **reason)
{
	int index;
	int ndevices;

	(void) cheapest_device(work, &index, &ndevices);
	if (index >= 0)
	{
		*device = (uint32) index;
		return true;
	}
	if (work->program.inexact && !tb_guc_allow_inexact_math)
	{
		/* Forced plans still have to give PostgreSQL's digits. */
		*device = TB_DEVICE_HOST;
		*reason =
			"a function's last digit may differ on a GPU, and pg_turbine.allow_inexact_math is off";
		return false;
	}
	*device = tb_guc_device_choice() == TB_CHOOSE_GPU ? 1 :
		tb_guc_device_choice() == TB_CHOOSE_GPUS	  ? first_gpu(tb_guc_gpus()) :
														TB_DEVICE_HOST;
	*reason = ndevices == 0 ?
		"the service is not running" :
		psprintf("no usable device: pg_turbine.device is \"%s\"", tb_guc_device_name());
	return false;
}
