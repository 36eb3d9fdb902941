#!/usr/bin/env python3
"""run_unit.py - the unit tests: GoogleTest programs by ctest, and the harness's own.

With --sanitize: builds everything that needs no PostgreSQL again under ASAN
and UBSAN in build-sanitize and runs the same tests there.
Called by: test/run_all.py.
"""

import argparse
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("TURBINE_BUILD", REPOSITORY / "build"))


# Of one program: a hang ends.
TIMEOUT, SANITIZED_TIMEOUT = 300, 1800


def run_ctest(build, seconds=TIMEOUT):
    command = ["ctest", "--test-dir", str(build), "--output-on-failure", "--timeout", str(seconds), "-j", "2"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          check=False)
    print(done.stdout, flush=True)
    found = re.search(r"tests passed, (\d+) tests failed out of (\d+)", done.stdout)
    if not found:
        return 0, 1
    failed, total = int(found.group(1)), int(found.group(2))
    return total - failed, failed


def run_harness_tests():
    """The tests of the harness itself: one that cannot fail proves nothing."""
    suite = unittest.defaultTestLoader.discover(str(REPOSITORY / "test"), pattern="test_*.py")
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    bad = len(result.failures) + len(result.errors)
    return result.testsRun - bad, bad


# What the tests and the service need; neither the backend's part nor mutants.
SANITIZED = ("rt_test", "turbine_engine_test", "turbine_cuda_test", "compiler_test", "turbined_test",
             "turbined_compiled_test", "datagen_test", "turbined", "turbine-compiler", "rt_check_library")


def build_sanitized():
    build = REPOSITORY / "build-sanitize"
    subprocess.run(["cmake", "-G", "Ninja", "-S", str(REPOSITORY), "-B", str(build), "-DTURBINE_SANITIZE=ON"],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", str(build), "-j", "2", "--target", *SANITIZED], check=True)
    return build


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--long", action="store_true", help="every call fails in its turn, not one in so many")
    options = parser.parse_args()
    if options.long:
        os.environ["TURBINE_LONG_FORM"] = "1"
    if options.sanitize:
        passed, failed = run_ctest(build_sanitized(), SANITIZED_TIMEOUT)
    else:
        passed, failed = run_ctest(BUILD)
        more = run_harness_tests()
        passed, failed = passed + more[0], failed + more[1]
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
