#!/usr/bin/env bash
# make_rpm.sh [-p VERSION] [-s] [-o FOLDER] - packages of pg_turbine for distributions with rpm.
#
#   -p VERSION  PostgreSQL's major version; by default the one of pg_config
#   -s          only the source package
#   -o FOLDER   where the packages go, by default rpm/ in the build folder
#
# Takes the files of the project and Apache Arrow, which is fetched before if the checkout lacks it. On a system whose
# packages are not rpm's, build dependencies are not looked for, and $PG_CONFIG says where PostgreSQL is.
# Called by: `make rpm`.
set -euo pipefail

repository=$(cd "$(dirname "$0")/.." && pwd)
build=${TURBINE_BUILD:-$repository/build}
pg_config=${PG_CONFIG:-$(command -v pg_config)}
pg_version=$("$pg_config" --version | sed 's/^[^0-9]*\([0-9]*\).*/\1/')
output=$build/rpm
what=-ba
while getopts p:so: option; do
  case $option in
    p) pg_version=$OPTARG; pg_config=/usr/pgsql-$OPTARG/bin/pg_config ;;
    s) what=-bs ;;
    o) output=$OPTARG ;;
    *) sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done

spec=$repository/packaging/rpm/pg_turbine.spec
release=$(sed -n 's/^project(pg_turbine VERSION \([0-9.]*\).*/\1/p' "$repository/CMakeLists.txt")
if ! grep -q "^Version: *$release$" "$spec"; then
  echo "make_rpm.sh: CMakeLists.txt says $release, pg_turbine.spec does not" >&2
  exit 1
fi
"$repository/packaging/arrow/install.sh" "$repository/.deps/arrow"
mkdir -p "$output/SOURCES"
(cd "$repository" && git ls-files -co --exclude-standard | while read -r file; do
  if [ -f "$file" ]; then echo "$file"; fi
done | tar --transform "s,^,pg_turbine-$release/," -czf "$output/SOURCES/pg_turbine-$release.tar.gz" -T -)
tar -C "$repository/.deps" -czf "$output/SOURCES/pg_turbine-$release-arrow.tar.gz" arrow
arguments=(--define "_topdir $output" --define "pg_version $pg_version" --define "pg_config $pg_config")
[ -e /etc/redhat-release ] || arguments+=(--nodeps)
rpmbuild "$what" "${arguments[@]}" "$spec" > "$output/build.log" 2>&1 || {
  tail -n 40 "$output/build.log" >&2
  exit 1
}
find "$output" -name '*.rpm'
