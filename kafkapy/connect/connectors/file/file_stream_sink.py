"""Writes records as lines of a file, or of the standard output (Kafka's `FileStreamSinkConnector`)."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from typing import BinaryIO, Final

from kafkapy.common.config_def import Importance
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.data.java_str import java_str
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.java_classes import KAFKA, VERSION
from kafkapy.connect.records import SinkRecord
from kafkapy.connect.sink import SinkConnector, SinkTask
from kafkapy.structs import OffsetAndMetadata

log = logging.getLogger("kafkapy.connect.connectors.file")

FILE = "file"
_BUFFER: Final = 256 * 1024

CONFIG_DEF: Final = ConfigDef().define(
    FILE,
    ConfigType.STRING,
    None,
    importance=Importance.HIGH,
    doc="File that is written. Default: the standard output.",
)


class FileStreamSinkConnector(SinkConnector):
    """Each task appends the values of its records to the file, as Java's `toString` writes them.

    Example:
        >>> connector = FileStreamSinkConnector()
        >>> connector.start({"file": "lines.txt"})
        >>> connector.task_configs(2)
        [{'file': 'lines.txt'}, {'file': 'lines.txt'}]
    """

    java_class = f"{KAFKA}file.FileStreamSinkConnector"

    def version(self) -> str:
        return VERSION

    def start(self, config: Mapping[str, str]) -> None:
        self._config = dict(config)
        log.info("Writing lines to %s", CONFIG_DEF.parse(config)[FILE] or "the standard output")

    def task_class(self) -> type[SinkTask]:
        return FileStreamSinkTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [self._config] * max_tasks

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return CONFIG_DEF

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Every offset will do: they are the consumer group's only."""
        return True


class FileStreamSinkTask(SinkTask):
    """Appends lines. A file that cannot be written fails the task, and offsets are not committed.

    Invariant: `_file` is None for the standard output.
    """

    java_class = f"{KAFKA}file.FileStreamSinkTask"

    def __init__(self) -> None:
        self._file: BinaryIO | None = None

    def version(self) -> str:
        return VERSION

    def start(self, config: Mapping[str, str]) -> None:
        name = CONFIG_DEF.parse(config)[FILE]
        if not name:
            return
        try:
            self._file = open(name, "ab", _BUFFER)  # noqa: SIM115  # closed by `stop`
        except OSError as error:
            raise ConnectException(f"Couldn't find or create file '{name}' for FileStreamSinkTask") from error

    def put(self, records: Sequence[SinkRecord]) -> None:
        text = "".join(f"{java_str(record.value)}\n" for record in records)
        if self._file is None:
            sys.stdout.write(text)
        else:
            self._file.write(text.encode("utf-8", "replace"))

    def flush(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        (sys.stdout if self._file is None else self._file).flush()

    def stop(self) -> None:
        if self._file is not None:
            self._file.close()
