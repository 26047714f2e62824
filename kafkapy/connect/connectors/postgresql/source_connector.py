"""The PostgreSQL connector (Debezium's `PostgresConnector`), and its one task."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.debezium.capture_task import CaptureTask, LostConnection
from kafkapy.connect.connectors.debezium.event_schemas import (
    CONNECTOR_VERSION,
)
from kafkapy.connect.connectors.postgresql.capture import Capture
from kafkapy.connect.connectors.postgresql.change_stream import CapturedRecord, source_partition
from kafkapy.connect.connectors.postgresql.config_table import CONFIG_DEF, read_options
from kafkapy.connect.connectors.postgresql.position import StreamPosition
from kafkapy.connect.connectors.postgresql.settings import CaptureSettings
from kafkapy.connect.connectors.postgresql.snapshot import SnapshotProgress
from kafkapy.connect.connectors.required_packages import require
from kafkapy.connect.connectors.unused_configs import warn_of_unused
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


class PostgresConnectorTask(CaptureTask):
    """Reads a PostgreSQL database."""

    java_class = "io.debezium.connector.postgresql.PostgresConnectorTask"
    server = "PostgreSQL"

    def start(self, config: Mapping[str, str]) -> None:
        settings = CaptureSettings.of(config)
        offset = self.context.offset_storage_reader().offset(source_partition(settings))
        self._postgresql = Capture(settings, offset)
        self.begin(settings, self._postgresql)

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        if isinstance(record, CapturedRecord):
            self._postgresql.ledger.delivered(record.number)

    def commit(self) -> None:
        self._postgresql.ledger.committed()

    def stop(self) -> None:
        self._stopped.set()
        if self._capture is None:
            return
        capture = self._postgresql
        try:
            if capture.is_connected:
                capture.confirm()
            capture.disconnect()
            if self._settings["slot.drop.on.stop"]:
                capture.drop_slot()
        except (LostConnection, ConnectException) as error:
            log.warning("The end of the task could not be told to PostgreSQL: %s", error)
