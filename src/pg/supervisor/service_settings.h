/*
 * service_settings.h - the settings that turbined is started with.
 * Fixed at server start, since a reload must not restart the service.
 */
#ifndef TURBINE_PG_SERVICE_SETTINGS_H
#define TURBINE_PG_SERVICE_SETTINGS_H

extern char *tb_service_path;		/* "": the installed one */
extern int	tb_host_threads;		/* 0: one a processor */

extern void tb_service_settings_init(void);

#endif
