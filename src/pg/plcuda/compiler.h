/*
 * compiler.h - from a function's source to a library: nvcc, and the cache of libraries.
 */
#ifndef TURBINE_PG_PLCUDA_COMPILER_H
#define TURBINE_PG_PLCUDA_COMPILER_H

#include "postgres.h"

#include "pg/plcuda/function_shape.h"

/* Below the data directory: folders of the cache and of compilers. */
#define TB_PLCUDA_FOLDER "pg_turbine/plcuda"

/* Whether there is a compiler. */
extern bool tb_plcuda_has_compiler(void);

/* The absolute path of the function's library, which is compiled if it is not in the cache.
 * palloc'd. Raises errors. */
extern char *tb_plcuda_library_of(const TbPlcudaShape *shape);

/* The environment of compilers and runners; palloc'd, ends with NULL. */
extern char **tb_plcuda_environment(const char *folder);

/* Hint for errors where there is no compiler. */
extern char *tb_plcuda_compiler_hint(void);

#endif
