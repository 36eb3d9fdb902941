/*
 * service_settings.h - the settings of the service: those that turbined is
 * started with, fixed at server start since a reload must not restart it, and
 * how long queries may wait for it.
 */
#ifndef TURBINE_PG_SETTINGS_SERVICE_SETTINGS_H
#define TURBINE_PG_SETTINGS_SERVICE_SETTINGS_H

#include "postgres.h"

extern char *tb_service_path;		/* "": the installed one */
extern int	 tb_host_threads;		/* 0: one a processor */
extern int	 tb_memory_budget_mb;	/* 0: the service's default */
extern int	 tb_cache_size_gpu_mb;	/* -1: the service's default */
extern int	 tb_cache_size_host_mb; /* -1: the service's default */
extern int	 tb_admission_wait_ms;
extern int	 tb_compile_wait_ms;
extern bool	 tb_cache_autoload;
extern bool	 tb_cache_background_load;
extern char *tb_export_socket_setting; /* as set; see tb_export_socket_path() */
extern int	 tb_export_lifetime_s;

extern void tb_service_settings_init(void);

#endif
