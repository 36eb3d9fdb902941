#!/usr/bin/env bash
# install.sh FOLDER - Apache Arrow's C++ libraries, from the wheel of pyarrow on PyPI.
#
# Debian 12 has no package of them. The wheel holds the headers and shared libraries
# (licence: Apache 2.0), and neither depends on the version of Python in its name. FOLDER
# gets include/, lib/libarrow.so.<n>, lib/libparquet.so.<n>, stripped, and licenses/.
# Idempotent: does nothing where this version is there already.
# Called by: CMakeLists.txt beside this, when CMake configures the build.
set -euo pipefail

folder=$1
version=26.0.1
sha256=39cb0f2418282c24bea6ceda77b03e5a8f0a5766b63a8bf194d4e2a2c423548c
stamp=$folder/$version

if [ -e "$stamp" ]; then
  exit 0
fi
if [ "$(uname -m)" != x86_64 ]; then
  echo "no checksum of pyarrow's wheel for $(uname -m) is known" >&2
  exit 1
fi

mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "installing Apache Arrow $version from PyPI" >&2
python3 -m venv "$work/python"
echo "pyarrow==$version --hash=sha256:$sha256" > "$work/wanted"
"$work/python/bin/pip" download --quiet --disable-pip-version-check --no-deps --require-hashes --dest "$work" \
  --only-binary :all: --python-version 3.11 --platform manylinux_2_28_x86_64 --requirement "$work/wanted"

mkdir "$work/arrow" "$work/arrow/lib"
python3 -m zipfile -e "$work"/pyarrow-*.whl "$work/wheel"
mv "$work/wheel/pyarrow/include" "$work/arrow/include"
mv "$work"/wheel/pyarrow-*.dist-info/licenses "$work/arrow/licenses"
for library in arrow parquet; do
  file=$(echo "$work"/wheel/pyarrow/lib$library.so.*)
  strip --strip-unneeded -o "$work/arrow/lib/$(basename "$file")" "$file"
  chmod 755 "$work/arrow/lib/$(basename "$file")"
done
touch "$work/arrow/$version"
# Two builds that install at once: the second one's folder takes the first one's place.
rm -rf "$folder"
mv -T "$work/arrow" "$folder"
