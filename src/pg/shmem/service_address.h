/*
 * service_address.h - where turbined's socket and its files lie.
 */
#ifndef TURBINE_PG_SHMEM_SERVICE_ADDRESS_H
#define TURBINE_PG_SHMEM_SERVICE_ADDRESS_H

/* Paths relative to the data directory, which is every process's working directory:
 * a socket's path must be short whatever the data directory is called. */
#define TB_SERVICE_DIRECTORY "pg_turbine"
#define TB_SOCKET_PATH "pg_turbine/turbined.sock"
#define TB_CACHE_DIRECTORY "pg_turbine/cache"

#endif
