/*
 * library_cache.h - which libraries of compiled functions stay in the data directory: those
 * that were used last, as far as pg_turbine.plcuda_cache_size reaches.
 */
#ifndef TURBINE_PG_PLCUDA_LIBRARY_CACHE_H
#define TURBINE_PG_PLCUDA_LIBRARY_CACHE_H

#include "postgres.h"

/* Below TB_PLCUDA_FOLDER; the number of the compiler's backend follows. */
#define TB_COMPILER_FOLDER "compile."

/* Whether the library is there. It counts as used now. */
extern bool tb_plcuda_use_library(const char *path);

/* A library has come: others go until there is room for it. Raises nothing. */
extern void tb_plcuda_trim_cache(const char *new_library);

#endif
