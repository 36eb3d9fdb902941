#!/usr/bin/env bash
# uninstall.sh - removes what `make install` has installed.
#
# The build folder ($TURBINE_BUILD) has the list of the last installation, install_manifest.txt. Takes DESTDIR as
# `make install` does. Folders that are empty afterwards go as well, except PostgreSQL's own.
# Called by: `make uninstall`.
set -euo pipefail

build=${TURBINE_BUILD:-$(cd "$(dirname "$0")/.." && pwd)/build}
manifest=$build/install_manifest.txt
if [ ! -s "$manifest" ]; then
  echo "uninstall.sh: there is no $manifest: nothing was installed from this build" >&2
  exit 1
fi

removed=0
# CMake ends the last line without a newline.
while read -r file || [ -n "$file" ]; do
  path=${DESTDIR:-}$file
  if [ -e "$path" ] || [ -L "$path" ]; then
    rm -f "$path"
    removed=$((removed + 1))
  fi
  folder=$(dirname "$path")
  # Only below a folder of ours.
  while [[ $folder == */pg_turbine || $folder == */pg_turbine/* ]]; do
    rmdir "$folder" 2>/dev/null || break
    folder=$(dirname "$folder")
  done
done < "$manifest"
echo "removed $removed files"
