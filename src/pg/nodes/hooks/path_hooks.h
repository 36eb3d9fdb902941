/*
 * path_hooks.h - where the planner asks for paths.
 */
#ifndef TURBINE_PG_NODES_HOOKS_PATH_HOOKS_H
#define TURBINE_PG_NODES_HOOKS_PATH_HOOKS_H

#include "postgres.h"

/* Installs set_rel_pathlist_hook and create_upper_paths_hook; by _PG_init. */
extern void tb_path_hooks_init(void);

#endif
