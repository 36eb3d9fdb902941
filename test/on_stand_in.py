#!/usr/bin/env python3
"""on_stand_in.py - runs another suite on stand-in GPUs, whose kernels are interpreted.

The suite's own checks hold, and these: kernels have run, at least those that --kernels names; no kernel has accessed
memory that is not its own, or waited in vain; the driver was used well, and nothing of it was kept.
Called by: test/run_all.py. Options: --gpus, --memory (megabytes), --seed (whose turn it is among warps), --kernels; behind
them the suite's program and its options, with --device gpu. The last line is `N passed, N failed`.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))

from stand_in import stand_in  # noqa: E402

MOST_COMPLAINTS = 10


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--memory", type=int, default=4096)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kernels", default="", help="comma-separated: these must have run")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    with stand_in(gpus=options.gpus, memory=options.memory, seed=options.seed) as report:
        if report is None:
            print("skipped: there is no stand-in driver in this build\n0 passed, 0 failed")
            return 0
        lines = []
        with subprocess.Popen([sys.executable, str(HERE / options.program), *options.arguments], stdout=subprocess.PIPE,
                              text=True, errors="replace") as process:
            for line in process.stdout:
                lines.append(line.strip())
                print(line, end="", flush=True)
        found = re.match(r"^(\d+) passed, (\d+) failed$", lines[-1] if lines else "")
        passed, failed = (int(found[1]), int(found[2])) if found else (0, 1)
        failed += process.returncode != 0 and failed == 0
        complaints, launches = report.complaints(), report.launches()
    print("  " + ", ".join(f"{kernel} ran {times} times" for kernel, times in sorted(launches.items())))
    complaints += [f"{kernel} never ran" for kernel in filter(None, options.kernels.split(",")) if kernel not in launches]
    if not launches:
        complaints.append("no kernel ran")
    for complaint in complaints[:MOST_COMPLAINTS]:
        print(complaint)
    print(f"{passed} passed, {failed + len(complaints)} failed")
    return 1 if failed or complaints else 0


if __name__ == "__main__":
    sys.exit(main())
