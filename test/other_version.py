#!/usr/bin/env python3
"""other_version.py VERSION - short forms of the suites that versions of PostgreSQL can change, against one of them.

What a merge runs of a version that this machine does not have: scripts of test/sql that look at plans, values and
visibility, random queries and joins, races, and faults; six minutes on two cores. `make test PG=17` runs the long forms.
Says `ran: ...` and what its build of the server lacks, or `skipped: ...` if the version's root file system or module is not
there: making them takes ten minutes, so `make test` does so only if it is asked (VERSIONS="16 17 18").
Must never: make a root file system.
Called by: make test-pg16, make test-pg17, make test-pg18, test/run_all.py, which prints that at its end.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("TURBINE_BUILD", REPOSITORY / "build"))
ROOTS = Path(os.environ.get("TURBINE_ROOTS", BUILD / "roots"))
SCRIPTS = ("versions,collations,visibility,table_shapes,grouping_sets,several_distinct,windows,join_shapes,partitions,plan_surface,"
           "set_operations,not_in,rights,types")
# What programs say of parts that a build of a server cannot run (server_features.py).
LEFT_OUT = "  left out: "
SHORT_FORMS = (
    ["map_promise.py"],
    ["run_sql.py", "--only", SCRIPTS],
    ["differential.py", "--queries", "60"],
    ["join_fuzz.py", "--queries", "60"],
    ["races.py", "--races", "300"],
    ["faults.py", "--only", "cancel,statement_timeout,kill_service,kill_backend"],
)


def missing(version):
    """What the version's servers lack, or None."""
    if os.geteuid() != 0:
        return "servers in a root file system are started by root"
    if not (ROOTS / version / "complete").exists():
        return f"no root file system of PostgreSQL {version}, which make test VERSIONS={version} makes"
    if not (BUILD / f"pg{version}" / "pg_turbine.so").exists():
        return f"no module for PostgreSQL {version}, which make build PG={version} makes"
    return None


def run(version, command, left_out):
    """(passed, failed) of one program. `left_out` gets its parts that the server's build cannot run."""
    print(f"--- {' '.join(command)}", flush=True)
    environment = {**os.environ, "TURBINE_PG": version}
    last = ""
    with subprocess.Popen([sys.executable, str(REPOSITORY / "test" / command[0]), *command[1:]], cwd=REPOSITORY, env=environment,
                          stdout=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
            if line.startswith(LEFT_OUT) and line.strip() not in left_out:
                left_out.append(line.strip())
    found = re.match(r"^(\d+) passed, (\d+) failed$", last)
    passed, failed = (int(found.group(1)), int(found.group(2))) if found else (0, 1)
    return passed, failed or int(process.returncode != 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("version")
    version = parser.parse_args().version
    lacks = missing(version)
    if lacks:
        print(f"skipped: {lacks}\n0 passed, 0 failed")
        return 0
    left_out = []
    results = {command[0].removesuffix(".py"): run(version, command, left_out) for command in SHORT_FORMS}
    passed, failed = (sum(counts) for counts in zip(*results.values(), strict=True))
    print("ran: " + ", ".join(f"{name} {good}" + f" and {bad} failed" * bool(bad) for name, (good, bad) in results.items())
          + "".join(f"; {part}" for part in left_out))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
