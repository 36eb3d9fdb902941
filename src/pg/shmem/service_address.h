/*
 * service_address.h - where turbined's socket and its files lie.
 */
#ifndef TURBINE_PG_SHMEM_SERVICE_ADDRESS_H
#define TURBINE_PG_SHMEM_SERVICE_ADDRESS_H

/* Paths relative to the data directory, which is every process's working directory:
 * a socket's path must be short whatever the data directory is called. pg_rewind cannot
 * copy a socket, so its name starts like those of PostgreSQL's temporary files, which
 * pg_rewind and pg_basebackup leave out; the same holds for the lock file beside it. */
#define TB_SERVICE_DIRECTORY "pg_turbine"
#define TB_SOCKET_PATH "pg_turbine/pgsql_tmp.turbined.sock"
#define TB_CACHE_DIRECTORY "pg_turbine/cache"

#endif
