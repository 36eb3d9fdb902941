#!/usr/bin/env bash
# entrypoint.sh [SERVER'S OPTION...] - what a container of pg_turbine runs.
#
# Makes a cluster in $PGDATA if there is none, with pg_turbine preloaded and, in the databases postgres and template1,
# created. The password of the role postgres is $POSTGRES_PASSWORD; without one, only processes of the container may
# connect. Then the server takes this process's place, so that it gets the container's signals.
set -euo pipefail

bin=/usr/lib/postgresql/$PG/bin
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  chmod 700 "$PGDATA"
  "$bin/initdb" -D "$PGDATA" -U postgres --auth-local=peer --auth-host=scram-sha-256 -E UTF8 --locale=C.UTF-8 >/dev/null
  {
    echo "shared_preload_libraries = 'pg_turbine'"
    if [ -n "${POSTGRES_PASSWORD:-}" ]; then echo "listen_addresses = '*'"; else echo "listen_addresses = ''"; fi
  } >> "$PGDATA/postgresql.conf"
  "$bin/pg_ctl" -D "$PGDATA" -o "-c listen_addresses=''" -w -s start
  for database in template1 postgres; do
    "$bin/psql" -X -q -v ON_ERROR_STOP=1 -d "$database" -c 'CREATE EXTENSION pg_turbine'
  done
  if [ -n "${POSTGRES_PASSWORD:-}" ]; then
    echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
    "$bin/psql" -X -q -v ON_ERROR_STOP=1 -v password="$POSTGRES_PASSWORD" <<< "ALTER ROLE postgres PASSWORD :'password'"
  fi
  "$bin/pg_ctl" -D "$PGDATA" -m fast -w -s stop
fi
unset POSTGRES_PASSWORD
exec "$bin/postgres" -D "$PGDATA" "$@"
