"""Reads files by patterns: rotated, compressed, of lines, JSON or CSV."""

from __future__ import annotations

import glob
import logging
import os
import re
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.config_validators import NonEmptyString, OneOf, Range
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.config.validators import NonEmptyList
from kafkapy.connect.connectors.rotated.followed_file import FilePlace, FollowedFile, inode_of
from kafkapy.connect.connectors.rotated.records_of_lines import CSV, FORMATS, LINES, LineJoiner, RecordParser
from kafkapy.connect.connectors.unused_configs import warn_of_unused
from kafkapy.connect.data.schema import STRING_SCHEMA
from kafkapy.connect.errors import ConnectException, DataException
from kafkapy.connect.headers import Headers
from kafkapy.connect.java_classes import VERSION
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.source import ExactlyOnceSupport, SourceConnector, SourceTask

log = logging.getLogger("kafkapy.connect.connectors.rotated")

_CHUNK: Final = 64 * 1024
_TASK, _TASKS = "task.number", "task.count"
_ROWS: Final[tuple[tuple[str, ConfigType, Any, Any, str], ...]] = (
    ("files.exclude", ConfigType.LIST, [], None, "Patterns of files that are not read."),
    (
        "format",
        ConfigType.STRING,
        LINES,
        OneOf(*FORMATS),
        "lines, json (an object in each line) or csv (with a header).",
    ),
    ("csv.delimiter", ConfigType.STRING, ",", NonEmptyString(), "Between columns."),
    ("multiline.pattern", ConfigType.STRING, "", None, "Matches the first line of a record; others continue it."),
    ("multiline.timeout.ms", ConfigType.LONG, 1000, Range(0, None), "When a record that may continue is complete."),
    ("max.record.bytes", ConfigType.INT, 1 << 20, Range(1, None), "The longest record."),
    ("behavior.on.error", ConfigType.STRING, "fail", OneOf("fail", "log"), "For lines that are no JSON or CSV."),
    ("path.header", ConfigType.STRING, "", None, "Header that gets the file's path. Default: none."),
    ("scan.interval.ms", ConfigType.LONG, 1000, Range(1, None), "Time between searches for files."),
    ("batch.size", ConfigType.INT, 2000, Range(1, None), "About how many records are returned at once."),
    ("max.open.files", ConfigType.INT, 100, Range(1, None), "How many files are open at once."),
)


def _definitions() -> ConfigDef:
    doc = "Patterns of files, such as /var/log/app.log*; ** stands for any folders."
    definitions = ConfigDef().define(
        "files", ConfigType.LIST, validator=NonEmptyList(), importance=Importance.HIGH, doc=doc
    )
    definitions.define("topic", validator=NonEmptyString(), importance=Importance.HIGH, doc="Topic of the records.")
    for name, kind, default, validator, doc in _ROWS:
        definitions.define(name, kind, default, validator=validator, doc=doc)
    return definitions


def _pattern(config: Mapping[str, Any]) -> re.Pattern[str] | None:
    text = config["multiline.pattern"]
    if text and config["format"] != LINES:
        raise ConfigException.invalid("multiline.pattern", text, "Only format=lines has records of several lines.")
    try:
        return re.compile(text) if text else None
    except re.error as error:
        raise ConfigException.invalid("multiline.pattern", text, str(error)) from None


class FileGlobSourceConnector(SourceConnector):
    """Reads the files that match patterns, and follows them when they are renamed; see docs/connect_http.md.

    Example:
        >>> connector = FileGlobSourceConnector()
        >>> connector.start({"files": "/var/log/app.log*", "topic": "app"})
        >>> len(connector.task_configs(2))
        2
    """

    java_class = "kafkapy.connect.FileGlobSourceConnector"

    def version(self) -> str:
        return VERSION

    def check(self, config: Mapping[str, str]) -> None:
        known = self.config().parse(config)
        _pattern(known)
        if len(known["csv.delimiter"]) != 1:
            raise ConfigException.invalid("csv.delimiter", known["csv.delimiter"], "Expected one character.")

    def start(self, config: Mapping[str, str]) -> None:
        self.check(config)
        warn_of_unused(config, self.config())
        self._config = dict(config)

    def task_class(self) -> type[SourceTask]:
        return FileGlobSourceTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{**self._config, _TASK: str(number), _TASKS: str(max_tasks)} for number in range(max_tasks)]

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return _definitions()

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        """Supported, unless something else than appending, renaming and truncating happens to files."""
        return ExactlyOnceSupport.SUPPORTED

    def alter_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]
    ) -> bool:
        """A partition is an inode, an offset is a position with the CRC of the file's first bytes."""
        for partition, offset in offsets:
            if "inode" not in partition:
                raise ConnectException("Partition objects should contain the key 'inode'")
            FilePlace.of(offset)
        return True


class _FileReader:
    """A file with its records. `heard` is when bytes came last, in monotonic seconds; `is_gone` after no pattern matches it."""

    def __init__(self, file: FollowedFile, joiner: LineJoiner, parser: RecordParser, now: float) -> None:
        self.file, self.joiner, self.parser = file, joiner, parser
        self.heard = now
        self.is_gone = False


class FileGlobSourceTask(SourceTask):
    """Reads the files whose inodes are this task's.

    Invariant: `_readers` has a reader for each file that was found, by inode, those that were read last at the end; at most
    `max.open.files` of them are open.
    """

    java_class = "kafkapy.connect.FileGlobSourceTask"

    def __init__(self) -> None:
        self._readers: OrderedDict[str, _FileReader] = OrderedDict()
        self._stopped = threading.Event()
        self._clock: Callable[[], float] = time.monotonic
        self._next_scan = 0.0

    def version(self) -> str:
        return VERSION

    def start(self, config: Mapping[str, str]) -> None:
        self._config = known = _definitions().parse(config)
        self._begins = _pattern(known)
        self._number, self._count = int(config.get(_TASK, "0")), int(config.get(_TASKS, "1"))

    def stop(self) -> None:
        self._stopped.set()
        for reader in list(self._readers.values()):
            reader.file.close()

    def poll(self) -> list[SourceRecord] | None:
        """Return the next records; waits up to a second if there are none."""
        if self._clock() >= self._next_scan:
            self._scan()
            self._next_scan = self._clock() + self._config["scan.interval.ms"] / 1000
        records: list[SourceRecord] = []
        for inode, reader in list(self._readers.items()):
            try:
                records.extend(self._read(reader))
            except OSError as error:
                raise ConnectException(f"{reader.file.path} cannot be read: {error}") from error
            self._readers.move_to_end(inode)
            self._close_oldest()
            if len(records) >= self._config["batch.size"]:
                break
        if not records:
            self._stopped.wait(min(1.0, self._config["scan.interval.ms"] / 1000))
        return records or None

    def _scan(self) -> None:
        excluded = {path for each in self._config["files.exclude"] for path in glob.glob(each, recursive=True)}
        found: dict[str, str] = {}
        for pattern in self._config["files"]:
            for path in glob.glob(pattern, recursive=True):
                try:
                    status = os.stat(path)
                except FileNotFoundError:
                    continue
                if path not in excluded and os.path.isfile(path) and self._is_mine(status):
                    found[inode_of(status)] = path
        for inode, path in sorted(found.items(), key=lambda each: each[1]):
            if inode in self._readers:
                self._readers[inode].file.path = path
                self._readers[inode].is_gone = False
            else:
                self._add(inode, path)
        for inode in list(self._readers.keys() - found.keys()):
            reader = self._readers[inode]
            if reader.is_gone and not reader.joiner.waits:  # nothing came since the last search
                reader.file.close()
                del self._readers[inode]
            reader.is_gone = True

    def _is_mine(self, status: os.stat_result) -> bool:
        return zlib.crc32(inode_of(status).encode()) % self._count == self._number

    def _add(self, inode: str, path: str) -> None:
        place = FilePlace.of(self.context.offset_storage_reader().offset({"inode": inode}))
        try:
            file = FollowedFile(path, place)
        except FileNotFoundError:
            return
        except OSError as error:
            raise ConnectException(f"{path} cannot be read: {error}") from error
        header = None
        if self._config["format"] == CSV and file.position:
            header = self._header(path)
        parser = RecordParser(self._config["format"], header, self._config["csv.delimiter"])
        self._readers[inode] = _FileReader(file, self._joiner(file.position), parser, self._clock())

    def _joiner(self, position: int) -> LineJoiner:
        is_csv = self._config["format"] == CSV
        return LineJoiner(position, self._begins, is_csv, self._config["max.record.bytes"])

    def _header(self, path: str) -> list[str]:
        import csv

        file = FollowedFile(path, FilePlace())
        joiner = self._joiner(0)
        try:
            while data := file.read(_CHUNK):
                for text, _ in joiner.feed(data):
                    return next(csv.reader([text], delimiter=self._config["csv.delimiter"]))
        finally:
            file.close()
        raise ConnectException(f"{path} has no header.")

    def _read(self, reader: _FileReader) -> Iterator[SourceRecord]:
        file = reader.file
        limit = self._config["batch.size"]
        number = 0
        while number < limit:
            before = file.position
            data = file.read(_CHUNK)
            if data and file.position < before + len(data):  # the file was truncated
                reader.joiner = self._joiner(0)
                reader.parser = RecordParser(self._config["format"], None, self._config["csv.delimiter"])
            if not data:
                is_ended = file.is_ended or reader.is_gone
                if is_ended or (self._clock() - reader.heard) * 1000 >= self._config["multiline.timeout.ms"]:
                    for text, end in reader.joiner.finish(with_rest=is_ended):
                        yield from self._record(reader, text, end)
                return
            reader.heard, reader.is_gone = self._clock(), False
            for text, end in reader.joiner.feed(data):
                number += 1
                yield from self._record(reader, text, end)

    def _record(self, reader: _FileReader, text: str, end: int) -> Iterator[SourceRecord]:
        try:
            value = reader.parser.value(text)
        except DataException as error:
            if self._config["behavior.on.error"] == "fail":
                raise ConnectException(f"{reader.file.path}, before position {end}: {error}") from error
            log.warning("%s, before position %d: %s; it is skipped", reader.file.path, end, error)
            return
        if value is None:
            return
        headers = Headers()
        if name := self._config["path.header"]:
            headers.add(name, reader.file.path, STRING_SCHEMA)
        offset = FilePlace(end, *reader.file.head).stored()
        schema = STRING_SCHEMA if self._config["format"] == LINES else None
        partition = {"inode": reader.file.inode}
        yield SourceRecord(partition, offset, self._config["topic"], None, None, None, schema, value, None, headers)

    def _close_oldest(self) -> None:
        """Close files that were read before the last `max.open.files`; `read` opens them again."""
        extra = len(self._readers) - self._config["max.open.files"]
        for reader in list(self._readers.values())[: max(0, extra)]:
            if not reader.is_gone:
                reader.file.close()
