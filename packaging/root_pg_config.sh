#!/bin/sh
# root_pg_config.sh OPTION - pg_config of the PostgreSQL in the root file system $TURBINE_PG_ROOT.
#
# For builds outside of it (tools/debian_root.py makes it): the server's headers are those of the root, libpq is this
# machine's, and all other places are where the root's PostgreSQL looks, as seen from inside.
# Called by: CMake, as PG_CONFIG; debian/rules.
set -eu

value() {
  sed -n "s/^$1 = //p" "$TURBINE_PG_ROOT/pg_config"
}
case $1 in
  --includedir | --libdir) pg_config "$1" ;;
  --includedir-server) echo "$TURBINE_PG_ROOT$(value INCLUDEDIR-SERVER)" ;;
  --*) value "$(echo "${1#--}" | tr '[:lower:]' '[:upper:]')" ;;
  *) echo "usage: root_pg_config.sh OPTION" >&2; exit 2 ;;
esac
