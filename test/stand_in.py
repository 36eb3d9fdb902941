"""stand_in.py - GPUs for suites on a machine without one: a driver that interprets kernels.

Owns: the environment that a server is started with, so that its turbined finds the stand-in for libcuda of this build
(src/engine/device/cuda/testing/stand_in/), and what that driver reports. Must never: replace a real driver unasked.
Used by: on_stand_in.py, gpu_faults.py, device_choice.py, several_gpus.py, exports_on_gpu.py.
"""

import contextlib
import ctypes
import os
import re
import shutil
import tempfile
from pathlib import Path

import cluster

LIBRARY = cluster.BUILD / "src" / "engine" / "stand_in" / "libcuda.so.1"


def has_driver():
    """Whether this machine has a driver of its own."""
    try:
        ctypes.CDLL("libcuda.so.1")
        return True
    except OSError:
        return False


class Report:
    """What the drivers of all services that have ended have told."""

    def __init__(self, path):
        self._path = path

    def _lines(self):
        return self._path.read_text(encoding="utf-8").splitlines()

    def complaints(self):
        return [line for line in self._lines() if line.startswith("stand-in driver:")]

    def launches(self):
        """How often each kernel ran."""
        counts = {}
        for line in self._lines():
            found = re.match(r"ran (\w+) (\d+)$", line)
            if found:
                counts[found[1]] = counts.get(found[1], 0) + int(found[2])
        return counts


@contextlib.contextmanager
def stand_in(**variables):
    """Servers that are started meanwhile have stand-in GPUs; None where the build has no such driver.

    `variables`: of the driver, such as gpus=2, memory=512 (see stand_in/libcuda.cc). Yields its Report."""
    if not LIBRARY.exists():
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="pgt-driver-"))
    before = dict(os.environ)
    try:
        # For the account of the server.
        folder.chmod(0o755)
        shutil.copy2(LIBRARY, folder)
        path = folder / "report"
        path.touch()
        path.chmod(0o666)
        os.environ["LD_LIBRARY_PATH"] = ":".join(filter(None, [str(folder), os.environ.get("LD_LIBRARY_PATH")]))
        os.environ["TURBINE_STAND_IN_REPORT"] = str(path)
        for name, value in variables.items():
            os.environ[f"TURBINE_STAND_IN_{name.upper()}"] = str(value)
        yield Report(path)
    finally:
        os.environ.clear()
        os.environ.update(before)
        shutil.rmtree(folder)
