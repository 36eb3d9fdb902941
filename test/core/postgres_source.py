"""postgres_source.py - the test suites of the installed PostgreSQL's source.

Owns: fetching the Debian source package of exactly the installed version
through an APT configuration of its own (/etc/apt stays as it is), and
unpacking src/test/{regress,isolation} for one run.
Must never: leave anything outside .deps/ and the folder it is given.
Used by: run_core.py.
"""

import re
import shutil
import subprocess
from pathlib import Path

from cluster import REPOSITORY, log, pg_config

CACHE = REPOSITORY / ".deps" / "postgresql-source"
SUITES = ("src/test/regress", "src/test/isolation")


def _installed_version():
    query = ["dpkg-query", "-W", "-f", "${Version}", f"postgresql-{_major()}"]
    return subprocess.run(query, check=True, capture_output=True, text=True).stdout.strip()


def _major():
    return pg_config("--version").split()[1].split(".")[0]


def _source_lines():
    """The repositories that this machine's APT has Debian's packages from, and the
    same for sources, which few machines have enabled."""
    shown = subprocess.run(["apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI) $(CODENAME) $(COMPONENT)",
                            "Created-By: Packages"], check=True, capture_output=True, text=True).stdout
    places = sorted({line.split(maxsplit=1)[1] for line in shown.splitlines() if line.startswith("Debian ")})
    if not places:
        raise RuntimeError("APT knows no Debian repository: run `apt-get update` first")
    return [f"{kind} {place}" for kind in ("deb", "deb-src") for place in places]


def _apt_options(folder):
    lists = folder / "lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text("\n".join(_source_lines()) + "\n")
    settings = {"Dir::Etc::sourcelist": folder / "sources.list", "Dir::Etc::sourceparts": "-",
                "Dir::State::lists": lists, "Dir::Cache::pkgcache": "", "Dir::Cache::srcpkgcache": "",
                "APT::Sandbox::User": "", "Debug::NoLocking": "1"}
    return [part for key, value in settings.items() for part in ("-o", f"{key}={value}")]


def _available_versions(options):
    """Versions in the source index: the installed one first, then newest first."""
    shown = subprocess.run(["apt-cache", *options, "showsrc", f"postgresql-{_major()}"], check=True,
                           capture_output=True, text=True).stdout
    versions = {line.split()[1] for line in shown.splitlines() if line.startswith("Version:")}
    newest_first = sorted(versions, key=lambda v: [int(n) for n in re.findall(r"\d+", v)], reverse=True)
    return sorted(newest_first, key=lambda v: v != _installed_version())


def source_tree():
    """The unpacked source of the installed version, fetched once. Mirrors keep
    the source of a security update for a short while only: then the nearest
    minor version that they have serves, see matches_server()."""
    tree = CACHE / "tree"
    if (CACHE / "version").exists():
        return tree
    CACHE.mkdir(parents=True, exist_ok=True)
    options = _apt_options(CACHE)
    subprocess.run(["apt-get", *options, "-qq", "update"], check=True)
    package = f"postgresql-{_major()}"
    for version in _available_versions(options):
        log(f"fetching the source of {package} {version}")
        fetched = subprocess.run(["apt-get", *options, "-qq", "source", "--download-only", f"{package}={version}"],
                                 cwd=CACHE, check=False)
        if fetched.returncode == 0:
            break
    else:
        raise RuntimeError(f"no version of {package}'s source could be fetched")
    description = f"{package}_{version.split(':')[-1]}.dsc"
    shutil.rmtree(tree, ignore_errors=True)
    # dpkg-source applies Debian's patches, some of which touch expected files.
    subprocess.run(["dpkg-source", "--no-check", "-x", description, tree.name], check=True, cwd=CACHE,
                   stdout=subprocess.DEVNULL)
    _fetch_client(options, version)
    (CACHE / "version").write_text(version)
    return tree


def matches_server():
    """Whether the suites are of exactly the installed version."""
    return (CACHE / "version").read_text() == _installed_version()


def _fetch_client(options, version):
    """psql of the suites' own version: its reading of scripts is part of the
    expected output and changes between minor versions."""
    shutil.rmtree(CACHE / "client", ignore_errors=True)
    if version == _installed_version():
        return
    package = f"postgresql-client-{_major()}"
    subprocess.run(["apt-get", *options, "-qq", "download", f"{package}={version}"], check=True, cwd=CACHE)
    archive = next(CACHE.glob(f"{package}_*.deb"))
    subprocess.run(["dpkg-deb", "-x", archive.name, "client"], check=True, cwd=CACHE)


def unpack_client(target):
    """The folder of the psql to run the suites with, in reach of the servers'
    account; None: the installation's own."""
    found = next((CACHE / "client").glob("usr/lib/postgresql/*/bin"), None)
    if found is None:
        return None
    shutil.copytree(found, target / "client", ignore=lambda _, names: [n for n in names if n != "psql"])
    return target / "client"


def unpack_suites(target):
    """Copies the suites to `target` and builds regress.so in target/dl."""
    tree = source_tree()
    for suite in SUITES:
        shutil.copytree(tree / suite, target / suite)
    libraries = target / "dl"
    libraries.mkdir()
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", f"-I{pg_config('--includedir-server')}",
                    str(tree / SUITES[0] / "regress.c"), "-o", str(libraries / "regress.so")], check=True)
    for name in ("refint.so", "autoinc.so"):
        shutil.copy(Path(pg_config("--pkglibdir")) / name, libraries / name)
    return target
