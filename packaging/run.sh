#!/usr/bin/env bash
# run.sh - runs a command beside a PostgreSQL server with pg_turbine, from a bundle.
#
#   run.sh [-d DIR] [-k] [-n] [-s NAME=VALUE]... [--] [COMMAND [ARGUMENT...]]
#
#   -d DIR         where to unpack and keep the cluster; by default
#                  /dev/shm/pg_turbine, or /tmp/pg_turbine where that is too
#                  small or does not allow programs
#   -k             keep the server running after the command
#   -n             start no server (for scripts that start their own)
#   -s NAME=VALUE  a setting of the server, over the defaults below
#
# Without a command: psql if there is a terminal, else what turbine.devices says.
# Unpacks pg_turbine.tar.xz beside this script once, makes a cluster once, starts
# it, runs the command with the environment below, stops the server, and ends
# with the command's exit status. As root the server runs as user postgres.
#
# The command sees: PGHOST, PGPORT, PGUSER, PGDATABASE of the server; PATH with
# PostgreSQL's programs; TURBINE_PG_BIN, which test/ and bench/ take their
# installation from; TURBINE_BUNDLE_ROOT, where repository/ and unit/ are;
# TURBINE_SERVER_LOG.
# run.sh itself takes TURBINE_LOCALE, the locale of a cluster that it makes: by default
# C.UTF-8 where the system has it, else C.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
archive=$here/pg_turbine.tar.xz
directory=
keep=false
server=true
settings=()
while getopts d:kns: option; do
  case $option in
    d) directory=$OPTARG ;;
    k) keep=true ;;
    n) server=false ;;
    s) settings+=("$OPTARG") ;;
    *) sed -n '2,14s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))

fail() {
  echo "run.sh: $*" >&2
  exit 1
}

# Room for the bundle and a benchmark's data, and programs may run there?
suits() {
  local free probe
  free=$(df -Pk "$1" 2>/dev/null | awk 'NR == 2 { print $4 }')
  [ "${free:-0}" -ge $((8 << 20)) ] || return 1
  probe=$(mktemp "$1/pgt-probe-XXXXXX") || return 1
  printf '#!/bin/sh\nexit 0\n' > "$probe"
  chmod +x "$probe"
  local runs=0
  "$probe" 2>/dev/null || runs=1
  rm -f "$probe"
  return $runs
}

choose_directory() {
  if suits /dev/shm; then echo /dev/shm/pg_turbine; else echo /tmp/pg_turbine; fi
}

extract() {
  if command -v xz >/dev/null; then
    tar -C "$1" -xJf "$archive"
  else
    python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$archive" "$1"
  fi
}

unpack() {
  local sum
  sum=$(cksum < "$archive")
  if [ "$(cat "$directory/UNPACKED" 2>/dev/null)" = "$sum" ]; then return; fi
  # A server kept by -k still runs the old programs.
  if [ -e "$directory/run/data/postmaster.pid" ] && [ -e "$root/BINDIR" ]; then
    as_server "$root/$(cat "$root/BINDIR")/pg_ctl" -D "$directory/run/data" -m fast -w stop >/dev/null 2>&1 || true
  fi
  rm -rf "$directory/pg_turbine" "$directory/UNPACKED"
  extract "$directory"
  # Everybody may read it: the server runs as another user.
  chmod -R a+rX "$directory/pg_turbine"
  echo "$sum" > "$directory/UNPACKED"
}

check_glibc() {
  local needed have
  needed=$(cat "$root/GLIBC_NEEDED")
  have=$(getconf GNU_LIBC_VERSION 2>/dev/null | awk '{ print $2 }')
  [ -n "$have" ] || fail "this system has no glibc"
  [ "$(printf '%s\n%s\n' "$needed" "$have" | sort -V | head -n 1)" = "$needed" ] ||
    fail "glibc $needed or newer is needed; here is $have"
}

# PostgreSQL refuses to run as root.
ensure_server_user() {
  [ "$(id -u)" -eq 0 ] || return 0
  if id postgres >/dev/null 2>&1; then return; fi
  if command -v useradd >/dev/null; then
    useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /bin/sh postgres
  else
    echo 'postgres:x:26:26::/nonexistent:/bin/sh' >> /etc/passwd
    echo 'postgres:x:26:' >> /etc/group
  fi
}

# The server was built to read the system's time zones.
ensure_time_zones() {
  if [ -e /usr/share/zoneinfo/UTC ] || [ "$(id -u)" -ne 0 ]; then return; fi
  mkdir -p /usr/share/zoneinfo
  cp -a "$root/zoneinfo/." /usr/share/zoneinfo/
}

as_server() {
  if [ "$(id -u)" -ne 0 ]; then
    "$@"
  elif command -v setpriv >/dev/null; then
    setpriv --reuid=postgres --regid=postgres --clear-groups --inh-caps=-all "$@"
  else
    python3 -c 'import os, pwd, sys
entry = pwd.getpwnam("postgres")
os.setgroups([]); os.setgid(entry.pw_gid); os.setuid(entry.pw_uid)
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
  fi
}

# A quarter of the memory, at most 16 GB, in MB.
shared_buffers() {
  awk '/^MemTotal/ { mb = int($2 / 4096); print (mb > 16384 ? 16384 : mb) }' /proc/meminfo
}

write_settings() {
  local cpus
  cpus=$(nproc)
  cat > "$1" <<SETTINGS
listen_addresses = ''
port = 5432
unix_socket_directories = '$directory/run'
shared_preload_libraries = 'pg_turbine'
shared_buffers = '$(shared_buffers)MB'
work_mem = '256MB'
maintenance_work_mem = '1GB'
max_connections = 120
max_worker_processes = $((cpus + 8))
max_parallel_workers = $cpus
max_parallel_workers_per_gather = $(((cpus + 1) / 2))
max_prepared_transactions = 10
# A throw-away cluster: loading fast matters, surviving a power cut does not.
wal_level = minimal
max_wal_senders = 0
max_wal_size = '32GB'
checkpoint_timeout = '30min'
fsync = off
synchronous_commit = off
full_page_writes = off
random_page_cost = 1.1
effective_io_concurrency = 200
jit = off
log_line_prefix = '%m [%p] '
SETTINGS
  local setting
  for setting in "${settings[@]+"${settings[@]}"}"; do
    printf "%s = '%s'\n" "${setting%%=*}" "${setting#*=}" >> "$1"
  done
}

# initdb refuses a locale that the system lacks.
cluster_locale() {
  if [ -n "${TURBINE_LOCALE:-}" ]; then
    echo "$TURBINE_LOCALE"
  elif python3 -c 'import locale; locale.setlocale(locale.LC_ALL, "C.UTF-8")' 2>/dev/null; then
    echo C.UTF-8
  else
    echo C
  fi
}

make_cluster() {
  mkdir -p "$directory/run"
  if [ "$(id -u)" -eq 0 ]; then chown postgres: "$directory/run"; fi
  if [ ! -s "$directory/run/data/PG_VERSION" ]; then
    as_server "$bin/initdb" -D "$directory/run/data" -U postgres -A trust -N -E UTF8 \
      --locale="$(cluster_locale)" >/dev/null
    echo "include = '$directory/settings.conf'" >> "$directory/run/data/postgresql.conf"
  fi
  write_settings "$directory/settings.conf"
  chmod a+r "$directory/settings.conf"
}

start_server() {
  if ! as_server "$bin/pg_ctl" -D "$directory/run/data" status >/dev/null 2>&1; then
    as_server "$bin/pg_ctl" -D "$directory/run/data" -l "$log" -w -t 120 start >/dev/null || {
      tail -n 40 "$log" >&2
      fail "the server did not start"
    }
  fi
  "$bin/psql" -X -q -v ON_ERROR_STOP=1 -c 'SET client_min_messages = warning' \
    -c 'CREATE EXTENSION IF NOT EXISTS pg_turbine' >/dev/null
}

stop_server() {
  local status=$?
  trap - EXIT
  if ! $keep; then as_server "$bin/pg_ctl" -D "$directory/run/data" -m fast -w stop >/dev/null 2>&1 || true; fi
  exit "$status"
}

default_command() {
  if [ -t 0 ]; then
    "$bin/psql" -X
  else
    "$bin/psql" -X -c 'TABLE turbine.devices'
  fi
}

[ -f "$archive" ] || fail "there is no $archive"
directory=${directory:-$(choose_directory)}
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
chmod a+rx "$directory"
root=$directory/pg_turbine
log=$directory/run/server.log
unpack
bin=$root/$(cat "$root/BINDIR")
check_glibc
ensure_server_user
ensure_time_zones

export PATH=$bin:$PATH PGHOST=$directory/run PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
export TURBINE_PG_BIN=$bin TURBINE_BUNDLE_ROOT=$root TURBINE_SERVER_LOG=$log
if $server; then
  make_cluster
  trap stop_server EXIT
  start_server
fi
if [ $# -eq 0 ]; then
  if $server; then default_command; fi
else
  "$@"
fi
