#!/usr/bin/env bash
# install_cuda_compiler.sh FOLDER [WHEEL...] - brings in nvcc for LANGUAGE plcuda, as one tree in FOLDER.
#
# NVIDIA's wheels from PyPI (130 MB) have all that it needs but a host compiler: g++ must be there. Further wheels,
# for instance nvidia-cublas for "#plcuda_library cublas", go into the same tree. Idempotent. Python 3 with pip or venv
# is needed for the download alone. Called by the Makefile and by administrators: set pg_turbine.cuda_home to FOLDER,
# unless it is the default, the folder "cuda" beside this program.
set -euo pipefail

folder=${1:-$(dirname "$(readlink -f "$0")")/cuda}
shift || true
# CUDA 13.0 fits the drivers that most machines have. It knows neither glibc 2.42 nor g++ 16, which Debian 14
# has, so there 13.5 is taken. TURBINE_GLIBC is the version of the system that will compile, if that is another.
glibc=${TURBINE_GLIBC:-$(getconf GNU_LIBC_VERSION | cut -d ' ' -f 2)}
if [ "$(printf '%s\n2.42\n' "$glibc" | sort -V | head -n 1)" = 2.42 ]; then
  wheels=(nvidia-cuda-nvcc==13.5.37 nvidia-nvvm==13.5.37 nvidia-cuda-crt==13.5.37 nvidia-cuda-runtime==13.5.37
    nvidia-cuda-cccl==13.3.5.0.6)
else
  wheels=(nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-cuda-runtime==13.0.96
    nvidia-cuda-cccl==13.0.85)
fi
wheels+=("$@")
# A slash would be a folder's.
names="${wheels[*]}"
stamp="$folder/.${names//\//_}"

if [ -e "$stamp" ]; then
  exit 0
fi
echo "installing from PyPI: ${wheels[*]}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/python"
"$work/python/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$work/wheels" "${wheels[@]}"
mkdir -p "$folder"
cp -a "$work/wheels/nvidia/cu13/." "$folder/"
# Programs look for "lib64", and linkers for names without a number.
[ -e "$folder/lib64" ] || ln -s lib "$folder/lib64"
for library in "$folder"/lib/lib*.so.*; do
  [ -e "$library" ] || continue
  plain=${library%%.so.*}.so
  [ -e "$plain" ] || ln -s "$(basename "$library")" "$plain"
done
chmod -R a+rX "$folder"
touch "$stamp"
