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

#include "pg/settings/guc.h"

bool tb_guc_enabled;
bool tb_guc_enable_scan;
bool tb_guc_enable_join;
bool tb_guc_enable_aggregate;
bool tb_guc_enable_sort;
bool tb_guc_enable_brin;
bool tb_guc_enable_cache;
bool tb_guc_enable_partitionwise;
bool tb_guc_allow_inexact_math;
bool tb_guc_debug_force_offload;
bool tb_guc_debug_plain_explain;
bool tb_guc_debug_full_code;
int	 tb_guc_direct_threshold;
int	 tb_guc_file_reader_memory;
int	 tb_guc_debug_join_shape;
int	 tb_guc_debug_stop_commit;
int	 tb_guc_debug_stop_writer;

static char	 *device_setting;
static char	 *debug_fault_setting;
static uint64 debug_fault; /* as TbQuery.debug_fault; 0: none */

/* What a valid value of pg_turbine.device means. */
typedef struct ParsedDevice
{
	TbDeviceChoice choice;
	int			   gpu_index;
} ParsedDevice;

static ParsedDevice device;

typedef struct BoolSetting
{
	const char *name;
	const char *description;
	bool	   *variable;
	bool		boot_value;
	int			flags;
} BoolSetting;

static const BoolSetting bool_settings[] = {
	{"pg_turbine.enabled", "Plans queries for the devices of pg_turbine.", &tb_guc_enabled,
	 true, 0},
	{"pg_turbine.enable_scan", "Enables the planner's use of GpuScan.", &tb_guc_enable_scan,
	 true, GUC_EXPLAIN},
	{"pg_turbine.enable_join", "Enables the planner's use of GpuJoin.", &tb_guc_enable_join,
	 true, GUC_EXPLAIN},
	{"pg_turbine.enable_aggregate", "Enables the planner's use of GpuPreAgg.",
	 &tb_guc_enable_aggregate, true, GUC_EXPLAIN},
	{"pg_turbine.enable_sort", "Enables the planner's use of GpuSort.", &tb_guc_enable_sort,
	 true, GUC_EXPLAIN},
	{"pg_turbine.enable_brin", "Enables the use of BRIN indexes by accelerated scans.",
	 &tb_guc_enable_brin, true, GUC_EXPLAIN},
	{"pg_turbine.enable_cache", "Enables the use of cached columns of tables.",
	 &tb_guc_enable_cache, true, GUC_EXPLAIN},
	{"pg_turbine.enable_partitionwise",
	 "Enables accelerated plans below partitioned tables.", &tb_guc_enable_partitionwise,
	 true, GUC_EXPLAIN},
	{"pg_turbine.allow_inexact_math",
	 "Lets a GPU compute functions whose results may differ in the last bits.",
	 &tb_guc_allow_inexact_math, false, GUC_EXPLAIN},
	{"pg_turbine.debug_force_offload", "Takes every offloadable path whatever its cost.",
	 &tb_guc_debug_force_offload, false, GUC_NOT_IN_SAMPLE | GUC_EXPLAIN},
	{"pg_turbine.debug_plain_explain",
	 "EXPLAIN without ANALYZE shows the unaccelerated plan.", &tb_guc_debug_plain_explain,
	 false, GUC_NOT_IN_SAMPLE},
	{"pg_turbine.debug_full_code",
	 "Waits for fully optimised code, however small the input.", &tb_guc_debug_full_code,
	 false, GUC_NOT_IN_SAMPLE},
};

typedef struct IntSetting
{
	const char *name;
	const char *description;
	int		   *variable;
	int			boot_value;
	int			min_value;
	int			max_value;
	GucContext	context;
	int			flags;
} IntSetting;

static const IntSetting int_settings[] = {
	{"pg_turbine.direct_threshold",
	 "Reads all-visible blocks of tables of at least this size directly from their files.",
	 &tb_guc_direct_threshold, 64, 0, INT_MAX, PGC_USERSET, GUC_UNIT_BLOCKS | GUC_EXPLAIN},
	{"pg_turbine.file_reader_memory",
	 "Memory that reading an Arrow or Parquet file may take.", &tb_guc_file_reader_memory,
	 2048, 64, 1024 * 1024, PGC_SUSET, GUC_UNIT_MB},
	{"pg_turbine.debug_stop_commit",
	 "Stops the process at this step of committing foreign tables, as SIGSTOP does.",
	 &tb_guc_debug_stop_commit, 0, 0, INT_MAX, PGC_SUSET, GUC_NOT_IN_SAMPLE},
	{"pg_turbine.debug_stop_writer",
	 "Stops file writers of foreign tables at this step of a file, as SIGSTOP does.",
	 &tb_guc_debug_stop_writer, 0, 0, INT_MAX, PGC_SUSET, GUC_NOT_IN_SAMPLE},
};

static const struct config_enum_entry join_shapes[] = {
	{"auto", TB_SHAPE_AUTO, false},			{"chain", TB_SHAPE_CHAIN, false},
	{"searched", TB_SHAPE_SEARCHED, false}, {"postgresql", TB_SHAPE_POSTGRESQL, false},
	{"filtered", TB_SHAPE_FILTERED, false}, {NULL, 0, false},
};

/* Parses "auto", "cpu", "gpu", "gpu<number>"; false if it is none of these. */
static bool
parse_device(const char *text, ParsedDevice *parsed)
{
	parsed->gpu_index = 0;
	if (pg_strcasecmp(text, "auto") == 0)
		parsed->choice = TB_CHOOSE_AUTO;
	else if (pg_strcasecmp(text, "cpu") == 0)
		parsed->choice = TB_CHOOSE_CPU;
	else if (pg_strcasecmp(text, "gpu") == 0)
		parsed->choice = TB_CHOOSE_GPU;
	else if (pg_strncasecmp(text, "gpu", 3) == 0 &&
			 strspn(text + 3, "0123456789") == strlen(text + 3) && strlen(text + 3) <= 2)
	{
		parsed->choice = TB_CHOOSE_GPU_INDEX;
		parsed->gpu_index = atoi(text + 3);
	}
	else
		return false;
	return true;
}

static bool
check_device(char **newval, void **extra, GucSource source)
{
	ParsedDevice *parsed = malloc(sizeof(ParsedDevice));

	(void) source;
	if (parsed == NULL)
		return false;
	if (!parse_device(*newval, parsed))
	{
		free(parsed);
		GUC_check_errdetail(
			"Valid values are \"auto\", \"cpu\", \"gpu\", and \"gpu\" with a number.");
		return false;
	}
	*extra = parsed;
	return true;
}

static void
assign_device(const char *newval, void *extra)
{
	(void) newval;
	device = *(ParsedDevice *) extra;
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
	uint64 *parsed = malloc(sizeof(uint64));

	(void) source;
	if (parsed == NULL)
		return false;
	if (!parse_fault(*newval, parsed))
	{
		free(parsed);
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

int
tb_guc_gpu_index(void)
{
	return device.gpu_index;
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

		DefineCustomBoolVariable(s->name, s->description, NULL, s->variable, s->boot_value,
								 PGC_USERSET, s->flags, NULL, NULL, NULL);
	}
	for (int i = 0; i < (int) lengthof(int_settings); i++)
	{
		const IntSetting *s = &int_settings[i];

		DefineCustomIntVariable(s->name, s->description, NULL, s->variable, s->boot_value,
								s->min_value, s->max_value, s->context, s->flags, NULL,
								NULL, NULL);
	}
	DefineCustomStringVariable(
		"pg_turbine.device",
		"The device that runs accelerated plans: auto, cpu, gpu, gpu0, gpu1, ...", NULL,
		&device_setting, "auto", PGC_USERSET, GUC_EXPLAIN, check_device, assign_device,
		NULL);
	DefineCustomEnumVariable("pg_turbine.debug_join_shape",
							 "The shape of accelerated joins, whatever it costs.", NULL,
							 &tb_guc_debug_join_shape, TB_SHAPE_AUTO, join_shapes,
							 PGC_USERSET, GUC_NOT_IN_SAMPLE | GUC_EXPLAIN, NULL, NULL,
							 NULL);
	DefineCustomStringVariable(
		"pg_turbine.debug_fault",
		"Makes the Nth driver call of each query on a GPU fail: N:RESULT.", NULL,
		&debug_fault_setting, "", PGC_SUSET, GUC_NOT_IN_SAMPLE, check_debug_fault,
		assign_debug_fault, NULL);
}
