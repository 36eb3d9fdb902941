"""compiled_code.py - compiled programs that one test cluster leaves for the next.

Most of a test suite's time is LLVM's, and suites repeat each other's programs: a
script of test/sql runs forced, cached and with feeders. Where TURBINE_COMPILED_CODE
names a folder, a new cluster begins with all programs in it and leaves what it
compiled besides. A program's file is named by its key, which says which compiler made
it and for what (src/engine/code/code_store.h), so nothing stale is ever used.
Must never: keep what a program that is wrong on purpose has compiled.
Called by: tools/cluster.py; test/run_all.py says which suites do so.
"""

import os
import shutil
from pathlib import Path

_IN_CLUSTER = Path("pg_turbine") / "cache"


def _folder():
    name = os.environ.get("TURBINE_COMPILED_CODE")
    return Path(name) if name else None


def _hand_over(source, target):
    """The file under a second name, or its copy on another file system. Files are never changed, so both are safe."""
    try:
        os.link(source, target)
    except FileExistsError:
        return
    except OSError:
        temporary = target.with_name(f"{target.name}.{os.getpid()}")
        shutil.copy2(source, temporary)
        stat = source.stat()
        os.chown(temporary, stat.st_uid, stat.st_gid)
        os.replace(temporary, target)


def lend(data, account):
    """Gives a new cluster's data directory all programs there are; account: (uid, gid) of its server, None if ours."""
    folder = _folder()
    if not folder or not folder.is_dir():
        return
    cache = data / _IN_CLUSTER
    for part in (cache.parent, cache):
        part.mkdir(mode=0o700)
        if account:
            os.chown(part, *account)
    for program in folder.glob("*.code"):
        _hand_over(program, cache / program.name)


def keep(data):
    """Takes what a stopped cluster has compiled besides."""
    folder = _folder()
    cache = data / _IN_CLUSTER
    if not folder or not cache.is_dir():
        return
    folder.mkdir(parents=True, exist_ok=True)
    for program in cache.glob("*.code"):
        if not (folder / program.name).exists():
            _hand_over(program, folder / program.name)
