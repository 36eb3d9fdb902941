/*
 * plcuda_settings.h - the settings of LANGUAGE plcuda.
 */
#ifndef TURBINE_PG_SETTINGS_PLCUDA_SETTINGS_H
#define TURBINE_PG_SETTINGS_PLCUDA_SETTINGS_H

#include "postgres.h"

#define TB_PLCUDA_MOST_PROCESSES 64

extern char *tb_cuda_home;		  /* "": to be searched for */
extern int	 tb_plcuda_processes; /* at most TB_PLCUDA_MOST_PROCESSES */
extern int	 tb_plcuda_memory_mb; /* of each of them, and of a compiler */

extern int tb_plcuda_cache_mb;	  /* all compiled functions */

extern void tb_plcuda_settings_init(void);

#endif
