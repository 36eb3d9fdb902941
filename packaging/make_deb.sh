#!/usr/bin/env bash
# make_deb.sh [-p VERSION] [-o FOLDER] - Debian packages of pg_turbine for one version of PostgreSQL.
#
#   -p VERSION  PostgreSQL's major version; by default the one of pg_config. One that this machine does not have is
#               taken from its root file system (tools/debian_root.py), in $TURBINE_ROOTS or roots/ in the build folder
#   -o FOLDER   where the packages go, by default deb/ in the build folder
#
# Makes a source package (two tarballs: the files of the project, and Apache Arrow) and postgresql-VERSION-pg-turbine,
# by dpkg-buildpackage and debian/ in this folder. Apache Arrow is fetched before, if the checkout lacks it; the build
# itself runs without a network. ccache, if installed, finds what `make build` has compiled. Wants the packages of
# `tools/install_deps.sh packages`. The last line names the package.
# Called by: `make deb`, test/packages.py.
set -euo pipefail

repository=$(cd "$(dirname "$0")/.." && pwd)
build=${TURBINE_BUILD:-$repository/build}
pg_version=$("${PG_CONFIG:-pg_config}" --version | sed 's/^[^0-9]*\([0-9]*\).*/\1/')
output=$build/deb
while getopts p:o: option; do
  case $option in
    p) pg_version=$OPTARG ;;
    o) output=$OPTARG ;;
    *) sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done

fail() {
  echo "make_deb.sh: $*" >&2
  exit 1
}

debian=$repository/packaging/debian
release=$(sed -n 's/^project(pg_turbine VERSION \([0-9.]*\).*/\1/p' "$repository/CMakeLists.txt")
packaged=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$debian/changelog")
[ "${packaged%-*}" = "$release" ] || fail "debian/changelog starts with $packaged, CMakeLists.txt says $release"
root=
if [ ! -d "/usr/include/postgresql/$pg_version/server" ]; then
  root=${TURBINE_ROOTS:-$build/roots}/$pg_version
  [ -e "$root/complete" ] ||
    fail "postgresql-server-dev-$pg_version is not installed, and $root is no root file system with it"
fi
command -v dh >/dev/null || fail "debhelper is missing: tools/install_deps.sh packages installs it"

work=$output/work
tree=$work/pg-turbine-$release
rm -rf "$work"
mkdir -p "$tree"
# pack NAME FOLDER: one tarball of a source package, the same for the same files.
pack() {
  tar -C "$2" --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$SOURCE_DATE_EPOCH" -cf - . |
    gzip -n -1 > "$work/pg-turbine_$release.$1.tar.gz"
}
SOURCE_DATE_EPOCH=$(date -d "$(dpkg-parsechangelog -l "$debian/changelog" -S Date)" +%s)

# The files of the project, and new ones that git does not ignore; packages are described beside them.
(cd "$repository" && git ls-files -co --exclude-standard | while read -r file; do
  if [ -f "$file" ] && [[ $file != packaging/debian/* ]]; then echo "$file"; fi
done | tar -cf - -T -) | tar -xf - -C "$tree"
pack orig "$tree"

"$repository/packaging/arrow/install.sh" "$repository/.deps/arrow"
cp -a "$repository/.deps/arrow" "$tree/arrow"
pack orig-arrow "$tree/arrow"

cp -a "$debian" "$tree/debian"
rm "$tree/debian/control.in"
sed "s/PGVERSION/$pg_version/g" "$debian/control.in" > "$tree/debian/control"
echo "$pg_version" > "$tree/debian/pgversion"
if [ -n "$root" ]; then
  echo "$root" > "$tree/debian/pgroot"
  sed -i "/^ *postgresql-server-dev-/d" "$tree/debian/control"
fi

# debhelper gives programs a home of their own, where ccache would look for its files.
if command -v ccache >/dev/null; then
  CCACHE_DIR=$(ccache --get-config cache_dir)
  CCACHE_CONFIGPATH=$(ccache --show-config | sed -n 's/^(\(\/.*ccache.conf\)).*/\1/p' | head -n 1)
  export CCACHE_DIR
  if [ -n "$CCACHE_CONFIGPATH" ]; then export CCACHE_CONFIGPATH; else unset CCACHE_CONFIGPATH; fi
fi
# A network of its own, which leads nowhere.
alone=(unshare --net)
[ "$(id -u)" -eq 0 ] || alone=(unshare --map-current-user --net)
export DEB_BUILD_OPTIONS="parallel=${JOBS:-2} ${DEB_BUILD_OPTIONS:-}"
if ! (cd "$tree" && "${alone[@]}" dpkg-buildpackage --no-sign --build=full) > "$output/build.log" 2>&1; then
  tail -n 40 "$output/build.log" >&2
  fail "the build failed; all of its output is in $output/build.log"
fi

find "$work" -maxdepth 1 -type f -exec mv -t "$output" {} +
rm -rf "$work"
ls "$output/postgresql-$pg_version-pg-turbine_${packaged}_$(dpkg --print-architecture).deb"
