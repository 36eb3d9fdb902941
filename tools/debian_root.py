"""debian_root.py - a root file system of Debian's, made by debootstrap, to try packages in as users have them.

Owns: root file systems of releases, as archives in build/roots/RELEASE.tar (minimal: apt, and what Debian calls
essential), and copies of them, in which commands run. A copy has processes and mounts of its own and shares the
machine's network. Wants to be run as root, and the packages of `tools/install_deps.sh packages`.
Must never: leave a process, a mount or a copy behind; start services when packages are installed.
Used by: test/packages.py.
"""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from cluster import BUILD, log

SECURITY_MIRROR = os.environ.get("TURBINE_DEBIAN_SECURITY_MIRROR", "http://deb.debian.org/debian-security")
MIRROR = os.environ.get("TURBINE_DEBIAN_MIRROR", "http://deb.debian.org/debian")
ROOTS = BUILD / "roots"
# debconf asks nothing, and programs find those of /usr/sbin.
ENVIRONMENT = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "HOME": "/root",
               "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
# What apt asks whether services may start.
POLICY = "#!/bin/sh\nexit 101\n"
# Holds the namespaces, and waits for processes whose parents have ended. The copy's /dev is one of its own.
HOLDER = """set -e
mount --make-rprivate /
mount -t proc proc "$0/proc"
mount -t tmpfs -o mode=755 devices "$0/dev"
for name in null zero full random urandom tty; do touch "$0/dev/$name"; mount --bind "/dev/$name" "$0/dev/$name"; done
ln -s /proc/self/fd "$0/dev/fd"; ln -s fd/0 "$0/dev/stdin"; ln -s fd/1 "$0/dev/stdout"; ln -s fd/2 "$0/dev/stderr"
mkdir -m 1777 "$0/dev/shm"; mount -t tmpfs -o mode=1777 shm "$0/dev/shm"
echo ready
while sleep 1; do :; done
"""


class RootError(Exception):
    """A command in a root failed; the text has its output."""


def archive(release):
    """The archive of a release's minimal root file system; made if it is not there, in some minutes."""
    path = ROOTS / f"{release}.tar"
    if path.exists():
        return path
    if shutil.which("debootstrap") is None:
        raise RootError("debootstrap is missing: tools/install_deps.sh packages installs it")
    ROOTS.mkdir(parents=True, exist_ok=True)
    log(f"making a root file system of {release}")
    with tempfile.TemporaryDirectory(dir=ROOTS) as folder:
        root = Path(folder) / "root"
        _run(["debootstrap", "--variant=minbase", release, root, MIRROR])
        part = path.with_suffix(".part")
        _run(["tar", "-C", root, "--one-file-system", "-cf", part, "."])
        os.replace(part, path)
    return path


def _run(command, **options):
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False, **options)
    if done.returncode != 0:
        raise RootError(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


class DebianRoot:
    """A copy of a release's root file system. Use as a context manager; it is gone afterwards, with all its processes."""

    def __init__(self, release):
        self.release = release
        self.folder = None
        self.holder = None

    def __enter__(self):
        source = archive(self.release)
        self.folder = Path(tempfile.mkdtemp(prefix=f"{self.release}-", dir=ROOTS))
        try:
            os.chmod(self.folder, 0o755)
            _run(["tar", "-C", self.folder, "-xf", source])
            shutil.copy("/etc/resolv.conf", self.folder / "etc/resolv.conf")
            # As Debian's installer writes it.
            (self.folder / "etc/apt/sources.list").write_text(
                f"deb {MIRROR} {self.release} main\ndeb {MIRROR} {self.release}-updates main\n"
                f"deb {SECURITY_MIRROR} {self.release}-security main\n", encoding="ascii")
            (self.folder / "usr/sbin/policy-rc.d").write_text(POLICY, encoding="ascii")
            os.chmod(self.folder / "usr/sbin/policy-rc.d", 0o755)
            self.holder = subprocess.Popen(
                ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", HOLDER, self.folder],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            if self.holder.stdout.readline() != "ready\n":
                raise RootError("the root's namespaces could not be made")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.holder is not None:
            # Ends the first process of the namespace, and with it all others.
            self.holder.kill()
            self.holder.wait()
            self.holder.stdout.close()
        for _ in range(50):
            shutil.rmtree(self.folder, ignore_errors=True)
            if not self.folder.exists():
                return
            time.sleep(0.1)
        raise RootError(f"{self.folder} could not be removed")

    def _first_process(self):
        """The namespace's first process, as this machine numbers it."""
        return Path(f"/proc/{self.holder.pid}/task/{self.holder.pid}/children").read_text(encoding="ascii").split()[0]

    def run(self, command, user=None):
        """The output of a shell's command in the root; RootError if it fails."""
        inside = ["nsenter", f"--target={self._first_process()}", "--mount", "--pid", "chroot"]
        if user:
            # By number: the machine outside may not know the name.
            entry = next(line.split(":") for line in self.path("/etc/passwd").read_text(encoding="utf-8").splitlines()
                         if line.startswith(f"{user}:"))
            inside.append(f"--userspec={entry[2]}:{entry[3]}")
        return _run([*inside, self.folder, "sh", "-e", "-c", command], env=ENVIRONMENT)

    def path(self, inside):
        """Where a file of the root lies on this machine."""
        return self.folder / str(inside).lstrip("/")

    def copy_in(self, file, inside):
        """A file of this machine, under a path of the root."""
        self.path(inside).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, self.path(inside))
