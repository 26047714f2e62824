"""The connectors to MySQL and MariaDB (Debezium's), and their tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.debezium.capture_task import CaptureTask
from kafkapy.connect.connectors.debezium.event_schemas import CONNECTOR_VERSION
from kafkapy.connect.connectors.mysql.capture import BinlogCapture, source_partition
from kafkapy.connect.connectors.mysql.config_table import CONFIG_DEF, UNNEEDED_PREFIXES, read_options
from kafkapy.connect.connectors.mysql.position import BinlogPosition
from kafkapy.connect.connectors.mysql.settings import BinlogSettings
from kafkapy.connect.connectors.mysql.snapshot import BinlogSnapshotProgress
from kafkapy.connect.connectors.unused_configs import warn_of_unused
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.source import ExactlyOnceSupport, SourceConnector, SourceTask


class MySqlConnectorTask(CaptureTask):
    """Reads a MySQL server."""

    java_class = "io.debezium.connector.mysql.MySqlConnectorTask"
    server = "MySQL"
    flavor: ClassVar[str] = "mysql"

    def start(self, config: Mapping[str, str]) -> None:
        settings = BinlogSettings.of(config, self.flavor)
        offset = self.context.offset_storage_reader().offset(source_partition(settings))
        self.begin(settings, BinlogCapture(settings, offset))


class MariaDbConnectorTask(MySqlConnectorTask):
    """Reads a MariaDB server."""

    java_class = "io.debezium.connector.mariadb.MariaDbConnectorTask"
    server = "MariaDB"
    flavor = "mariadb"


class MySqlConnector(SourceConnector):
    """Captures the rows of a MySQL server's tables, and each change of them from then on.

    It has one task: the binary log is one stream. The configs, with types and defaults, are those of `CONFIG_DEF`.

    Example:
        >>> config = {"database.hostname": "db", "database.user": "u", "topic.prefix": "dbs"}
        >>> connector = MySqlConnector()
        >>> connector.start(config)
        >>> connector.task_configs(5) == [config]
        True
    """

    java_class = "io.debezium.connector.mysql.MySqlConnector"
    task: ClassVar[type[MySqlConnectorTask]] = MySqlConnectorTask

    def version(self) -> str:
        return CONNECTOR_VERSION

    def start(self, config: Mapping[str, str]) -> None:
        """Raises ConfigException or ConnectException for a config that is wrong."""
        BinlogSettings.of(config, self.task.flavor)
        self._config = dict(config)
        warn_of_unused(config, read_options(), UNNEEDED_PREFIXES)

    def task_class(self) -> type[SourceTask]:
        return self.task

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
        known = source_partition(BinlogSettings.of(config, self.task.flavor))
        for partition, offset in offsets:
            if partition != known:
                raise ConnectException(f"The partition of this connector is {known}, not {partition}")
            if offset is not None and BinlogSnapshotProgress.of(offset) is None:
                BinlogPosition.of(offset)
        return True


class MariaDbConnector(MySqlConnector):
    """Captures the rows of a MariaDB server's tables, and each change of them from then on.

    Example:
        >>> MariaDbConnector().version()
        '3.0.8.Final'
    """

    java_class = "io.debezium.connector.mariadb.MariaDbConnector"
    task = MariaDbConnectorTask
