#!/usr/bin/env bash
# install_deps.sh [GROUP...] - brings in what building and testing need (Debian 12 and 13; Ubuntu 24.04, untried).
#
# Groups add to that: `neighbours`, the extensions that test/neighbours.py loads; `packages`, what makes packages and
# root file systems to try them in.
# Idempotent: does nothing where everything is there. As root it installs with
# apt; another user is told what is missing. Installing PostgreSQL's package
# must not create or start a server, so that default is held back meanwhile.
set -euo pipefail

# The version of PostgreSQL that the release has.
codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
case $codename in
  bookworm) pg=15 ;;
  noble) pg=16 ;;
  trixie) pg=17 ;;
  *)
    echo "install_deps.sh: the packages of ${codename:-this system} are not known; those of Debian 12 and 13 are" >&2
    exit 1 ;;
esac

packages=(
  cmake ninja-build g++ ccache pkg-config dpkg-dev python3 python3-venv
  llvm-19-dev libpolly-19-dev clang-19 clang-format-19 clang-tidy-19 lld-19 liblld-19-dev
  libzstd-dev zlib1g-dev liburing-dev libicu-dev nlohmann-json3-dev
  "postgresql-$pg" "postgresql-server-dev-$pg" libpq-dev
  libgtest-dev sqlsmith shellcheck
  libmariadb-dev mariadb-server-core mariadb-client-core
)

for group in "$@"; do
  case $group in
    neighbours)
      packages+=("postgresql-$pg"-{pgaudit,cron,partman,hll,orafce,postgis-3} "postgresql-$pg-postgis-3-scripts") ;;
    packages)
      packages+=(debhelper debootstrap fakeroot lintian rpm rpmlint) ;;
    *)
      echo "install_deps.sh: no group is called $group" >&2
      exit 2 ;;
  esac
done

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [ "$status" = "install ok installed" ] || missing+=("$package")
done

if [ "${#missing[@]}" -eq 0 ]; then
  exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "missing packages: ${missing[*]}" >&2
  echo "install them as root: apt-get install ${missing[*]}" >&2
  exit 1
fi

echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
creation=/etc/postgresql-common/createcluster.conf
restore=false
if [[ " ${missing[*]} " == *" postgresql-$pg "* ]]; then
  apt-get install -y -qq --no-install-recommends postgresql-common >/dev/null
  if ! grep -qs '^create_main_cluster *= *false' "$creation"; then
    cp "$creation" "$creation.before"
    echo 'create_main_cluster = false' >> "$creation"
    restore=true
  fi
fi
put_back() {
  if $restore; then mv "$creation.before" "$creation"; fi
}
trap put_back EXIT
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
