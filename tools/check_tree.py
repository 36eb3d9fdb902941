#!/usr/bin/env python3
"""check_tree.py - the checks of the source tree that need nothing built: layers, words, documents.

Runs the programs of CHECKS one after the other, passes their output on, and adds
up their results. A check that dies counts as one failure.
Called by: test/run_all.py (suite "layers"). The last line is `N passed, N failed`.
"""

import re
import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
CHECKS = ("check_layers.py", "check_glossary.py", "check_documents.py", "document_settings.py", "document_sql.py")


def main():
    passed = failed = 0
    for check in CHECKS:
        done = subprocess.run([sys.executable, str(TOOLS / check)] + sys.argv[1:], stdout=subprocess.PIPE, text=True,
                              check=False)
        print(done.stdout, end="", flush=True)
        found = re.search(r"^(\d+) passed, (\d+) failed\s*\Z", done.stdout, re.MULTILINE)
        counts = (int(found.group(1)), int(found.group(2))) if found else (0, 0)
        passed += counts[0]
        failed += max(counts[1], int(done.returncode != 0))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
