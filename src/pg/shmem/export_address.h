/*
 * export_address.h - where processes turn tokens of exports into memory.
 */
#ifndef TURBINE_PG_SHMEM_EXPORT_ADDRESS_H
#define TURBINE_PG_SHMEM_EXPORT_ADDRESS_H

#include "postgres.h"

/* The export socket's path, as long as the process lives; NULL: there is none. */
extern const char *tb_export_socket_path(void);

#endif
