/*
 * guc.h - the configuration variables, pg_turbine.*.
 *
 * Owned by guc.c; everyone else only reads them.
 */
#ifndef TURBINE_PG_SETTINGS_GUC_H
#define TURBINE_PG_SETTINGS_GUC_H

#include "postgres.h"

/* What pg_turbine.device asks for. */
typedef enum TbDeviceChoice
{
	TB_CHOOSE_AUTO, /* the cheapest usable device */
	TB_CHOOSE_CPU,	/* the host device */
	TB_CHOOSE_GPU,	/* any GPU */
	TB_CHOOSE_GPUS	/* one of those: tb_guc_gpus() */
} TbDeviceChoice;

/* What pg_turbine.split_over_gpus asks for. */
typedef enum TbSplitChoice
{
	TB_SPLIT_AUTO, /* if it pays */
	TB_SPLIT_ON,   /* if it can be */
	TB_SPLIT_OFF
} TbSplitChoice;

/* What pg_turbine.debug_join_shape asks for; planner/join/join_shape.c tells what each is.
 */
typedef enum TbShapeChoice
{
	TB_SHAPE_AUTO,
	TB_SHAPE_CHAIN,
	TB_SHAPE_SEARCHED,
	TB_SHAPE_POSTGRESQL,
	TB_SHAPE_FILTERED
} TbShapeChoice;

/* What pg_turbine.storage_path asks for. */
typedef enum TbStoragePath
{
	TB_STORAGE_AUTO,   /* O_DIRECT for large tables' blocks outside of the page cache */
	TB_STORAGE_DIRECT, /* O_DIRECT */
	TB_STORAGE_PAGE_CACHE
} TbStoragePath;

extern bool	  tb_guc_enabled;
extern bool	  tb_guc_enable_scan;
extern bool	  tb_guc_enable_join;
extern bool	  tb_guc_enable_aggregate;
extern bool	  tb_guc_enable_sort;
extern bool	  tb_guc_enable_brin;
extern bool	  tb_guc_enable_block_indexes;
extern bool	  tb_guc_enable_cache;
extern bool	  tb_guc_enable_partitionwise;
extern bool	  tb_guc_allow_inexact_math;
extern bool	  tb_guc_debug_force_offload;
extern bool	  tb_guc_debug_plain_explain;
extern bool	  tb_guc_debug_full_code;
extern int	  tb_guc_direct_threshold;	   /* blocks */
extern int	  tb_guc_file_reader_memory;   /* MB */
extern int	  tb_guc_split_over_gpus;	   /* TbSplitChoice */
extern int	  tb_guc_storage_path;		   /* TbStoragePath */
extern double tb_guc_storage_direct_share; /* of the memory that turbined may use */
extern int	  tb_guc_debug_join_shape;	   /* TbShapeChoice */
extern int	  tb_guc_debug_stop_commit;	   /* a step of fdw/modify.c; 0: none */
extern int	  tb_guc_debug_stop_writer;	   /* a step of a file writer; 0: none */

/* Relations of fewer blocks are small: to read them takes as long as to decide how. They
 * are cached below the threshold too. */
#define TB_FEW_BLOCKS 64

typedef struct TbParsedDevice
{
	TbDeviceChoice choice;
	uint32		   gpus; /* of TB_CHOOSE_GPUS: a bit each, GPU 0 first; 0: there is none */
} TbParsedDevice;

/* A device's name: "auto", "cpu", "gpu", or a list of "gpu<number>"; false if it is none of
 * these. */
extern bool tb_parse_device(const char *text, TbParsedDevice *parsed);

extern TbDeviceChoice tb_guc_device_choice(void);
extern uint32		  tb_guc_gpus(void);		/* as TbParsedDevice */
extern const char	 *tb_guc_device_name(void); /* as set: "auto", "gpu1" */

/* pg_turbine.debug_fault, as TbQuery has it; 0: none. */
extern uint64 tb_guc_debug_fault(void);

/* Called once, by _PG_init. */
extern void tb_guc_init(void);

#endif
