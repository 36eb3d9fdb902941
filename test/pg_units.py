#!/usr/bin/env python3
"""pg_units.py - the unit tests of src/pg that need no running server.

`postgres -C` loads the module of tests while it reads its settings, and the tests end the
process before any server starts: see src/pg/testing/unit_test.h. Owns a data directory in
a temporary folder. The last line is the module's: `N passed, N failed`.
Called by: test/run_all.py.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402

MODULE = "pg_turbine_unit_test.so"


def main():
    with tempfile.TemporaryDirectory(prefix="pgt-units-") as name:
        folder = Path(name)
        account = cluster._server_account()
        if account:
            os.chown(folder, *account)
        os.chmod(folder, 0o755)
        shutil.copy2(cluster.BUILD / "src/pg" / MODULE, folder / MODULE)
        bindir = cluster.system_bindir()
        data = folder / "data"
        cluster.run_as_server([bindir / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N", "--locale=C"])
        # A setting that is computed at run time has the libraries loaded first.
        try:
            print(cluster.run_as_server([bindir / "postgres", "-D", data, "-C", "shared_memory_size",
                                         "-c", f"shared_preload_libraries={folder / MODULE}"]), end="")
        except RuntimeError as error:
            print(error)
            if not str(error).rstrip().endswith("failed"):
                print("0 passed, 1 failed")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
