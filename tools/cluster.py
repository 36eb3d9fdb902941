"""cluster.py - private PostgreSQL clusters with the extension under test.

Owns: a staged copy of the PostgreSQL installation with the built extension in
it (tests never write to the system's directories), and throw-away clusters
started from it: data directory in a temporary folder, unix socket only.
Must never: leave a server running; the postmaster is told to die with us.
Used by: test/, bench/, tools/demo.py.

As root the servers run as user postgres, since PostgreSQL refuses root.

Clusters have the collation that a new cluster has by default on a server,
C.UTF-8; TURBINE_LOCALE names another, of the C library's, or of PostgreSQL's own
since 17: builtin:C.UTF-8, builtin:PG_UNICODE_FAST.
"""

import contextlib
import ctypes
import locale
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import compiled_code
import server_root
from pg_client import Connection, ConnectionLost, DatabaseError

REPOSITORY = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("TURBINE_BUILD", REPOSITORY / "build")).resolve()
# The defect of programs that are wrong on purpose, which are staged instead of the
# right ones: see test/mutants.py. "asserted": the module with assertions.
# "numbers": with an input that is in no product, see test/new_input.py.
MUTANT = os.environ.get("TURBINE_MUTANT", "")
# Where servers of another version run, by chroot (TURBINE_PG); None: in this machine's own system.
SERVER_ROOT = server_root.folder(BUILD)
# No mutant, or one whose compiler and service are the right ones.
PROGRAMS_AS_EVER = ("", "asserted", "numbers")
SERVER_USER = "postgres"
DEFAULT_LOCALE = "C.UTF-8"
# For benchmarks: what Cluster sets for the sake of tests, as a new installation has it.
AS_INSTALLED = {"pg_turbine.compile_wait": "1s"}
# SQLSTATEs of a server that starts, recovers, or ends its sessions after a crash.
RECOVERS = ("57P03", "57P02", "57P01")
_PR_SET_PDEATHSIG = 1

BASE_SETTINGS = {
    "listen_addresses": "",
    "port": "5432",
    "fsync": "off",
    "max_connections": "120",
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "autovacuum": "off",
    "log_line_prefix": "%m [%p] ",
    "max_prepared_transactions": "10",
}


def log(message):
    print(message, file=sys.stderr, flush=True)


def pg_config(option):
    if SERVER_ROOT:
        return server_root.pg_config(SERVER_ROOT, option)
    program = os.environ.get("PG_CONFIG") or shutil.which("pg_config") or "pg_config"
    return subprocess.run([program, option], check=True, capture_output=True, text=True).stdout.strip()


def has_extension(name):
    """Whether the servers' PostgreSQL has an extension of that name to create, before any server runs."""
    control = outside(pg_config("--sharedir")) / "extension" / f"{name}.control"
    # Some are links to files of their own system.
    return control.exists() or control.is_symlink()


def major_version():
    """Of the servers' PostgreSQL: 15."""
    return int(pg_config("--version").split()[1].split(".")[0])


def is_known_locale(name):
    """Whether the C library has a locale of that name."""
    before = locale.setlocale(locale.LC_COLLATE)
    try:
        locale.setlocale(locale.LC_COLLATE, name)
    except locale.Error:
        return False
    locale.setlocale(locale.LC_COLLATE, before)
    return True


def cluster_locale():
    """What initdb is given. Without TURBINE_LOCALE, C.UTF-8 where the C library
    has it (a bundle runs on machines that may not), else C."""
    wanted = os.environ.get("TURBINE_LOCALE")
    if wanted:
        return wanted
    if is_known_locale(DEFAULT_LOCALE):
        return DEFAULT_LOCALE
    log(f"there is no locale {DEFAULT_LOCALE}: clusters are made in C")
    return "C"


def locale_options():
    """Of initdb."""
    provider, _, name = cluster_locale().rpartition(":")
    if provider == "builtin":
        return ["--locale-provider=builtin", f"--builtin-locale={name}", "--locale=C"]
    return [f"--locale={name}"]


def system_bindir():
    """The installation's bin directory; TURBINE_PG_BIN names one that already
    holds the extension (a bundle), else Debian's."""
    if "TURBINE_PG_BIN" in os.environ:
        return Path(os.environ["TURBINE_PG_BIN"])
    return Path(pg_config("--bindir"))


def _server_account():
    """(uid, gid) to run servers as, or None where we are not root."""
    if os.geteuid() != 0:
        return None
    entry = pwd.getpwnam(SERVER_USER)
    return entry.pw_uid, entry.pw_gid


def start_as_server(command, **options):
    """A Popen of `command`, which is a program of the servers' system, under their account."""
    account = _server_account()
    dies_with_us = options.pop("dies_with_us", False)
    if SERVER_ROOT:
        if not account:
            raise RuntimeError("servers in a root file system of their own are started by root")
        server_root.make_places(SERVER_ROOT, REPOSITORY, BUILD)
        options["preexec_fn"] = lambda: server_root.enter(SERVER_ROOT, account, REPOSITORY, BUILD,
                                                          dies_with_parent=dies_with_us)
    else:
        if account:
            options.update(user=account[0], group=account[1], extra_groups=[])
        if dies_with_us:
            options["preexec_fn"] = _die_with_parent
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
    environment.update(options.pop("env", {}))
    return subprocess.Popen([str(c) for c in command], cwd="/", env=environment, **options)


def run_as_server(command, text="", **options):
    """Runs a command under the servers' account, `text` its input; raises with its output if it fails."""
    process = start_as_server(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    output, _ = process.communicate(text)
    if process.returncode != 0:
        raise RuntimeError(f"{command[0]} failed with {process.returncode}:\n{output}")
    return output


def signal_running(pids, number):
    """Sends a signal to each of these processes that still runs: one that was found a moment ago may have ended."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def outside(path):
    """Where a path of the servers' system is for us."""
    return SERVER_ROOT / str(path).lstrip("/") if SERVER_ROOT else Path(path)


def _link_tree(source, target, skip_prefix):
    """Mirrors a folder of the servers' system by symbolic links (folders themselves are real)."""
    target.mkdir(parents=True, exist_ok=True)
    for entry in outside(source).iterdir():
        if entry.name.startswith(skip_prefix):
            continue
        if entry.is_dir() and not entry.is_symlink():
            _link_tree(source / entry.name, target / entry.name, skip_prefix)
        elif not (target / entry.name).is_symlink():
            # Unless another test has made it just now.
            with contextlib.suppress(FileExistsError):
                (target / entry.name).symlink_to(source / entry.name)


def _unlink_outdated(folder):
    """CMake writes over files in place, and programs of another cluster that have them mapped would die of SIGBUS."""
    for staged in [folder / "pg_turbine.so", *(folder / "pg_turbine").glob("turbine*")]:
        built = next(BUILD.glob(f"src/*/{staged.name}"), None)
        if staged.is_file() and built and int(built.stat().st_mtime) != int(staged.stat().st_mtime):
            staged.unlink()


def stage(with_extension=True):
    """Brings the staged installation up to date; returns its bin directory.

    PostgreSQL finds its folders relative to its own executable, so programs
    are real copies and the rest may be links. `cmake --install` with DESTDIR
    then puts the extension where the copy looks for it.
    """
    if "TURBINE_PG_BIN" in os.environ:
        return system_bindir()
    root = _stage_root()
    bindir = root / str(system_bindir()).lstrip("/")
    if not (bindir / "postgres").exists():
        bindir.mkdir(parents=True, exist_ok=True)
        for program in outside(system_bindir()).iterdir():
            shutil.copy2(program, bindir / program.name)
    # Other extensions may have been installed since.
    for option in ("--pkglibdir", "--sharedir"):
        folder = Path(pg_config(option))
        _link_tree(folder, root / str(folder).lstrip("/"), "pg_turbine")
    if with_extension:
        if SERVER_ROOT:
            _install_for_root(root)
        else:
            _unlink_outdated(root / pg_config("--pkglibdir").lstrip("/"))
            subprocess.run(["cmake", "--install", str(BUILD)], check=True, stdout=subprocess.DEVNULL,
                           env={**os.environ, "DESTDIR": str(root)})
        if MUTANT:
            _stage_mutant(root / pg_config("--pkglibdir").lstrip("/"))
    return bindir


def _replace(source, target):
    """Copies a file as a new one: running servers may have the old one mapped."""
    source, target = Path(source), Path(target)
    if target.is_file() and (source.stat().st_mtime, source.stat().st_size) == (target.stat().st_mtime, target.stat().st_size):
        return
    copy = target.with_name(target.name + ".new")
    shutil.copy2(source, copy)
    os.replace(copy, target)


def _install_for_root(root):
    """Installs the programs of this build, which serve all versions, and the module of the servers' version."""
    installed = root / "installed"
    subprocess.run(["cmake", "--install", str(BUILD)], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "DESTDIR": str(installed)})
    for module in installed.rglob("pg_turbine.so"):
        module.unlink()
    for source, option in (("pg_turbine/turbined", "--pkglibdir"), ("extension/pg_turbine.control", "--sharedir"),
                           ("pg2arrow", "--bindir")):
        below = next(installed.rglob(source), None)
        if below:
            folder = below.parents[len(Path(source).parts) - 1]
            shutil.copytree(folder, root / pg_config(option).lstrip("/"), symlinks=True, dirs_exist_ok=True,
                            copy_function=_replace)
    module = BUILD / f"pg{server_root.VERSION}" / "pg_turbine.so"
    _replace(module, root / pg_config("--pkglibdir").lstrip("/") / module.name)


def _stage_mutant(pkglibdir):
    """Puts the mutant's programs over those just installed, as new files: a
    running server may have the old ones mapped."""
    programs = list((BUILD / "mutants" / (MUTANT if MUTANT in PROGRAMS_AS_EVER else "programs")).iterdir())
    if not programs:
        raise RuntimeError("the mutants are not built")
    for program in programs:
        target = (pkglibdir if program.suffix == ".so" else pkglibdir / "pg_turbine") / program.name
        _replace(program, target)


def _stage_root():
    """build/stage (other programs have one of their own), or a folder in /tmp where the
    servers' account cannot reach the build tree (a checkout below root's home)."""
    root = BUILD / (f"stage-{MUTANT if MUTANT in PROGRAMS_AS_EVER else 'mutant'}" if MUTANT else "stage")
    if SERVER_ROOT:
        root = root.with_name(f"{root.name}-pg{server_root.VERSION}")
    root.mkdir(parents=True, exist_ok=True)
    account = _server_account()
    if account is None:
        return root
    probe = start_as_server(["test", "-x", root], stderr=subprocess.DEVNULL)
    if probe.wait() == 0:
        return root
    name = f"pg_turbine-{root.name}-" + str(BUILD).strip("/").replace("/", "-")
    outside = Path(tempfile.gettempdir()) / name
    outside.mkdir(mode=0o755, exist_ok=True)
    if outside.stat().st_uid != os.geteuid():
        raise RuntimeError(f"{outside} belongs to someone else")
    return outside


def _die_with_parent():
    """In the child: SIGQUIT (immediate shutdown) when the test program dies."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)


class Cluster:
    """A cluster of its own. Use as a context manager.

    `extension`: stage the build, preload it and CREATE EXTENSION in the
    database postgres and template1. Otherwise a stock server. `base` replaces
    BASE_SETTINGS (it must keep listen_addresses and port).
    """

    def __init__(self, name="test", extension=True, settings=None, base=None, checksums=None):
        self.extension = extension
        self.bindir = stage(extension) if extension else system_bindir()
        self.settings = dict(BASE_SETTINGS if base is None else base, **(settings or {}))
        if extension:
            preload = self.settings.get("shared_preload_libraries")
            self.settings["shared_preload_libraries"] = ",".join(filter(None, [preload, "pg_turbine"]))
            # On a machine that runs other tests besides, a compilation may take long, and no plan is to change for it.
            self.settings.setdefault("pg_turbine.compile_wait", "30s")
        self.checksums = checksums
        self.directory = Path(tempfile.mkdtemp(prefix=f"pgt-{name}-"))
        self.data = self.directory / "data"
        self.logfile = self.directory / "log"
        self.port = self.settings["port"]
        self.process = None
        account = _server_account()
        if account:
            os.chown(self.directory, *account)
        os.chmod(self.directory, 0o755)

    def start(self):
        if not self.data.exists():
            run_as_server([self.bindir / "initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-N",
                           *locale_options(), "-E", "UTF8", *self._checksum_options()])
            self._write_settings()
            if self.extension:
                compiled_code.lend(self.data, _server_account())
        return self.start_program([self.bindir / "postgres", "-D", self.data])

    def _checksum_options(self):
        """Of initdb. None: as it does by default, which is with checksums since PostgreSQL 18."""
        if self.checksums is None:
            return []
        return ["-k"] if self.checksums else ["--no-data-checksums"] * (major_version() >= 18)

    def start_program(self, command):
        """Starts the server by `command`, which may wrap it in another program."""
        with open(self.logfile, "ab") as sink:
            self.process = start_as_server(command, stdout=sink, stderr=sink, stdin=subprocess.DEVNULL,
                                           dies_with_us=True, start_new_session=True)
        self._wait_until_up()
        return self

    def _write_settings(self):
        lines = [f"{key} = '{value}'" for key, value in self.settings.items()]
        lines.append(f"unix_socket_directories = '{self.directory}'")
        with open(self.data / "postgresql.conf", "a", encoding="utf-8") as conf:
            conf.write("\n".join(lines) + "\n")

    def _wait_until_up(self, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                self.connect().close()
                return
            except (OSError, DatabaseError, ConnectionLost):
                time.sleep(0.05)
        raise RuntimeError(f"the server did not start; its log ends:\n{self.log_tail()}")

    def create_extension(self, *databases):
        for database in databases or ("template1", "postgres"):
            with self.connect(database) as session:
                session.query("CREATE EXTENSION IF NOT EXISTS pg_turbine")

    def wait_for_service(self, seconds=30):
        """Waits until a device is usable, also while the server recovers; returns the seconds that took."""
        started = time.monotonic()
        while time.monotonic() - started < seconds:
            try:
                with self.connect() as session:
                    while time.monotonic() - started < seconds:
                        if session.query("SELECT 1 FROM turbine.devices WHERE usable"):
                            return time.monotonic() - started
                        time.sleep(0.02)
            except (OSError, ConnectionLost):
                time.sleep(0.05)
            except DatabaseError as error:
                if error.sqlstate not in RECOVERS:
                    raise
                time.sleep(0.05)
        raise RuntimeError(f"no usable device after {seconds} s; the server's log ends:\n{self.log_tail()}")

    def descendants(self):
        """{pid: program name} of every process below the postmaster."""
        parents, names = {}, {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    stat = (entry / "stat").read_text()
                except OSError:
                    continue
                name, rest = stat[stat.index("(") + 1:stat.rindex(")")], stat[stat.rindex(")") + 2:].split()
                parents[int(entry.name)], names[int(entry.name)] = int(rest[1]), name
        below = {self.process.pid}
        while more := {pid for pid, parent in parents.items() if parent in below} - below:
            below |= more
        return {pid: names[pid] for pid in below - {self.process.pid}}

    def major_version(self):
        """Of PostgreSQL: 15."""
        with self.connect() as session:
            return int(session.value("SHOW server_version_num")) // 10000

    def service_program(self):
        """The path of turbined."""
        pkglibdir = os.path.relpath(pg_config("--pkglibdir"), pg_config("--bindir"))
        return (self.bindir / pkglibdir / "pg_turbine" / "turbined").resolve()

    def service_pid(self):
        """The pid of turbined, or None while it is down."""
        found = [pid for pid, name in self.descendants().items() if name == "turbined"]
        return min(found) if found else None

    def connect(self, database="postgres", user="postgres", settings=None, timeout=None):
        return Connection(str(self.directory), self.port, user, database, settings, timeout)

    def client(self, program, database="postgres"):
        """The command of a client program of PostgreSQL's, up to its own options; for start_as_server."""
        return [self.bindir / program, "-h", self.directory, "-p", str(self.port), "-U", "postgres", "-d", database]

    def dump(self, database="postgres", *options):
        """What pg_dump writes."""
        return run_as_server([*self.client("pg_dump", database), *options])

    def restore(self, text, database):
        """Runs statements, such as a dump, by psql; None, or how the output ends if one fails."""
        try:
            run_as_server([*self.client("psql", database), "-X", "-q", "-v", "ON_ERROR_STOP=1"], text)
        except RuntimeError as error:
            return str(error)[-500:]
        return None

    def log_tail(self, lines=40):
        if not self.logfile.exists():
            return ""
        return "\n".join(self.logfile.read_text(errors="replace").splitlines()[-lines:])

    def stop(self, mode=signal.SIGINT, seconds=30):
        """Fast shutdown; immediate if that takes too long."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(mode)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGQUIT)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def remove(self):
        self.stop()
        if self.extension and MUTANT in PROGRAMS_AS_EVER:
            compiled_code.keep(self.data)
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        try:
            self.start()
            if self.extension:
                self.create_extension()
                self.wait_for_service()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, kind, *_):
        if kind is not None and self.logfile.exists():
            log(f"--- end of the server's log ---\n{self.log_tail()}")
        self.remove()
