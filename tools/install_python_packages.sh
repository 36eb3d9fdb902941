#!/usr/bin/env bash
# install_python_packages.sh FOLDER [PACKAGE...] - a virtual environment with what tests and
# benchmarks take from PyPI: TPC-H's generator, DuckDB to compare with, and for the
# export programs pyarrow, polars and DuckDB, which read their files, and a client of MySQL; ruff,
# the linter; for the package in python/ what it works with, clients of PostgreSQL, and mypy; and the packages named.
#
# Idempotent. Called by the Makefile.
set -euo pipefail

folder=$1
shift
# shellcheck disable=SC2191  # a version is no subscript
packages=(tpchgen-cli==4.0.0 duckdb==2.0.0 polars==2.1.0 pyarrow==26.0.1 PyMySQL==1.1.2 ruff==0.17.5
  numpy==2.4.6 pandas==3.1.1 psycopg[binary]==3.3.9 psycopg2-binary==2.9.13 adbc-driver-postgresql==1.13.0 mypy==2.4.1
  "$@")
stamp="$folder/${packages[*]}"

if [ -e "$stamp" ]; then
  exit 0
fi
echo "installing from PyPI: ${packages[*]}"
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
touch "$stamp"
