"""plcuda_bench.py - what the suites of LANGUAGE plcuda share: the toolkit, functions, and what is checked of them.

Owns: which toolkit a suite compiles with. That is the one of `make cuda-compiler`, with a stand-in for cuBLAS; on a machine with a
GPU the machine's; with cublas=True one that install_cuda_compiler.sh makes with NVIDIA's own cuBLAS.
Must never: take a compiler's failure for a pass.
Used by: plcuda.py, plcuda_faults.py, bench/logistic_regression.py.
"""

import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tools"))

import cluster  # noqa: E402
import server_root  # noqa: E402

# PostgreSQL 18 comes with Debian 14, whose C library the usual one does not know.
CUDA = cluster.BUILD / ("cuda-13.5" if server_root.VERSION == "18" else "cuda")
WITH_CUBLAS = cluster.BUILD / "cuda-cublas"
WITH_STAND_IN = cluster.BUILD / f"{CUDA.name}-stand-in"
STAND_IN = REPOSITORY / "test" / "plcuda_cublas"
SYSTEM = Path("/usr/local/cuda")
CUBLAS = "nvidia-cublas==13.0.2.14"
SOON = 0.5  # seconds of a cancelled call: 0.2 on an idle machine


class NoToolkit(Exception):
    """There is no nvcc."""


def has_cublas(home):
    return any((home / "lib64").glob("libcublas.so*"))


def _make_stand_in():
    """The compiler's tree, of links, with a cuBLAS that has the names alone."""
    shutil.rmtree(WITH_STAND_IN, ignore_errors=True)
    subprocess.run(["cp", "-al", CUDA, WITH_STAND_IN], check=True)
    shutil.copy(STAND_IN / "cublas_v2.h", WITH_STAND_IN / "include")
    # As a wheel has it: a number behind, and no link without.
    subprocess.run(["g++", "-shared", "-fPIC", "-Wl,-soname,libcublas.so.13", "-o", WITH_STAND_IN / "lib" / "libcublas.so.13",
                    STAND_IN / "cublas.cc"], check=True)
    subprocess.run(["chmod", "-R", "a+rX", WITH_STAND_IN], check=True)


def toolkit(cublas=False):
    """The server's settings for it. Raises NoToolkit."""
    if cublas:
        subprocess.run([REPOSITORY / "packaging" / "install_cuda_compiler.sh", WITH_CUBLAS, CUBLAS], check=True)
        home = WITH_CUBLAS
    elif Path("/dev/nvidia0").exists() and has_cublas(SYSTEM) and (SYSTEM / "bin" / "nvcc").exists():
        home = SYSTEM
    elif has_cublas(CUDA):
        home = CUDA
    elif (CUDA / "bin" / "nvcc").exists():
        _make_stand_in()
        home = WITH_STAND_IN
    elif shutil.which("nvcc") is None and not (SYSTEM / "bin" / "nvcc").exists():
        raise NoToolkit(f"there is no nvcc in {CUDA}: make cuda-compiler")
    else:
        return {}
    return {"pg_turbine.cuda_home": str(home)}


def create(session, arguments, result, body, decl="", name="f", options="", head=""):
    """Makes a function of these parts."""
    declarations = f"#plcuda_decl\n{decl}\n" if decl else ""
    session.query(f"CREATE OR REPLACE FUNCTION {name}({arguments}) RETURNS {result} LANGUAGE plcuda {options} AS $plcuda$\n"
                  f"{head}{declarations}#plcuda_begin\n{body}\n#plcuda_end\n$plcuda$")


def refuses(bench, name, session, sql, sqlstate, *texts):
    """A statement fails with this SQLSTATE and says all of these."""
    outcome = session.run(sql)
    bench.equal(name, outcome.sqlstate, sqlstate)
    said = "\n".join(outcome.error.fields.get(field, "") for field in "MDHW") if outcome.error else ""
    for text in texts:
        bench.check(f"{name}: says {text}", None if text in said else said)


def runners(server):
    """Processes that run functions."""
    return [pid for pid, name in server.descendants().items() if name == "turbine-plcuda"]


def is_up(bench, name, session):
    """The server lives, and the session's next call works."""
    bench.equal(f"{name}: the next call", session.value("SELECT fine(1)"), "2")


def has_gpu(session):
    return bool(session.query("SELECT 1 FROM turbine.devices WHERE usable AND kind = 'cuda'"))
