"""The task of a connector that captures changes: pauses after lost connections, and heartbeats."""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final

from kafkapy.connect.connectors.debezium.change_events import ChangeEvent
from kafkapy.connect.connectors.debezium.event_schemas import (
    CONNECTOR_VERSION,
    HEARTBEAT_KEY_SCHEMA,
    HEARTBEAT_VALUE_SCHEMA,
)
from kafkapy.connect.connectors.debezium.settings import DebeziumSettings
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.source import SourceTask

log: Final = logging.getLogger("kafkapy.connect.connectors.debezium")
_STEP_S: Final = 0.5
"""The longest wait of a poll, so that the task can be stopped."""


class LostConnection(Exception):
    """The server cannot be reached, or has ended the session: the same can be tried again."""


class DatabaseCapture(ABC):
    """What reads a database: a snapshot if one is due, then its changes.

    Invariant: `_failure` is an error whose records before it were returned; the next `read` raises it.
    """

    def __init__(self) -> None:
        self._failure: Exception | None = None

    @property
    @abstractmethod
    def is_connected(self) -> bool:
        """Whether `connect` has succeeded since the last `disconnect`."""

    @property
    @abstractmethod
    def is_finished(self) -> bool:
        """Whether nothing more is to be read."""

    @property
    @abstractmethod
    def offset(self) -> dict[str, Any] | None:
        """The offset of the last record; None: nothing is captured yet."""

    @abstractmethod
    def connect(self) -> None:
        """Connect, and begin or continue. Raises LostConnection, ConnectException."""

    def read(self, limit: int, wait_s: float) -> Sequence[SourceRecord]:
        """Return the next records.

        Args:
            limit: At most so many, or a few more: those of one change come together.
            wait_s: How long to wait for the first one.

        Raises:
            LostConnection: Nothing is lost: `disconnect` and `connect` continue at the same place.
            ConnectException: A change cannot be represented, or the server refuses.
        """
        failure, self._failure = self._failure, None
        found: list[SourceRecord] = []
        if failure is None:
            try:
                self._read(limit, wait_s, found)
            except (LostConnection, ConnectException) as error:
                failure = error
        if failure is not None and found:
            self._failure = failure  # what is read already comes first
        elif failure is not None:
            self._failed(failure)
        return found

    @abstractmethod
    def _read(self, limit: int, wait_s: float, found: list[SourceRecord]) -> None:
        """Add the next records to `found`. Raises as `read` does."""

    def _failed(self, error: Exception) -> None:
        """Raise the error of a `read`, or another one in its place."""
        raise error

    @abstractmethod
    def record(self, event: ChangeEvent, offset: dict[str, Any]) -> SourceRecord:
        """Return an event as a record."""

    @abstractmethod
    def execute(self, statement: str) -> None:
        """Run SQL for a heartbeat. Raises LostConnection, ConnectException."""

    @abstractmethod
    def disconnect(self) -> None:
        """Close all sessions; `connect` continues."""

    def confirm(self) -> None:  # noqa: B027 (most servers keep nothing)
        """Tell the server what it need not keep, if it keeps anything for the connector. Raises LostConnection."""


class CaptureTask(SourceTask):
    """Reads a database.

    Invariant: `_failures` counts the connections that were lost since a poll succeeded.
    """

    server = "the server"

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._capture: DatabaseCapture | None = None
        self._failures = 0
        self._retry_at = 0.0

    def version(self) -> str:
        return CONNECTOR_VERSION

    def begin(self, settings: DebeziumSettings, capture: DatabaseCapture) -> None:
        """Begin to read; called by `start`."""
        self._settings, self._capture = settings, capture
        self._heartbeats = CaptureHeartbeats(settings)
        self._max_batch: int = settings["max.batch.size"]
        self._wait_s = settings["poll.interval.ms"] / 1000

    def poll(self) -> list[SourceRecord] | None:
        """Return the next records. A lost connection is tried again, and only logged until `errors.max.retries` is reached."""
        assert self._capture is not None
        left = self._retry_at - time.monotonic()
        if self._capture.is_finished or left > 0:
            self._stopped.wait(min(left, _STEP_S) if left > 0 else self._wait_s)
            return None
        try:
            return self._poll(self._capture) or None
        except LostConnection as error:
            self._lost(self._capture, error)
            return None

    def _poll(self, capture: DatabaseCapture) -> list[SourceRecord]:
        if not capture.is_connected:
            capture.connect()
        capture.confirm()
        beats = self._heartbeats.due(capture)
        if beats:
            return beats
        records = capture.read(self._max_batch, self._wait_s)
        self._failures = 0
        return [*records]

    def _lost(self, capture: DatabaseCapture, error: LostConnection) -> None:
        self._failures += 1
        capture.disconnect()
        most: int = self._settings["errors.max.retries"]
        if 0 <= most < self._failures:
            raise ConnectException(f"The connection was lost {self._failures} times: {error}") from error
        longest = self._settings["retriable.restart.connector.wait.ms"]
        pause = min(self._settings["retry.backoff.ms"] * 2 ** min(self._failures - 1, 20), longest)
        log.warning("The connection to %s is lost; trying again in %d ms: %s", self.server, pause, error)
        self._retry_at = time.monotonic() + pause / 1000

    def stop(self) -> None:
        self._stopped.set()
        if self._capture is not None:
            self._capture.disconnect()


class CaptureHeartbeats:
    """Makes the records of the heartbeat topic. Invariant: the next one is due at `_next`.

    Args:
        settings: The interval, the topic and the query.
    """

    def __init__(self, settings: DebeziumSettings) -> None:
        self._settings = settings
        self._interval_s: float = settings["heartbeat.interval.ms"] / 1000
        self._next = 0.0

    def due(self, capture: DatabaseCapture) -> list[SourceRecord]:
        """Return the record that is due, if one is, and run the query. Raises LostConnection."""
        offset = capture.offset
        if not self._interval_s or offset is None or time.monotonic() < self._next:
            return []
        self._next = time.monotonic() + self._interval_s
        if query := self._settings["heartbeat.action.query"]:
            capture.execute(query)
        event = ChangeEvent(
            self._settings.heartbeat_topic,
            HEARTBEAT_KEY_SCHEMA,
            Struct(HEARTBEAT_KEY_SCHEMA, {"serverName": self._settings.prefix}),
            HEARTBEAT_VALUE_SCHEMA,
            Struct(HEARTBEAT_VALUE_SCHEMA, {"ts_ms": time.time_ns() // 1_000_000}),
        )
        return [capture.record(event, offset)]
