"""The PostgreSQL connector (Debezium's `PostgresConnector`), and its one task."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.postgresql.capture import Capture
from kafkapy.connect.connectors.postgresql.change_stream import CapturedRecord, RecordMaker, source_partition
from kafkapy.connect.connectors.postgresql.config_table import CONFIG_DEF, read_options
from kafkapy.connect.connectors.postgresql.database import LostConnection
from kafkapy.connect.connectors.postgresql.event_schemas import (
    CONNECTOR_VERSION,
    HEARTBEAT_KEY_SCHEMA,
    HEARTBEAT_VALUE_SCHEMA,
)
from kafkapy.connect.connectors.postgresql.events import ChangeEvent
from kafkapy.connect.connectors.postgresql.position import StreamPosition
from kafkapy.connect.connectors.postgresql.settings import CaptureSettings
from kafkapy.connect.connectors.postgresql.snapshot import SnapshotProgress
from kafkapy.connect.connectors.required_packages import require
from kafkapy.connect.connectors.unused_configs import warn_of_unused
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.source import ExactlyOnceSupport, SourceConnector, SourceTask
from kafkapy.producer.future import RecordMetadata

log: Final = logging.getLogger("kafkapy.connect.connectors.postgresql")
_STEP_S: Final = 0.5
"""The longest wait of a poll, so that the task can be stopped."""


class PostgresConnector(SourceConnector):
    """Captures the rows of tables, and each change of them from then on.

    It has one task: a slot has one reader. The configs, with types and defaults, are those of `CONFIG_DEF`.

    Example:
        >>> config = {"database.hostname": "db", "database.user": "u", "database.dbname": "d", "topic.prefix": "shop"}
        >>> connector = PostgresConnector()
        >>> connector.start(config)
        >>> connector.task_configs(5) == [config]
        True
    """

    java_class = "io.debezium.connector.postgresql.PostgresConnector"

    def version(self) -> str:
        return CONNECTOR_VERSION

    def check(self, config: Mapping[str, str]) -> None:
        require("connect-cdc", "psycopg2", "The PostgreSQL connector")
        CaptureSettings.of(config)

    def start(self, config: Mapping[str, str]) -> None:
        """Raises ConfigException or ConnectException for a config that is wrong."""
        self.check(config)
        self._config = dict(config)
        warn_of_unused(config, read_options())

    def task_class(self) -> type[SourceTask]:
        return PostgresConnectorTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [self._config]

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return CONFIG_DEF

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def alter_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]
    ) -> bool:
        known = source_partition(CaptureSettings.of(config))
        for partition, offset in offsets:
            if partition != known:
                raise ConnectException(f"The partition of this connector is {known}, not {partition}")
            if offset is not None and SnapshotProgress.of(offset) is None:
                StreamPosition.of(offset)
        return True


class PostgresConnectorTask(SourceTask):
    """Reads the database.

    Invariant: `_failures` counts the connections that were lost since a poll succeeded.
    """

    java_class = "io.debezium.connector.postgresql.PostgresConnectorTask"

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._capture: Capture | None = None
        self._failures = 0
        self._retry_at = 0.0

    def version(self) -> str:
        return CONNECTOR_VERSION

    def start(self, config: Mapping[str, str]) -> None:
        self._settings = CaptureSettings.of(config)
        partition = source_partition(self._settings)
        self._capture = Capture(self._settings, self.context.offset_storage_reader().offset(partition))
        self._heartbeats = CaptureHeartbeats(self._settings)
        self._max_batch: int = self._settings["max.batch.size"]
        self._wait_s = self._settings["poll.interval.ms"] / 1000

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

    def _poll(self, capture: Capture) -> list[SourceRecord]:
        if not capture.is_connected:
            capture.connect()
        capture.confirm()
        beats = self._heartbeats.due(capture)
        if beats:
            return [*beats]
        records = capture.read(self._max_batch, self._wait_s)
        self._failures = 0
        return [*records]

    def _lost(self, capture: Capture, error: LostConnection) -> None:
        self._failures += 1
        capture.disconnect()
        most: int = self._settings["errors.max.retries"]
        if 0 <= most < self._failures:
            raise ConnectException(f"The connection was lost {self._failures} times: {error}") from error
        longest = self._settings["retriable.restart.connector.wait.ms"]
        pause = min(self._settings["retry.backoff.ms"] * 2 ** min(self._failures - 1, 20), longest)
        log.warning("The connection to PostgreSQL is lost; trying again in %d ms: %s", pause, error)
        self._retry_at = time.monotonic() + pause / 1000

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        if isinstance(record, CapturedRecord) and self._capture is not None:
            self._capture.ledger.delivered(record.number)

    def commit(self) -> None:
        if self._capture is not None:
            self._capture.ledger.committed()

    def stop(self) -> None:
        self._stopped.set()
        capture = self._capture
        if capture is None:
            return
        try:
            if capture.is_connected:
                capture.confirm()
            capture.disconnect()
            if self._settings["slot.drop.on.stop"]:
                capture.drop_slot()
        except (LostConnection, ConnectException) as error:
            log.warning("The end of the task could not be told to PostgreSQL: %s", error)


class CaptureHeartbeats:
    """Makes the records of the heartbeat topic. Invariant: the next one is due at `_next`.

    Args:
        settings: The interval, the topic and the query.
    """

    def __init__(self, settings: CaptureSettings) -> None:
        self._settings = settings
        self._interval_s: float = settings["heartbeat.interval.ms"] / 1000
        self._next = 0.0

    def due(self, capture: Capture) -> list[CapturedRecord]:
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
        return [RecordMaker(self._settings, capture.ledger).record(event, offset)]
