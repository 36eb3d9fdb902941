#!/usr/bin/env bash
# make_bundle.sh - packs pg_turbine for a machine without compilers or network.
#
# Makes gpu-bundle/ (ignored by git): pg_turbine.tar.xz and run.sh. In the
# archive, which may be unpacked anywhere since every program and library finds
# the others relative to itself:
#   usr/lib/postgresql/<n>/, usr/share/postgresql/<n>/   PostgreSQL as installed
#             here, without LLVM, manuals and headers, with pg_regress, and with
#             the extension, turbined, turbine-compiler, turbine-file-reader, -writer, storage test
#   lib/      the shared libraries that those need and another distribution may
#             lack or have in another version (not glibc's, not libstdc++)
#   zoneinfo/ time zones, for machines without: PostgreSQL looks for them where
#             the distribution has them
#   unit/     unit test programs, with kernels for those that a GPU runs; turbine_sort_bench,
#             if it was built
#   repository/  test/, bench/, tools/, catalog/, and the data generator where those
#             scripts look for it (build/tools)
# Target: Linux with the same processor architecture, a glibc as new as
# GLIBC_NEEDED says, libstdc++, python3; an NVIDIA driver if it has a GPU.
# Called by: `make gpu-bundle`, after a build in $TURBINE_BUILD.
set -euo pipefail

repository=$(cd "$(dirname "$0")/.." && pwd)
build=${TURBINE_BUILD:-$repository/build}
output=${TURBINE_BUNDLE:-$repository/gpu-bundle}
pg_config=${PG_CONFIG:-pg_config}
clang=${TURBINE_CLANG:-clang-19}
cache=$repository/.deps/packages
max_mib=60

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/pg_turbine
mkdir -p "$root/lib" "$root/unit" "$root/repository" "$cache" "$output"

bindir=$("$pg_config" --bindir)
pkglibdir=$("$pg_config" --pkglibdir)
sharedir=$("$pg_config" --sharedir)
pgxs=$(dirname "$("$pg_config" --pgxs)")/../test

# patchelf from the distribution's package, unpacked beside the build.
find_patchelf() {
  if command -v patchelf >/dev/null; then
    command -v patchelf
    return
  fi
  if [ ! -x "$cache/patchelf/usr/bin/patchelf" ]; then
    (cd "$cache" && apt-get -qq -o APT::Sandbox::User=root download patchelf >&2 &&
      dpkg -x patchelf_*.deb patchelf)
  fi
  echo "$cache/patchelf/usr/bin/patchelf"
}

copy_postgresql() {
  mkdir -p "$root$bindir" "$root$pkglibdir" "$root$sharedir"
  cp -a "$bindir"/. "$root$bindir/"
  cp -a "$pkglibdir"/. "$root$pkglibdir/"
  cp -a "$sharedir"/. "$root$sharedir/"
  # Debian's control files of extensions are links to /etc.
  find "$root$sharedir/extension" -type l -delete
  cp -aLn "$sharedir"/extension/. "$root$sharedir/extension/"
  rm -rf "$root$pkglibdir"/{bitcode,pgxs,pg_turbine} "$root$pkglibdir"/llvmjit* "$root$sharedir/man"
  rm -f "$root$pkglibdir"/pg_turbine.so "$root$sharedir"/extension/pg_turbine*
  # Of PostGIS geometries alone, without scripts of updates: rasters would bring GDAL along.
  rm -f "$root$pkglibdir"/{postgis_,address_standardizer}*.so \
    "$root$sharedir"/extension/{postgis_,postgis-3,address_standardizer}* "$root$sharedir"/extension/postgis--*--*.sql
  rm -rf "$root$sharedir"/contrib/postgis*
  # Links that lead out of the tree (Debian's man pages, plugins of other packages).
  find "$root" -xtype l -delete
  local pg_regress=$pgxs/regress/pg_regress isolation=$pgxs/isolation
  if [ -x "$pg_regress" ]; then cp "$pg_regress" "$root$bindir/"; fi
  for program in pg_isolation_regress isolationtester; do
    if [ -x "$isolation/$program" ]; then cp "$isolation/$program" "$root$bindir/"; fi
  done
}

copy_extension() {
  DESTDIR=$root cmake --install "$build" >/dev/null
  test -x "$root$pkglibdir/pg_turbine/turbined"
  test -x "$root$pkglibdir/pg_turbine/turbine-compiler"
  test -x "$root$pkglibdir/pg_turbine/turbine-file-reader"
  test -x "$root$pkglibdir/pg_turbine/turbine-file-writer"
  # Once, where the other libraries are.
  mv "$root$pkglibdir"/pg_turbine/lib{arrow,parquet}.so.* "$root/lib/"
  find "$build" -type f \( -name turbine_cuda_test -o -name turbine_sort_bench \) -perm -u+x \
    -exec cp {} "$root/unit/" \;
  find "$root$pkglibdir/pg_turbine" "$root/unit" "$root$pkglibdir/pg_turbine.so" "$root$bindir"/*2arrow -type f \
    \( -perm -u+x -o -name '*.so' \) ! -name '*.sh' -exec strip --strip-unneeded {} +
  local resources kernels=$repository/src/engine/device/cuda/testing/gpu_kernels.c
  resources=$("$clang" -print-resource-dir)/include
  "$clang" --target=nvptx64-nvidia-cuda -march=sm_70 -O2 -ffreestanding -nostdinc -isystem "$resources" \
    -I "$repository/include" -I "$repository/src" -S -o "$root/unit/gpu_kernels.ptx" "$kernels"
}

copy_repository() {
  # Suites run the recipes of that page.
  (cd "$repository" &&
    git ls-files -co --exclude-standard -- test bench tools catalog docs/spatial-joins.md docs/pictures |
    while read -r file; do if [ -f "$file" ]; then echo "$file"; fi; done |
    tar -cf - -T -) | tar -xf - -C "$root/repository"
  install -D "$build/tools/turbine-datagen" "$root/repository/build/tools/turbine-datagen"
  if [ -f "$build/rt/librt_check.so" ]; then
    install -D "$build/rt/librt_check.so" "$root/repository/build/rt/librt_check.so"
  fi
}

copy_time_zones() {
  mkdir "$root/zoneinfo"
  tar -C /usr/share/zoneinfo --exclude=./right --exclude=./posix --exclude=./localtime -chf - . |
    tar -C "$root/zoneinfo" -xf -
}

is_elf() { [ "$(head -c 4 "$1" | tr -d '\0')" = $'\177ELF' ]; }

elf_files() {
  find "$root" -type f \( -perm -u+x -o -name '*.so*' \) | while read -r file; do
    if is_elf "$file"; then echo "$file"; fi
  done
}

# What every Linux has, and must have as new as its other programs expect.
belongs_to_system() {
  case $1 in
    ld-linux*|libc.so*|libm.so*|libdl.so*|libpthread.so*|librt.so*|libresolv.so*|libutil.so*|libnss*) return 0 ;;
    libstdc++.so*|libgcc_s.so*|libcuda.so*) return 0 ;;
    *) return 1 ;;
  esac
}

copy_libraries() {
  elf_files | xargs ldd 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | sort -u |
    while read -r name path; do
      belongs_to_system "$name" || [ "$path" -ef "$root/lib/$name" ] || cp -L "$path" "$root/lib/$name"
    done
  chmod u+w "$root"/lib/*
}

# Makes everything find lib/ relative to itself, wherever it is unpacked.
set_search_paths() {
  local patchelf file
  patchelf=$(find_patchelf)
  elf_files | while read -r file; do
    "$patchelf" --set-rpath "\$ORIGIN/$(realpath --relative-to="$(dirname "$file")" "$root/lib")" "$file"
  done
}

newest_glibc_needed() {
  elf_files | xargs -n 1 objdump -T 2>/dev/null | grep -o 'GLIBC_2\.[0-9]*' | sort -t . -k 2 -n -u | tail -n 1 |
    sed 's/GLIBC_//'
}

# Nothing may be found outside the bundle but what belongs to the system.
check_closed() {
  local missing
  missing=$(elf_files | xargs ldd 2>/dev/null | awk '$2 == "=>" { print $1, $3 }' | sort -u |
    while read -r name path; do
      if ! belongs_to_system "$name" && [ "$(realpath "$path")" != "$root/lib/$name" ]; then echo "$name"; fi
    done)
  if [ -n "$missing" ]; then
    echo "libraries that the bundle lacks: $missing" >&2
    exit 1
  fi
}

copy_postgresql
copy_extension
copy_libraries
set_search_paths
check_closed
copy_time_zones
copy_repository
newest_glibc_needed > "$root/GLIBC_NEEDED"
echo "${bindir#/}" > "$root/BINDIR"

rm -f "$output"/pg_turbine.tar.xz
tar -C "$work" --owner=0 --group=0 --sort=name -cf - pg_turbine |
  xz --x86 --lzma2=preset=6,dict=96MiB > "$output/pg_turbine.tar.xz"
cp "$repository/packaging/run.sh" "$output/run.sh"
chmod +x "$output/run.sh"
size=$(( $(stat -c %s "$output/pg_turbine.tar.xz") / 1048576 ))
echo "$output: $size MiB (glibc $(cat "$root/GLIBC_NEEDED") or newer)"
if [ "$size" -ge "$max_mib" ]; then
  echo "the bundle is larger than $max_mib MiB" >&2
  exit 1
fi
