/*
 * tablespace_map.h - the setting pg_turbine.gpu_tablespace_map: which GPUs an administrator
 * wants for the tables of a tablespace, or for files below a folder.
 */
#ifndef TURBINE_PG_SETTINGS_TABLESPACE_MAP_H
#define TURBINE_PG_SETTINGS_TABLESPACE_MAP_H

#include "postgres.h"

/* Whether the map has anything at all: a name need not be looked up if not. */
extern bool tb_tablespace_map_is_empty(void);

/* A bit each, GPU 0 first; 0: the map does not name it. */
extern uint32 tb_tablespace_map_of_name(const char *tablespace);

/* The same of an absolute path: that of the longest folder that holds it. */
extern uint32 tb_tablespace_map_of_path(const char *path);

extern void tb_tablespace_map_init(void);

#endif
