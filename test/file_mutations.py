#!/usr/bin/env python3
"""file_mutations.py - turbined's reader of files and the wrapper's own, under AddressSanitizer, over spoilt files.

Owns: how many files, and which: file N is the same on every machine. Each must end in an error, or in rows; of Parquet
in those that libparquet reads. What the program does with them is in file_mutations/.
Must never: pass where fewer files were tried than were asked for.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("TURBINE_BUILD", REPOSITORY / "build")).resolve()
PROGRAM = BUILD / "test/file_mutations/turbine_file_mutations"
FAILED = BUILD / "test/file_mutations/failed"  # files that a reader failed on stay here
SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)


def spoil_and_read(bases, file_format, first, count):
    """(passed, failed)"""
    run = subprocess.run([str(PROGRAM), "--bases", bases, "--format", file_format, "--first", str(first), "--count", str(count),
                          "--jobs", str(os.cpu_count()), "--keep", str(FAILED)], stdout=subprocess.PIPE, text=True, errors="replace",
                         check=False)
    print(run.stdout, end="", flush=True)
    found = SUMMARY.findall(run.stdout)
    passed, failed = map(int, found[-1]) if found else (0, 0)
    if failed == 0 and (run.returncode != 0 or passed != count):
        print(f"{file_format}: exit status {run.returncode}, {passed} of {count} files")
        failed = 1
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--arrow", type=int, default=6000, help="files")
    parser.add_argument("--parquet", type=int, default=1500, help="files")
    parser.add_argument("--first", type=int, default=5000000, help="number of the first file")
    options = parser.parse_args()
    subprocess.run(["cmake", "--build", str(BUILD), "--target", "turbine_file_mutations"], check=True, stdout=subprocess.DEVNULL)
    FAILED.mkdir(exist_ok=True)
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="file_mutations_") as bases:
        subprocess.run([sys.executable, str(REPOSITORY / "test/file_mutation_bases.py"), bases], check=True)
        for file_format, count in (("arrow", options.arrow), ("parquet", options.parquet)):
            good, bad = spoil_and_read(bases, file_format, options.first, count)
            passed, failed = passed + good, failed + bad
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
