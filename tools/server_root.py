"""server_root.py - servers of another Debian release, inside its root file system.

Owns: the folder that TURBINE_PG chooses (tools/debian_root.py has made it), and how a process gets in: a mount namespace
of its own, in which this checkout and /tmp lie at the same paths as outside, then chroot. So data directories, sockets
and the staged installation have one name on both sides, and all mounts end with the process.
Must never: mount anything that other processes see.
Used by: tools/cluster.py.
"""

import ctypes
import os
import signal
import tempfile
from pathlib import Path

# The major version of the servers; empty: the one of this machine.
VERSION = os.environ.get("TURBINE_PG", "")
_CLONE_NEWNS = 0x00020000
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18
_PR_SET_PDEATHSIG = 1
# The C library, looked up before any fork.
_LIBC = ctypes.CDLL(None, use_errno=True)


def folder(build):
    """The root file system of the servers, or None if they run in this machine's own."""
    if not VERSION:
        return None
    root = Path(os.environ.get("TURBINE_ROOTS", build / "roots")) / VERSION
    if not (root / "complete").exists():
        raise RuntimeError(f"there is no root file system in {root}: tools/debian_root.py {VERSION}")
    return root


def pg_config(root, option):
    """What pg_config prints for the option in the root: a path inside it."""
    name = option.removeprefix("--").upper()
    for line in (root / "pg_config").read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(" = ")
        if key == name:
            return value
    raise RuntimeError(f"pg_config of {root} has no {option}")


def _checked(result):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _mount(source, target, flags):
    _checked(_LIBC.mount(os.fsencode(source), os.fsencode(target), None, flags, None))


def make_places(root, *folders):
    """Makes the folders on which enter() mounts those of the same name, in the parent."""
    for place in folders:
        (root / str(place).lstrip("/")).mkdir(parents=True, exist_ok=True)


def enter(root, account, *folders, dies_with_parent=False):
    """Brings this process into the root: to be called in a child between fork and exec, as root. `account` is
    (uid, gid); `folders` are there as outside."""
    _checked(_LIBC.unshare(_CLONE_NEWNS))
    _mount("none", "/", _MS_REC | _MS_PRIVATE)
    for place in ("/dev", "/proc", "/sys", tempfile.gettempdir(), *folders):
        _mount(place, root / str(place).lstrip("/"), _MS_BIND | _MS_REC)
    os.chroot(root)
    os.chdir("/")
    os.setgroups([])
    os.setgid(account[1])
    os.setuid(account[0])
    # After the change of account, which clears it.
    if dies_with_parent:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)
