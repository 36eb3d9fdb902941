"""postgres_source.py - the test suites of the installed PostgreSQL's source.

Owns: fetching the Debian source package of exactly the installed version
through an APT configuration of its own (/etc/apt stays as it is), and
unpacking src/test/{regress,isolation} for one run. Servers of another version
(TURBINE_PG) get the sources of the release in their root file system.
Must never: leave anything outside .deps/ and the folder it is given.
Used by: run_core.py.
"""

import gzip
import re
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import server_root
from cluster import REPOSITORY, SERVER_ROOT, log, outside, pg_config

CACHE = REPOSITORY / ".deps" / ("postgresql-source" + (f"-{server_root.VERSION}" if SERVER_ROOT else ""))
# How many releases before the installed one are looked for.
EARLIER_VERSIONS = 3
SUITES = ("src/test/regress", "src/test/isolation")


def _installed_version():
    query = ["dpkg-query", f"--admindir={outside('/var/lib/dpkg')}", "-W", "-f", "${Version}", f"postgresql-{_major()}"]
    return subprocess.run(query, check=True, capture_output=True, text=True).stdout.strip()


def exists():
    """Whether the servers are from a package of Debian's; that of 16 is not (tools/debian_root.py)."""
    return subprocess.run(["dpkg-query", f"--admindir={outside('/var/lib/dpkg')}", "-W", f"postgresql-{_major()}"], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def _major():
    return pg_config("--version").split()[1].split(".")[0]


def _source_lines():
    """The repositories that the servers' system has Debian's packages from, and the
    same for sources, which few machines have enabled."""
    if SERVER_ROOT:
        lines = (SERVER_ROOT / "etc/apt/sources.list").read_text(encoding="utf-8").splitlines()
        return lines + [line.replace("deb ", "deb-src ", 1) for line in lines]
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
    if SERVER_ROOT:
        # Its release is signed with keys that this machine may not know.
        settings["Dir::Etc::trustedparts"] = SERVER_ROOT / "etc/apt/trusted.gpg.d"
    return [part for key, value in settings.items() for part in ("-o", f"{key}={value}")]


def _available_versions(options):
    """Versions in the source index: the installed one first, then newest first."""
    shown = subprocess.run(["apt-cache", *options, "showsrc", f"postgresql-{_major()}"], check=True,
                           capture_output=True, text=True).stdout
    versions = {line.split()[1] for line in shown.splitlines() if line.startswith("Version:")}
    newest_first = sorted(versions, key=lambda v: [int(n) for n in re.findall(r"\d+", v)], reverse=True)
    return sorted(newest_first, key=lambda v: v != _installed_version())


def _earlier_versions():
    """The releases before the installed one, newest first, as its package's changelog tells them."""
    changelog = outside(f"/usr/share/doc/postgresql-{_major()}/changelog.Debian.gz")
    with gzip.open(changelog, "rt", encoding="utf-8") as text:
        versions = re.findall(rf"^postgresql-{_major()} \(([^)]+)\)", text.read(), re.MULTILINE)
    return versions[versions.index(_installed_version()) + 1:][:EARLIER_VERSIONS]


def _download(name):
    """A file of the package's folder in the mirror's pool, into CACHE; whether it is there."""
    uri = next(line.split()[1] for line in _source_lines() if line.startswith("deb "))
    place = f"{uri.rstrip('/')}/pool/main/p/postgresql-{_major()}/{urllib.parse.quote(name)}"
    try:
        with urllib.request.urlopen(place, timeout=60) as answer, open(CACHE / name, "wb") as file:
            shutil.copyfileobj(answer, file)
    except urllib.error.HTTPError:
        return False
    return True


def _fetch_by_index(options, version):
    """Fetches the source of a version that the index names; whether the mirror has it."""
    return subprocess.run(["apt-get", *options, "-qq", "source", "--download-only", f"postgresql-{_major()}={version}"],
                          cwd=CACHE, check=False).returncode == 0


def _fetch_from_pool(version):
    """Fetches the source of a version that no index names any more; whether the mirror still has it."""
    description = _description(version)
    if not _download(description):
        return False
    listed = re.search(r"^Files:\n((?: .*\n?)+)", (CACHE / description).read_text(encoding="utf-8"), re.MULTILINE)
    return all(_download(line.split()[2]) for line in listed.group(1).splitlines())


def _description(version):
    return f"postgresql-{_major()}_{version.split(':')[-1]}.dsc"


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
    indexed, earlier = _available_versions(options), _earlier_versions()
    for version in indexed + [v for v in earlier if v not in indexed]:
        log(f"fetching the source of postgresql-{_major()} {version}")
        if _fetch_by_index(options, version) if version in indexed else _fetch_from_pool(version):
            break
    else:
        raise RuntimeError(f"no version of postgresql-{_major()}'s source could be fetched")
    shutil.rmtree(tree, ignore_errors=True)
    # dpkg-source applies Debian's patches, some of which touch expected files.
    subprocess.run(["dpkg-source", "--no-check", "-x", _description(version), tree.name], check=True, cwd=CACHE,
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
    architecture = subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True, text=True).stdout.strip()
    if subprocess.run(["apt-get", *options, "-qq", "download", f"{package}={version}"], check=False, cwd=CACHE).returncode and \
            not _download(f"{package}_{version}_{architecture}.deb"):
        raise RuntimeError(f"{package} {version} could not be fetched")
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
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", f"-I{outside(pg_config('--includedir-server'))}",
                    str(tree / SUITES[0] / "regress.c"), "-o", str(libraries / "regress.so")], check=True)
    for name in ("refint.so", "autoinc.so"):
        shutil.copy(outside(pg_config("--pkglibdir")) / name, libraries / name)
    return target
