"""mysql_server.py - a private MariaDB server, for the tests of mysql2arrow.

Owns: a throw-away data directory in a temporary folder, and the server process on a unix
socket only, under the account of the other test servers.
Must never: leave a server running; it is killed when the test program dies.
Used by: mysql2arrow.py.
"""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pymysql

import cluster

DATABASE = "test"


class MysqlServer:
    def __init__(self):
        self.directory = Path(tempfile.mkdtemp(prefix="pgt-mysql-"))
        self.socket = self.directory / "socket"
        self.process = None
        account = cluster._server_account()
        if account:
            os.chown(self.directory, *account)
        os.chmod(self.directory, 0o755)

    def __enter__(self):
        try:
            data = self.directory / "data"
            cluster.run_as_server(["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db",
                                   "--auth-root-authentication-method=normal"])
            with open(self.directory / "log", "wb") as log:
                self.process = cluster.start_as_server(
                    [shutil.which("mariadbd", path="/usr/sbin:/usr/local/sbin:" + os.environ["PATH"]), "--no-defaults",
                     f"--datadir={data}", f"--socket={self.socket}", f"--pid-file={self.directory / 'pid'}",
                     "--skip-networking", "--innodb-buffer-pool-size=64M", "--innodb-flush-log-at-trx-commit=0",
                     "--sql-mode="], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                    preexec_fn=cluster._die_with_parent, start_new_session=True)
            self._wait_until_up()
            with self.connect(None) as session:
                session.cursor().execute(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")
        except BaseException:
            self.__exit__()
            raise
        return self

    def _wait_until_up(self, seconds=120):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                self.connect(None).close()
                return
            except pymysql.Error:
                time.sleep(0.05)
        raise RuntimeError(f"MariaDB did not start:\n{(self.directory / 'log').read_text(errors='replace')[-4000:]}")

    def connect(self, database=DATABASE, user="root", password=""):
        return pymysql.connect(unix_socket=str(self.socket), user=user, password=password, database=database,
                               charset="utf8mb4", autocommit=True)

    def __exit__(self, *_):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)
