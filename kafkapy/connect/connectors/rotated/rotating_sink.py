"""Writes records to files that end by size or time."""

from __future__ import annotations

import contextlib
import gzip
import logging
import os
import re
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.config_validators import NonEmptyString, OneOf, Range
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.uniform_sink import UniformSinkConnector
from kafkapy.connect.converters.json_writer import JsonDataWriter
from kafkapy.connect.data.java_str import java_str
from kafkapy.connect.errors import ConnectException, DataException, RetriableException
from kafkapy.connect.java_classes import VERSION
from kafkapy.connect.records import SinkRecord
from kafkapy.connect.sink import SinkTask
from kafkapy.structs import OffsetAndMetadata

log = logging.getLogger("kafkapy.connect.connectors.rotated")

_ROWS: Final[tuple[tuple[str, ConfigType, Any, Any, str], ...]] = (
    ("format", ConfigType.STRING, "lines", OneOf("lines", "json"), "lines (texts and bytes as they are) or json."),
    ("compression.type", ConfigType.STRING, "none", OneOf("none", "gzip", "zstd"), "Of files."),
    ("rotate.size.bytes", ConfigType.LONG, 64 << 20, Range(1, None), "A file ends at this size, before compression."),
    ("rotate.interval.ms", ConfigType.LONG, 60_000, Range(1, None), "A file ends after this time."),
)
_EXTENSIONS: Final = {"none": "", "gzip": ".gz", "zstd": ".zst"}
_JSON: Final = JsonDataWriter(True, True)
_RETRY_MS: Final = 1000
_MOST_RETRIES: Final = 60


def _definitions() -> ConfigDef:
    doc = "Folder of the files; it is made."
    definitions = ConfigDef().define("directory", validator=NonEmptyString(), importance=Importance.HIGH, doc=doc)
    for name, kind, default, validator, doc in _ROWS:
        definitions.define(name, kind, default, validator=validator, doc=doc)
    return definitions


class _PartitionFile:
    """The file of a partition that is being written, with a hidden name.

    Invariant: `first` and `last` are the offsets of its records; `size` is that of their lines.
    """

    def __init__(self, path: Path, compression: str, first: int, now: float) -> None:
        self.path, self.first, self.last, self.size, self.opened = path, first, first, 0, now
        self._raw: BinaryIO = path.open("wb")
        self._file = _compressed(self._raw, compression)

    def write(self, line: bytes, offset: int) -> None:
        self._file.write(line)
        self.size += len(line)
        self.last = offset

    def finish(self, path: Path) -> None:
        """Complete the file on disk and give it its name."""
        if self._file is not self._raw:
            self._file.close()
        self._raw.flush()
        os.fsync(self._raw.fileno())
        self._raw.close()
        self.path.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # the name, too
        finally:
            os.close(folder)

    def discard(self) -> None:
        with contextlib.suppress(OSError):
            self._raw.close()
        self.path.unlink(missing_ok=True)


def _compressed(raw: BinaryIO, compression: str) -> BinaryIO:
    if compression == "gzip":
        return cast(BinaryIO, gzip.GzipFile("", "wb", fileobj=raw, mtime=0))
    if compression == "zstd":
        from kafkapy.connect.connectors.rotated.followed_file import zstd_file

        return zstd_file(raw, "wb")
    return raw


class FileRotatingSinkTask(SinkTask):
    """Writes a file for each partition.

    The offsets in the names of files say what was written, so that a second attempt writes no record again.

    Invariant: `_files` has the open file of each partition with records that are in no complete file; `_done` the offset
    after the last complete file, for partitions that have had records. `_failures` counts the calls of `put` since one
    succeeded: if there is any, records may come again that are in a file already. `_rewound` has the offset of each
    partition that is read again from there on, in the next `put`.
    """

    java_class = "kafkapy.connect.FileRotatingSinkTask"

    def __init__(self) -> None:
        self._files: dict[TopicPartition, _PartitionFile] = {}
        self._done: dict[TopicPartition, int] = {}
        self._failures = 0
        self._rewound: dict[TopicPartition, int] = {}
        self._clock: Callable[[], float] = time.monotonic

    def version(self) -> str:
        return VERSION

    def start(self, config: Mapping[str, str]) -> None:
        known = _definitions().parse(config)
        self._directory = Path(known["directory"])
        self._is_json: bool = known["format"] == "json"
        self._compression: str = known["compression.type"]
        self._extension = (".json" if self._is_json else ".txt") + _EXTENSIONS[self._compression]
        self._most_bytes: int = known["rotate.size.bytes"]
        self._most_s: float = known["rotate.interval.ms"] / 1000
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConnectException(f"The folder {self._directory} cannot be made: {error}") from error

    def put(self, records: Sequence[SinkRecord]) -> None:
        if not self._failures:
            self._rewound.clear()
        try:
            self._check_files()
            for record in records:
                self._write(record)
            now = self._clock()
            for partition in [each for each, file in self._files.items() if now - file.opened >= self._most_s]:
                self._finish(partition)
        except OSError as error:
            raise ConnectException(f"A file in {self._directory} cannot be written: {error}") from error
        self._failures = 0
        if self._files:
            first = min(file.opened for file in self._files.values())
            self.context.timeout(max(100.0, (first + self._most_s - self._clock()) * 1000))

    def _check_files(self) -> None:
        """Check that no other task has removed an open file, as the next owner of a partition does.

        Raises:
            RetriableException: One is gone; the worker hears of the new owner soon, and closes the partition.
            ConnectException: That does not happen: something else removes files.
        """
        for partition, file in self._files.items():
            if file.path.exists():
                continue
            self._failures += 1
            message = f"The open file of {partition} in {self._directory} was removed"
            if self._failures > _MOST_RETRIES:
                raise ConnectException(f"{message}, and not by another task of this connector")
            self.context.timeout(_RETRY_MS)
            raise RetriableException(f"{message}; another task has the partition now")

    def _write(self, record: SinkRecord) -> None:
        partition = TopicPartition(record.original_topic or "", record.original_kafka_partition or 0)
        offset = record.original_kafka_offset
        if partition in self._rewound:
            return
        file = self._files.get(partition)
        if file is not None and offset <= file.last:
            if self._failures:
                return  # it is there from the attempt that failed
            self._files.pop(partition).discard()  # the consumer went back
            file = None
        if partition not in self._done:
            self._done[partition] = self._end_of_files(partition)
        if offset < self._done[partition]:
            return
        try:
            line = self._line(record)
        except DataException as error:
            reporter = self.context.errant_record_reporter()
            if reporter is None:
                raise
            reporter.report(record, error)
            return
        if file is None:
            path = self._directory / f".{partition.topic}+{partition.partition}+{uuid.uuid4().hex}.tmp"
            file = self._files[partition] = _PartitionFile(path, self._compression, offset, self._clock())
        file.write(line, offset)
        if file.size >= self._most_bytes:
            self._finish(partition)

    def _line(self, record: SinkRecord) -> bytes:
        if self._is_json:
            return _JSON.text(record.value_schema, record.value).encode("utf-8", "replace") + b"\n"
        value = record.value
        return (value if isinstance(value, bytes) else java_str(value).encode("utf-8", "replace")) + b"\n"

    def _finish(self, partition: TopicPartition) -> None:
        """Complete the file. If another task has written its records meanwhile, go on after those instead."""
        self._check_files()
        file = self._files[partition]
        done = self._end_of_complete_files(partition)
        if done > file.first:
            log.warning("Records of %s up to offset %d were written by another task", partition, done - 1)
            self._files.pop(partition).discard()
            self._rewound[partition] = self._done[partition] = done
            self.context.offset(partition, done)
            return
        name = f"{partition.topic}+{partition.partition}+{file.first:010}+{file.last:010}{self._extension}"
        file.finish(self._directory / name)
        del self._files[partition]
        self._done[partition] = file.last + 1

    def _end_of_files(self, partition: TopicPartition) -> int:
        """Return where to go on, and remove incomplete files: what wrote them has ended, or must not complete them."""
        begin = re.escape(f"{partition.topic}+{partition.partition}+")
        for path in self._directory.iterdir():
            if re.fullmatch(rf"\.{begin}[0-9a-f]+\.tmp", path.name):
                path.unlink(missing_ok=True)
        end = self._end_of_complete_files(partition)
        if end:
            log.info("%s goes on after offset %d, which is in a file of %s", partition, end - 1, self._directory)
        return end

    def _end_of_complete_files(self, partition: TopicPartition) -> int:
        """Return the offset after the last one that is in a complete file of the folder; 0 without one."""
        name = re.compile(
            rf"{re.escape(f'{partition.topic}+{partition.partition}+')}\d+\+(\d+)\.(?:txt|json)(?:\.gz|\.zst)?"
        )
        ends = [int(match[1]) + 1 for each in os.listdir(self._directory) if (match := name.fullmatch(each))]
        return max(ends, default=0)

    def pre_commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """Return the offsets up to which all is in complete files."""
        ends = {**self._rewound, **{partition: file.first for partition, file in self._files.items()}}
        return {
            partition: OffsetAndMetadata(min(ends[partition], at.offset)) if partition in ends else at
            for partition, at in offsets.items()
        }

    def close(self, partitions: Collection[TopicPartition]) -> None:
        for partition in partitions:
            self._done.pop(partition, None)
            self._rewound.pop(partition, None)
            if file := self._files.pop(partition, None):
                file.discard()

    def stop(self) -> None:
        self.close(list(self._files))


class FileRotatingSinkConnector(UniformSinkConnector):
    """Writes lines to files of a folder; a file appears when it is complete. See docs/connect_http.md.

    Records of files that are in the folder are not written again, even if the group's offsets were changed.

    Example:
        >>> FileRotatingSinkConnector().config()["rotate.interval.ms"].default
        60000
    """

    java_class = "kafkapy.connect.FileRotatingSinkConnector"
    task = FileRotatingSinkTask

    def check_values(self, known: Mapping[str, Any], config: Mapping[str, str]) -> None:
        directory = known["directory"]
        if not os.path.isabs(directory):
            raise ConfigException.invalid("directory", directory, "Expected an absolute path.")

    def config(self) -> ConfigDef:
        return _definitions()
