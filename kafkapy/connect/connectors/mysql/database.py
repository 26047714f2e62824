"""Connections to the server: sessions for SQL, and the stream of the binary log (PyMySQL, imported when it is needed)."""

from __future__ import annotations

import random
import socket
import ssl
import struct
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

from kafkapy.connect.connectors.debezium.capture_task import LostConnection
from kafkapy.connect.connectors.mysql.binlog_events import FORMAT, BinlogEvent, decode_event
from kafkapy.connect.connectors.mysql.position import BinlogPosition
from kafkapy.connect.connectors.mysql.settings import BinlogSettings
from kafkapy.connect.connectors.required_packages import require
from kafkapy.connect.errors import ConnectException

_LOST: Final = frozenset(
    {0, 1040, 1053, 1152, 1158, 1159, 1160, 1161, 1205, 1213, 1412, 1927, 2002, 2003, 2006, 2013, 2055}
)
"""Lost connections, resources, shutdown, locks; and a table that was changed while a snapshot reads it."""
_READ_TIMEOUT_S: Final = 600
_BINLOG_DUMP: Final = 0x12
_CANNOT_READ_LOG: Final = 1236
_LONGEST_PACKET: Final = 0xFFFFFF
_SEND_ANNOTATIONS: Final = 2
_CHECKSUM_BYTES, _CRC32 = 4, 1


class PurgedLog(ConnectException):
    """The server has no longer, or has never had, the place in the binary log."""


@contextmanager
def translated_errors(action: str) -> Iterator[None]:
    """Raise PyMySQL's errors as `LostConnection` or `ConnectException`; `action`: what fails, for the message."""
    import pymysql

    try:
        yield
    except pymysql.Error as error:
        code = error.args[0] if error.args and isinstance(error.args[0], int) else None
        text = str(error.args[1]) if len(error.args) > 1 else str(error)
        if code in _LOST or (code is None and isinstance(error, pymysql.err.InterfaceError)):
            raise LostConnection(f"{action}: {text}") from error
        if code == _CANNOT_READ_LOG:
            raise PurgedLog(f"The server cannot send its binary log from the stored place on: {text}") from error
        raise ConnectException(f"The server refuses: {action}: {text}") from error
    except OSError as error:
        raise LostConnection(f"{action}: {error}") from error


class MySqlDatabase:
    """Opens sessions with one server.

    Args:
        settings: Has host and user.

    Raises:
        ConnectException: PyMySQL is not installed; the message says how to install it.
    """

    def __init__(self, settings: BinlogSettings) -> None:
        require("connect-cdc", "pymysql", "A connector to MySQL or MariaDB")
        self._settings = settings
        self.server_id: int = settings["database.server.id"] or random.randint(5400, 2**31)

    def _parameters(self) -> dict[str, Any]:
        from pymysql.converters import encoders

        settings, password = self._settings, self._settings["database.password"]
        mode = settings.word("database.ssl.mode")
        files = {name: settings[f"database.ssl{name}"] for name in ("cert", "key")}
        tls: dict[str, Any] = {"ssl_disabled": True} if mode == "disabled" else {}
        if mode in ("required", "verify_ca", "verify_identity"):
            context = ssl.create_default_context(cafile=settings["database.sslrootcert"])
            context.check_hostname = mode == "verify_identity"
            if mode == "required":
                context.verify_mode = ssl.CERT_NONE
            if files["cert"]:
                context.load_cert_chain(files["cert"], files["key"])
            tls = {"ssl": context}
        return {
            "host": settings["database.hostname"],
            "port": settings["database.port"],
            "user": settings["database.user"],
            "password": "" if password is None else password.value,
            "charset": "utf8mb4",
            "connect_timeout": max(1, settings["connect.timeout.ms"] // 1000),
            "read_timeout": _READ_TIMEOUT_S,
            "write_timeout": _READ_TIMEOUT_S,
            "autocommit": True,
            "conv": dict(encoders),
            "init_command": "SET time_zone = '+00:00'",
            "program_name": "kafkapy-connect",
            **tls,
        }

    def connect(self) -> MySqlSession:
        """Open a session for SQL. Raises LostConnection, ConnectException."""
        import pymysql

        with translated_errors("connecting"):
            session = MySqlSession(pymysql.connect(**self._parameters()))
        for statement in (self._settings["database.initial.statements"] or "").split(";"):
            if statement.strip():
                session.execute(statement)
        return session

    def binlog(self, position: BinlogPosition) -> BinlogSession:
        """Open a session that receives the binary log after a place. Raises LostConnection, ConnectException."""
        session = self.connect()
        try:
            return BinlogSession(session, self._settings, self.server_id, position)
        except BaseException:
            session.close()
            raise


class MySqlSession:
    """Runs SQL; values come as text or bytes. Invariant: outside of a transaction, each statement commits."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def execute(self, statement: str) -> None:
        """Run a statement."""
        with translated_errors(statement), self.connection.cursor() as cursor:
            cursor.execute(statement)

    def rows(self, query: str, values: Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
        """Return the rows of a query, all of them; `values`: for its `%s`."""
        with translated_errors(query), self.connection.cursor() as cursor:
            cursor.execute(query, values)
            return list(cursor.fetchall())

    def value(self, query: str) -> Any:
        """Return the first value of the first row; None: there is none."""
        found = self.rows(query)
        return found[0][0] if found else None

    def stream(self, query: str, fetch_size: int) -> Iterator[tuple[Any, ...]]:
        """Return the rows of a query, of which `fetch_size` are in memory."""
        from pymysql.cursors import SSCursor

        with translated_errors(query):
            cursor = SSCursor(self.connection)
            cursor.execute(query)
            while rows := cursor.fetchmany(fetch_size):
                yield from rows
            cursor.close()

    def close(self) -> None:
        with suppress(Exception):
            self.connection._force_close()  # without a word to a server that may be gone


class BinlogSession:
    """Receives the binary log.

    Invariant: `_buffer` has what was received after the last packet; `_has_checksums` is as the newest file's. The socket
    is read here and no longer by PyMySQL, so that a wait can end without an event, and continue.

    Args:
        session: Which becomes the stream.
        settings: Its pauses.
        server_id: Of this reader.
        position: The place after which events are sent.
    """

    def __init__(
        self, session: MySqlSession, settings: BinlogSettings, server_id: int, position: BinlogPosition
    ) -> None:
        self._session = session
        interval_s = settings["connect.keep.alive.interval.ms"] / 1000 if settings["connect.keep.alive"] else 0.0
        self._silence_s = 3 * interval_s + 5 if interval_s else float("inf")
        for side in ("master", "source"):  # the older and the newer name
            session.execute(f"SET @{side}_binlog_checksum = @@global.binlog_checksum")
            session.execute(f"SET @{side}_heartbeat_period = {int(interval_s * 1e9)}")
        self._has_checksums = str(session.value("SELECT @@global.binlog_checksum")).upper() not in ("NONE", "0")
        session.execute("SET @mariadb_slave_capability = 4")
        flags, file, place = 0, position.file, position.place
        if settings["include.query"] and settings.flavor == "mariadb":
            flags = _SEND_ANNOTATIONS
        if position.gtids:
            file, place = "", 4
            session.execute(f"SET @slave_connect_state = '{position.gtids}'")
            session.execute("SET @slave_gtid_strict_mode = 0")
        request = struct.pack("<IHI", place, flags, server_id) + file.encode()
        with translated_errors("asking for the binary log"):
            session.connection._execute_command(_BINLOG_DUMP, request)
        self._socket: socket.socket = session.connection._sock
        self._buffer = bytearray()
        self._heard_at = time.monotonic()

    def read(self, wait_s: float) -> BinlogEvent | None:
        """Return the next event; None if none comes in time. Raises LostConnection, PurgedLog, ConnectException."""
        deadline = time.monotonic() + wait_s
        data = b""
        while True:
            part = self._packet(deadline if not data else time.monotonic() + _READ_TIMEOUT_S)
            if part is None:
                return None
            data += part
            if len(part) < _LONGEST_PACKET:
                break
        if data[0] == 0:
            return self._event(data[1:])
        if data[0] == 0xFF:
            import pymysql

            with translated_errors("reading the binary log"):
                pymysql.err.raise_mysql_exception(data)
        raise LostConnection("The server has ended the stream of the binary log")

    def _event(self, data: bytes) -> BinlogEvent:
        if data[4] == FORMAT:  # begins a file, and has a checksum in any case
            self._has_checksums = data[-_CHECKSUM_BYTES - 1] == _CRC32
        elif not self._has_checksums:
            return decode_event(data)
        body, checksum = data[:-_CHECKSUM_BYTES], int.from_bytes(data[-_CHECKSUM_BYTES:], "little")
        if self._has_checksums and zlib.crc32(body) != checksum:
            raise ConnectException("An event of the binary log is damaged: its checksum is wrong")
        return decode_event(body)

    def _packet(self, deadline: float) -> bytes | None:
        while True:
            if len(self._buffer) >= 4:
                size = int.from_bytes(self._buffer[:3], "little")
                if len(self._buffer) >= 4 + size:
                    packet = bytes(self._buffer[4 : 4 + size])
                    del self._buffer[: 4 + size]
                    return packet
            if not self._receive(deadline):
                self._check_silence()
                return None

    def _receive(self, deadline: float) -> bool:
        self._socket.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            received = self._socket.recv(1 << 16)
        except (TimeoutError, ssl.SSLWantReadError):
            return False
        except OSError as error:
            raise LostConnection(f"reading the binary log: {error}") from error
        if not received:
            raise LostConnection("The server has closed the connection")
        self._buffer += received
        self._heard_at = time.monotonic()
        return True

    def _check_silence(self) -> None:
        silent_s = time.monotonic() - self._heard_at
        if silent_s > self._silence_s:
            self._heard_at = time.monotonic()
            raise LostConnection(f"The server has sent nothing for {silent_s:.0f} s (connect.keep.alive.interval.ms)")

    def close(self) -> None:
        self._session.close()
