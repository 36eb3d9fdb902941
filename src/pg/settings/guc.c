/*
 * guc.c - defines the configuration variables from two static tables.
 *
 * Must not act on a value: planner, nodes and sources read the variables. Called
 * by _PG_init alone.
 */
#include "postgres.h"

#include <ctype.h>
#include <limits.h>

#include "utils/guc.h"

#include "turbine/wire.h"

#include "pg/compat/pg16.h"
#include "pg/settings/guc.h"

bool   tb_guc_enabled;
bool   tb_guc_enable_scan;
bool   tb_guc_enable_join;
bool   tb_guc_enable_aggregate;
bool   tb_guc_enable_sort;
bool   tb_guc_enable_brin;
bool   tb_guc_enable_block_indexes;
bool   tb_guc_enable_cache;
bool   tb_guc_enable_partitionwise;
bool   tb_guc_allow_inexact_math;
bool   tb_guc_debug_force_offload;
bool   tb_guc_debug_plain_explain;
bool   tb_guc_debug_full_code;
int	   tb_guc_direct_threshold;
int	   tb_guc_file_reader_memory;
int	   tb_guc_split_over_gpus;
int	   tb_guc_storage_path;
double tb_guc_storage_direct_share;
int	   tb_guc_debug_join_shape;
int	   tb_guc_debug_stop_commit;
int	   tb_guc_debug_stop_writer;

static char	 *device_setting;
static char	 *debug_fault_setting;
static uint64 debug_fault; /* as TbQuery.debug_fault; 0: none */

/* What a valid value of pg_turbine.device means. */

static TbParsedDevice device;

typedef struct BoolSetting
{
	const char *name;
	const char *description;
	const char *details; /* when to change it; docs/settings.md is made of both */
	bool	   *variable;
	bool		boot_value;
	int			flags;
} BoolSetting;

static const BoolSetting bool_settings[] = {
	{"pg_turbine.enabled", "Enables the planner's use of pg_turbine.",
	 "Turn it off to compare a query with PostgreSQL's own plan, or to rule pg_turbine out "
	 "while looking for a fault.",
	 &tb_guc_enabled, true, 0},
	{"pg_turbine.enable_scan", "Enables the planner's use of GpuScan.",
	 "GpuScan and GpuFileScan filter rows and return them. Other nodes read tables "
	 "themselves and are not affected.",
	 &tb_guc_enable_scan, true, GUC_EXPLAIN},
	{"pg_turbine.enable_join", "Enables the planner's use of joins on devices.",
	 "If it is off, aggregates and sorts above a join stay with PostgreSQL too.",
	 &tb_guc_enable_join, true, GUC_EXPLAIN},
	{"pg_turbine.enable_aggregate", "Enables the planner's use of GpuPreAgg.",
	 "If it is off, aggregates and GROUP BY stay with PostgreSQL.",
	 &tb_guc_enable_aggregate, true, GUC_EXPLAIN},
	{"pg_turbine.enable_sort", "Enables the planner's use of GpuSort.",
	 "If it is off, ORDER BY with LIMIT and window functions stay with PostgreSQL.",
	 &tb_guc_enable_sort, true, GUC_EXPLAIN},
	{"pg_turbine.enable_brin", "Enables the use of BRIN indexes by accelerated nodes.",
	 "If it is off, blocks that a BRIN index excludes are read all the same.",
	 &tb_guc_enable_brin, true, GUC_EXPLAIN},
	{"pg_turbine.enable_block_indexes",
	 "Enables the use of GiST, SP-GiST and GIN indexes by accelerated nodes.",
	 "If it is off, blocks in which such an index has no row are read all the same.",
	 &tb_guc_enable_block_indexes, true, GUC_EXPLAIN},
	{"pg_turbine.enable_cache", "Enables the use of the column cache.",
	 "If it is off, queries of this session neither find cached columns nor add any.",
	 &tb_guc_enable_cache, true, GUC_EXPLAIN},
	{"pg_turbine.enable_partitionwise",
	 "Enables the planner's use of one node for all partitions of a table.",
	 "If it is off, partitioned tables and their partitions stay with PostgreSQL.",
	 &tb_guc_enable_partitionwise, true, GUC_EXPLAIN},
	{"pg_turbine.allow_inexact_math",
	 "Lets a GPU compute functions whose last digit may differ from PostgreSQL's.",
	 "These are exp, ln, log, power, cbrt, sin, cos and tan. If it is off, the CPU computes "
	 "them, and results are PostgreSQL's to the last bit.",
	 &tb_guc_allow_inexact_math, false, GUC_EXPLAIN},
	{"pg_turbine.debug_force_offload", "Takes every possible accelerated plan.",
	 "For tests: queries that PostgreSQL runs faster become slower.",
	 &tb_guc_debug_force_offload, false, GUC_NOT_IN_SAMPLE | GUC_EXPLAIN},
	{"pg_turbine.debug_plain_explain",
	 "Makes EXPLAIN without ANALYZE show PostgreSQL's own plan.",
	 "For tests that compare plans: EXPLAIN ANALYZE and queries are accelerated all the "
	 "same.",
	 &tb_guc_debug_plain_explain, false, GUC_NOT_IN_SAMPLE},
	{"pg_turbine.debug_full_code", "Waits for fully optimized code, even for few rows.",
	 "For tests: otherwise a query of few rows starts with code that compiles faster.",
	 &tb_guc_debug_full_code, false, GUC_NOT_IN_SAMPLE},
};

typedef struct IntSetting
{
	const char *name;
	const char *description;
	const char *details;
	int		   *variable;
	int			boot_value;
	int			min_value;
	int			max_value;
	GucContext	context;
	int			flags;
} IntSetting;

static const IntSetting int_settings[] = {
	{"pg_turbine.direct_threshold",
	 "Sets the number of blocks from which a query reads a table from its files.",
	 "Only all-visible blocks that are not dirty are read so. Other blocks, and smaller "
	 "tables, go through shared buffers. Raise it if shared buffers hold your tables and "
	 "the page cache does not.",
	 &tb_guc_direct_threshold, 64, 0, INT_MAX, PGC_USERSET, GUC_UNIT_BLOCKS | GUC_EXPLAIN},
	{"pg_turbine.file_reader_memory",
	 "Sets the maximum memory of each process that reads a foreign table's file.",
	 "Raise it if a query of a Parquet file with large row groups fails with \"out of "
	 "memory\".",
	 &tb_guc_file_reader_memory, 2048, 64, 1024 * 1024, PGC_SUSET, GUC_UNIT_MB},
	{"pg_turbine.debug_stop_commit",
	 "Stops the process at this step of committing foreign tables, as SIGSTOP does.",
	 "For tests of crashes. 0 stops nothing.", &tb_guc_debug_stop_commit, 0, 0, INT_MAX,
	 PGC_SUSET, GUC_NOT_IN_SAMPLE},
	{"pg_turbine.debug_stop_writer",
	 "Stops file writers of foreign tables at this step of a file, as SIGSTOP does.",
	 "For tests of crashes. 0 stops nothing.", &tb_guc_debug_stop_writer, 0, 0, INT_MAX,
	 PGC_SUSET, GUC_NOT_IN_SAMPLE},
};

static const struct config_enum_entry storage_paths[] = {
	{"auto", TB_STORAGE_AUTO, false},
	{"direct", TB_STORAGE_DIRECT, false},
	{"page_cache", TB_STORAGE_PAGE_CACHE, false},
	{NULL, 0, false},
};

static const struct config_enum_entry join_shapes[] = {
	{"auto", TB_SHAPE_AUTO, false},			{"chain", TB_SHAPE_CHAIN, false},
	{"searched", TB_SHAPE_SEARCHED, false}, {"postgresql", TB_SHAPE_POSTGRESQL, false},
	{"filtered", TB_SHAPE_FILTERED, false}, {NULL, 0, false},
};

static const struct config_enum_entry split_choices[] = {
	{"auto", TB_SPLIT_AUTO, false},
	{"on", TB_SPLIT_ON, false},
	{"off", TB_SPLIT_OFF, false},
	{NULL, 0, false},
};

/* "gpu0", or "gpu0, gpu2". */
static bool
parse_gpus(const char *text, uint32 *gpus)
{
	*gpus = 0;
	for (;;)
	{
		Size  digits;
		char *end;
		long  number;

		text += strspn(text, " ");
		if (pg_strncasecmp(text, "gpu", 3) != 0)
			return false;
		digits = strspn(text + 3, "0123456789");
		if (digits < 1 || digits > 2)
			return false;
		number = strtol(text + 3, &end, 10);
		if (number < TB_MAX_DEVICES - 1)
			*gpus |= UINT32_C(1) << number;
		text = end + strspn(end, " ");
		if (*text == '\0')
			return true;
		if (*text++ != ',')
			return false;
	}
}

bool
tb_parse_device(const char *text, TbParsedDevice *parsed)
{
	parsed->gpus = 0;
	if (pg_strcasecmp(text, "auto") == 0)
		parsed->choice = TB_CHOOSE_AUTO;
	else if (pg_strcasecmp(text, "cpu") == 0)
		parsed->choice = TB_CHOOSE_CPU;
	else if (pg_strcasecmp(text, "gpu") == 0)
		parsed->choice = TB_CHOOSE_GPU;
	else if (parse_gpus(text, &parsed->gpus))
		parsed->choice = TB_CHOOSE_GPUS;
	else
		return false;
	return true;
}

static bool
check_device(char **newval, void **extra, GucSource source)
{
	TbParsedDevice *parsed = tb_guc_malloc(sizeof(TbParsedDevice));

	(void) source;
	if (parsed == NULL)
		return false;
	if (!tb_parse_device(*newval, parsed))
	{
		tb_guc_free(parsed);
		GUC_check_errdetail(
			"Valid values are \"auto\", \"cpu\", \"gpu\", and \"gpu\" with a number, or "
			"several of these.");
		return false;
	}
	*extra = parsed;
	return true;
}

static void
assign_device(const char *newval, void *extra)
{
	(void) newval;
	device = *(TbParsedDevice *) extra;
}

/*
 * Parses "N:RESULT", the driver call of a query that fails and the CUresult that
 * it fails with, or "" for none; false if it is neither.
 */
static bool
parse_fault(const char *text, uint64 *fault)
{
	unsigned long nth_call, result;
	char		 *end;

	*fault = 0;
	if (text[0] == '\0')
		return true;
	if (!isdigit((unsigned char) text[0]))
		return false;
	nth_call = strtoul(text, &end, 10);
	if (nth_call == 0 || nth_call > PG_UINT32_MAX || end[0] != ':' ||
		!isdigit((unsigned char) end[1]))
		return false;
	result = strtoul(end + 1, &end, 10);
	if (result == 0 || result > PG_UINT16_MAX || *end != '\0')
		return false;
	*fault = (uint64) result << 32 | nth_call;
	return true;
}

static bool
check_debug_fault(char **newval, void **extra, GucSource source)
{
	uint64 *parsed = tb_guc_malloc(sizeof(uint64));

	(void) source;
	if (parsed == NULL)
		return false;
	if (!parse_fault(*newval, parsed))
	{
		tb_guc_free(parsed);
		GUC_check_errdetail(
			"It has the form N:RESULT: the number of a driver call, from 1, and the CUresult it "
			"fails with.");
		return false;
	}
	*extra = parsed;
	return true;
}

static void
assign_debug_fault(const char *newval, void *extra)
{
	(void) newval;
	debug_fault = *(uint64 *) extra;
}

uint64
tb_guc_debug_fault(void)
{
	return debug_fault;
}

TbDeviceChoice
tb_guc_device_choice(void)
{
	return device.choice;
}

uint32
tb_guc_gpus(void)
{
	return device.gpus;
}

const char *
tb_guc_device_name(void)
{
	return device_setting;
}

void
tb_guc_init(void)
{
	for (int i = 0; i < (int) lengthof(bool_settings); i++)
	{
		const BoolSetting *s = &bool_settings[i];

		DefineCustomBoolVariable(s->name, s->description, s->details, s->variable,
								 s->boot_value, PGC_USERSET, s->flags, NULL, NULL, NULL);
	}
	for (int i = 0; i < (int) lengthof(int_settings); i++)
	{
		const IntSetting *s = &int_settings[i];

		DefineCustomIntVariable(s->name, s->description, s->details, s->variable,
								s->boot_value, s->min_value, s->max_value, s->context,
								s->flags, NULL, NULL, NULL);
	}
	DefineCustomStringVariable(
		"pg_turbine.device", "Selects the device that runs accelerated plans.",
		"auto: the device that should be fastest, by cost. cpu: the cores. gpu: any GPU. "
		"gpu0, gpu1, ...: this GPU; gpu0,gpu1: one of these. Without a usable GPU, gpu leaves "
		"queries to PostgreSQL.",
		&device_setting, "auto", PGC_USERSET, GUC_EXPLAIN, check_device, assign_device,
		NULL);
	DefineCustomEnumVariable(
		"pg_turbine.split_over_gpus",
		"Selects whether one query runs on several GPUs at once.",
		"auto: if the columns that it reads do not fit one GPU's memory for columns, or if its "
		"kernels take long. on: if it can be split. off: never. The GPUs are those that "
		"pg_turbine.device allows.",
		&tb_guc_split_over_gpus, TB_SPLIT_AUTO, split_choices, PGC_USERSET, GUC_EXPLAIN,
		NULL, NULL, NULL);
	DefineCustomEnumVariable(
		"pg_turbine.storage_path", "Selects how the service reads blocks and files.",
		"auto: tables of pg_turbine.storage_direct_share and more with O_DIRECT, except what "
		"the page cache has; smaller ones by the page cache. direct: always with O_DIRECT. "
		"page_cache: never.",
		&tb_guc_storage_path, TB_STORAGE_AUTO, storage_paths, PGC_USERSET, GUC_EXPLAIN,
		NULL, NULL, NULL);
	DefineCustomRealVariable(
		"pg_turbine.storage_direct_share",
		"Sets the size of a table that no longer goes to the page cache.",
		"It is a part of the memory that the machine or the container has. Lower it if scans "
		"of large tables slow other programs down; raise it if such scans are repeated and "
		"the page cache could hold their tables.",
		&tb_guc_storage_direct_share, 0.5, 0.0, 1000.0, PGC_USERSET, GUC_EXPLAIN, NULL,
		NULL, NULL);
	DefineCustomEnumVariable("pg_turbine.debug_join_shape",
							 "Selects the shape of accelerated joins, whatever it costs.",
							 "For tests of join orders.", &tb_guc_debug_join_shape,
							 TB_SHAPE_AUTO, join_shapes, PGC_USERSET,
							 GUC_NOT_IN_SAMPLE | GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomStringVariable(
		"pg_turbine.debug_fault", "Makes a driver call of each query on a GPU fail.",
		"For tests: N:RESULT has the number of the call, from 1, and the CUresult that it "
		"fails with. Empty means none.",
		&debug_fault_setting, "", PGC_SUSET, GUC_NOT_IN_SAMPLE, check_debug_fault,
		assign_debug_fault, NULL);
}
