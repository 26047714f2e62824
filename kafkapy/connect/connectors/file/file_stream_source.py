"""Reads lines of a file, or of the standard input, into a topic (Kafka's `FileStreamSourceConnector`)."""

from __future__ import annotations

import logging
import os
import select
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kafkapy.common.config_def import Importance
from kafkapy.common.config_validators import NonEmptyString
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.file.line_reader import Line, LineReader
from kafkapy.connect.data.schema import STRING_SCHEMA
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.java_classes import KAFKA, VERSION
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.source import ExactlyOnceSupport, SourceConnector, SourceTask

log = logging.getLogger("kafkapy.connect.connectors.file")

FILE, TOPIC, BATCH_SIZE = "file", "topic", "batch.size"
FILENAME, POSITION = "filename", "position"
_CHUNK: Final = 256 * 1024
_WAIT_S: Final = 1.0

CONFIG_DEF: Final = (
    ConfigDef()
    .define(
        FILE, ConfigType.STRING, None, importance=Importance.HIGH, doc="File that is read. Default: the standard input."
    )
    .define(
        TOPIC,
        ConfigType.STRING,
        validator=NonEmptyString(),
        importance=Importance.HIGH,
        doc="Topic that gets the lines.",
    )
    .define(
        BATCH_SIZE,
        ConfigType.INT,
        2000,
        importance=Importance.LOW,
        doc="The largest number of lines that are read at once.",
    )
)


class FileStreamSourceConnector(SourceConnector):
    """One task reads the file from its last position, and waits for what is appended.

    A line becomes a record with a value, a string, and without a key. `position` counts bytes, so that lines of any text
    are read once after a restart; Kafka's own counts characters, which is the same for ASCII.

    Example:
        >>> FileStreamSourceConnector().config().names() == {"file", "topic", "batch.size"}
        True
    """

    java_class = f"{KAFKA}file.FileStreamSourceConnector"

    def version(self) -> str:
        return VERSION

    def start(self, config: Mapping[str, str]) -> None:
        self._config = dict(config)
        log.info("Reading lines of %s", CONFIG_DEF.parse(config)[FILE] or "the standard input")

    def task_class(self) -> type[SourceTask]:
        return FileStreamSourceTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [self._config]

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return CONFIG_DEF

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        """Supported for a file, unless something else than appending happens to it; not for the standard input."""
        return ExactlyOnceSupport.SUPPORTED if CONFIG_DEF.parse(config)[FILE] else ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]
    ) -> bool:
        """A partition is a filename, an offset is a position in bytes."""
        if not CONFIG_DEF.parse(config)[FILE]:
            raise ConnectException(
                f"Offsets cannot be modified if the '{FILE}' configuration is unspecified. "
                "This is because stdin is used for input and offsets are not tracked."
            )
        for partition, offset in offsets:
            if offset is not None:
                _check_offset(partition, offset)
        return True


def _check_offset(partition: Mapping[str, Any] | None, offset: Mapping[str, Any]) -> None:
    if POSITION not in offset:
        raise ConnectException(f"Offset objects should either be null or contain the key '{POSITION}'")
    position = offset[POSITION]
    if not _is_long(position):
        raise ConnectException(f"The value for the '{POSITION}' key in the offset is expected to be a Long value")
    if position < 0:
        raise ConnectException(f"The value for the '{POSITION}' key in the offset should be a non-negative value")
    if partition is None:
        raise ConnectException("Partition objects cannot be null")
    if FILENAME not in partition:
        raise ConnectException(f"Partition objects should contain the key '{FILENAME}'")


def _is_long(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class FileStreamSourceTask(SourceTask):
    """Reads one file.

    Invariant: `_fd` is open while `_reader` is set; `_lines` have been read and not been returned yet. `_position` is where
    the last returned line ends, None for the standard input.
    """

    java_class = f"{KAFKA}file.FileStreamSourceTask"

    def __init__(self) -> None:
        self._filename: str | None = None
        self._topic = ""
        self._batch_size = 0
        self._fd: int | None = None
        self._reader: LineReader | None = None
        self._lines: deque[Line] = deque()
        self._stopped = threading.Event()

    def version(self) -> str:
        return VERSION

    def start(self, config: Mapping[str, str]) -> None:
        known = CONFIG_DEF.parse(config)
        self._filename = known[FILE] or None
        self._topic = known[TOPIC]
        self._batch_size = max(1, known[BATCH_SIZE])
        if self._filename is None:
            self._fd = sys.stdin.fileno()
            self._reader = LineReader(0)

    def poll(self) -> list[SourceRecord] | None:
        """Return at most `batch.size` lines; waits a second if there are none."""
        if self._reader is None and not self._open():
            self._stopped.wait(_WAIT_S)
            return None
        while len(self._lines) < self._batch_size:
            data = self._read()
            if not data:
                break
            self._lines.extend(self._reader.feed(data))  # type: ignore[union-attr]
        if self._lines:
            return self._take()
        self._stopped.wait(_WAIT_S)
        return None

    def stop(self) -> None:
        self._stopped.set()
        if self._filename is not None and self._fd is not None:
            os.close(self._fd)
        self._fd = self._reader = None

    def _open(self) -> bool:
        """Returns whether the file is there."""
        assert self._filename is not None
        try:
            fd = os.open(self._filename, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            log.warning("There is no file %s yet", self._filename)
            return False
        except OSError as error:
            raise ConnectException.of(error) from error
        try:
            position = self._last_position()
            if position > os.fstat(fd).st_size:
                log.warning("File %s ends before position %d; it is read when it grows", self._filename, position)
            if position:
                os.lseek(fd, position, os.SEEK_SET)
        except BaseException:
            os.close(fd)
            raise
        self._fd, self._reader = fd, LineReader(position)
        return True

    def _last_position(self) -> int:
        offset = self.context.offset_storage_reader().offset({FILENAME: self._filename})
        position = None if offset is None else offset.get(POSITION)
        if position is None:
            return 0
        if not _is_long(position):
            raise ConnectException("Offset position is the incorrect type")
        return int(position)

    def _read(self) -> bytes:
        """Return the bytes that are there, none if there are none yet."""
        if self._fd is None:
            return b""
        try:
            if self._filename is None and not select.select([self._fd], [], [], 0)[0]:
                return b""
            return os.read(self._fd, _CHUNK)
        except OSError as error:
            raise ConnectException.of(error) from error

    def _take(self) -> list[SourceRecord]:
        lines, partition, topic = self._lines, {FILENAME: self._filename}, self._topic
        now = int(time.time() * 1000)
        has_position = self._filename is not None
        return [
            SourceRecord(
                partition,
                {POSITION: line.end if has_position else None},
                topic,
                value_schema=STRING_SCHEMA,
                value=line.text,
                timestamp=now,
            )
            for line in (lines.popleft() for _ in range(min(len(lines), self._batch_size)))
        ]
