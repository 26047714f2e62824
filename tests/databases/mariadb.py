"""A private MariaDB for tests, with a binlog of rows: it can be stopped, killed and started again on the same data.

    with MariadbServer.private() as server:
        connection = pymysql.connect(**server.arguments)

The server is Debian's `mariadb-server-core`; without it the test is skipped.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest

from tests.waiting import HANG_SECONDS, wait_until

USER: Final = "capture"
PASSWORD: Final = "secret"
DATABASE: Final = "shop"
_SETTINGS: Final = {
    "bind-address": "127.0.0.1",
    "server-id": "7",
    "log-bin": "binlog",
    "binlog-format": "ROW",
    "binlog-row-image": "FULL",
    "binlog-row-metadata": "FULL",
    "gtid-domain-id": "3",
    "character-set-server": "utf8mb4",
    "skip-name-resolve": "1",
    "lock-wait-timeout": "30",
    "skip-slave-start": "1",
    "sync-binlog": "0",  # only processes are killed, not the machine
    "innodb-flush-log-at-trx-commit": "2",
    "innodb-flush-method": "nosync",
    "innodb-buffer-pool-size": "32M",
    "innodb-log-file-size": "16M",
    "key-buffer-size": "1M",
    "aria-pagecache-buffer-size": "4M",
    "performance-schema": "OFF",
}


class MariadbServer:
    """A server with its data in one folder.

    Invariant: `port` and the data remain the same from start to start; at most one server runs on the data.

    Args:
        folder: Gets data, log and socket; it belongs to the user of the server.
        settings: More settings of the server. Default: those of `_SETTINGS`.
    """

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        self._folder, self._data, self._log = folder, folder / "data", folder / "server.log"
        self._user = pwd.getpwnam("nobody").pw_uid if os.getuid() == 0 else None  # it refuses to run as root
        self._settings = {**_SETTINGS, **(settings or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self.port = _free_port()

    @classmethod
    @contextmanager
    def private(cls, settings: Mapping[str, str] | None = None) -> Iterator[MariadbServer]:
        """Start a server with new data; stops it, and removes the data, at the end. Skips the test if there is none."""
        pytest.importorskip("pymysql")
        if _server() is None or shutil.which("mariadb-install-db") is None:
            pytest.skip("There is no MariaDB: apt-get install mariadb-server-core")
        folder = Path(tempfile.mkdtemp(prefix="kafkapy-my-"))
        server = cls(folder, settings)
        try:
            server.create()
            server.start()
            yield server
        finally:
            server.kill()
            shutil.rmtree(folder, ignore_errors=True)

    @property
    def arguments(self) -> dict[str, Any]:
        """For `pymysql.connect`; the user may do all."""
        where = {"host": "127.0.0.1", "port": self.port, "database": DATABASE}
        return {**where, "user": USER, "password": PASSWORD, "charset": "utf8mb4"}

    @property
    def url(self) -> str:
        """For SQLAlchemy."""
        return f"mariadb+pymysql://{USER}:{PASSWORD}@127.0.0.1:{self.port}/{DATABASE}?charset=utf8mb4"

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def create(self) -> None:
        """Create the data."""
        if self._user is not None:
            os.chown(self._folder, self._user, -1)
        first = self._folder / "first.sql"
        first.write_text(
            f"CREATE USER IF NOT EXISTS {USER}@'%' IDENTIFIED BY '{PASSWORD}';\n"
            f"GRANT ALL ON *.* TO {USER}@'%' WITH GRANT OPTION;\nCREATE DATABASE IF NOT EXISTS {DATABASE};\n"
        )
        kinds = ("--auth-root-authentication-method=normal", "--skip-test-db", "--innodb-flush-method=nosync")
        made = subprocess.run(
            ["mariadb-install-db", "--no-defaults", f"--datadir={self._data}", *kinds],
            user=self._user,
            cwd=self._folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=HANG_SECONDS,
            check=False,
        )
        assert made.returncode == 0, made.stdout.decode("utf-8", "replace")[-3000:]

    def start(self) -> None:
        """Start the server; returns when it accepts connections."""
        assert not self.is_running
        program = _server()
        assert program is not None
        places = {
            "datadir": str(self._data),
            "port": str(self.port),
            "socket": str(self._folder / "socket"),
            "pid-file": str(self._folder / "pid"),
            "init-file": str(self._folder / "first.sql"),
        }
        options = [f"--{name}={value}" for name, value in {**self._settings, **places}.items()]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [program, "--no-defaults", *options],
                user=self._user,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_until(self._accepts, self.log_text)

    def stop(self) -> None:
        """Stop the server: it ends the connections, and writes what it has."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the server; the next start recovers the data."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Stop the server and start it again."""
        self.stop()
        self.start()

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements in one transaction; return the rows of the last one."""
        import pymysql

        with closing(pymysql.connect(**self.arguments)) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            rows = list(cursor.fetchall())
            connection.commit()
            return rows

    def end_sessions(self) -> None:
        """End all other sessions."""
        others = f"SELECT id FROM information_schema.processlist WHERE user = '{USER}' AND id <> CONNECTION_ID()"
        import pymysql

        for (number,) in self.sql(others):
            with suppress(pymysql.Error):  # it has ended
                self.sql(f"KILL {number}")

    def log_text(self) -> str:
        """The end of the server's log."""
        return self._log.read_text("utf-8", "replace")[-3000:]

    def _end(self, number: signal.Signals) -> None:
        if self.is_running:
            assert self._process is not None
            self._process.send_signal(number)
            self._process.wait(HANG_SECONDS)

    def _accepts(self) -> bool:
        import pymysql

        assert self.is_running, self.log_text()
        try:
            self.sql("SELECT 1")
        except pymysql.Error:
            return False
        return True


def _server() -> str | None:
    """The server's program, which Debian has in a folder for administrators."""
    return shutil.which("mariadbd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
