"""Reads files of an object store: what a sink has written, or files by patterns."""

from __future__ import annotations

import itertools
import logging
import re
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple

from kafkapy.common.config_def import ConfigException
from kafkapy.common.config_validators import NonEmptyString, OneOf, Range
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.objects.formats import format_name
from kafkapy.connect.connectors.objects.locations import ANY, OPTIONS_PREFIX, S3, LocationConfigs, store_options
from kafkapy.connect.connectors.objects.reading import EXTENSIONS, read_records
from kafkapy.connect.connectors.objects.stores import ObjectStore, require_packages
from kafkapy.connect.connectors.unused_configs import warn_of_unused
from kafkapy.connect.data.schema import STRING_SCHEMA, Schema
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import ConnectException, RetriableException
from kafkapy.connect.headers import Headers
from kafkapy.connect.java_classes import VERSION
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.source import ExactlyOnceSupport, SourceConnector, SourceTask

log = logging.getLogger("kafkapy.connect.connectors.objects")

_TASK, _TASKS = "task.number", "task.count"
_BACKUP, _GENERIC = "RESTORE_BACKUP", "GENERIC"
_PAUSE_S: Final = 1.0
_STRING, _LONG = ConfigType.STRING, ConfigType.LONG
_ROWS: Final[tuple[tuple[str, ConfigType, Any, Any, str], ...]] = (
    ("mode", _STRING, _BACKUP, OneOf(_BACKUP, _GENERIC), "RESTORE_BACKUP: what a sink wrote; GENERIC: any files."),
    ("topics.dir", _STRING, "topics", NonEmptyString(), "Topmost folder."),
    ("directory.delim", _STRING, "/", NonEmptyString(), "Between folders."),
    ("file.delim", _STRING, "+", NonEmptyString(), "Between the parts of a file's name."),
    ("topic.regex.list", ConfigType.LIST, [], None, "For GENERIC: topic:pattern of paths."),
    ("format.class", _STRING, "", None, "Format of values. Default: by the file's extension."),
    ("format.bytearray.separator", _STRING, None, None, "After each value of ByteArray. Default: a line feed."),
    ("s3.poll.interval.ms", _LONG, 60_000, Range(1, None), "Time between searches for files."),
    (
        "record.batch.max.size",
        ConfigType.INT,
        200,
        Range(1, None),
        "Largest number of records that are returned at once.",
    ),
    ("store.kafka.keys", ConfigType.BOOLEAN, False, None, "Whether a sink has stored keys."),
    ("store.kafka.headers", ConfigType.BOOLEAN, False, None, "Whether a sink has stored headers."),
    ("keep.partitions", ConfigType.BOOLEAN, True, None, "Whether records go to the partitions that they came from."),
)


class _Listed(NamedTuple):
    """A file whose records are to be read. `order` is where it is among those of its group, which are read in order."""

    name: str
    size: int
    topic: str
    partition: int | None
    order: tuple[int, str]


class ObjectSourceConnector(SourceConnector):
    """Reads files below a URL of fsspec (`store.url`); the configs are in docs/connect_objects.md.

    Example:
        >>> connector = ObjectSourceConnector()
        >>> connector.start({"name": "a", "store.url": "file:///data"})
        >>> len(connector.task_configs(3))
        3
    """

    java_class: ClassVar[str] = "kafkapy.connect.ObjectSourceConnector"
    locations: ClassVar[LocationConfigs] = ANY

    def version(self) -> str:
        return VERSION

    def check(self, config: Mapping[str, str]) -> None:
        known = self.config().parse(config)
        require_packages(self.locations.location(known)[0])
        _patterns(known)
        if known["format.class"]:
            format_name(known["format.class"])

    def start(self, config: Mapping[str, str]) -> None:
        self.check(config)
        warn_of_unused(config, self.config(), (OPTIONS_PREFIX,))
        self._config = dict(config)

    def task_class(self) -> type[SourceTask]:
        return ObjectSourceTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{**self._config, _TASK: str(number), _TASKS: str(max_tasks)} for number in range(max_tasks)]

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return _definitions(self.locations)

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        """Supported for files that do not change, or are only appended to."""
        return ExactlyOnceSupport.SUPPORTED


class S3SourceConnector(ObjectSourceConnector):
    """Reads files of Amazon S3, or a service with the same interface.

    Example:
        >>> S3SourceConnector().config()["mode"].default
        'RESTORE_BACKUP'
    """

    java_class = "io.confluent.connect.s3.source.S3SourceConnector"
    locations = S3

    def task_class(self) -> type[SourceTask]:
        return S3SourceTask


class ObjectSourceTask(SourceTask):
    """Reads the files of its groups: those of one topic and partition, or a single file.

    Invariant: `_read_sizes` has the size of each file of which all was read; `_waiting` are the files that were found since,
    in order; `_current` are the records of the first of them that were not returned yet, and `_returned` how many were.
    """

    java_class: ClassVar[str] = "kafkapy.connect.ObjectSourceTask"
    locations: ClassVar[LocationConfigs] = ANY

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._clock: Callable[[], float] = time.monotonic
        self._next_search = 0.0
        self._read_sizes: dict[str, int] = {}
        self._waiting: deque[_Listed] = deque()
        self._current: Iterator[SourceRecord] | None = None
        self._returned = 0

    def version(self) -> str:
        return VERSION

    def start(self, config: Mapping[str, str]) -> None:
        self._config = known = _definitions(self.locations).parse(config)
        self._patterns = _patterns(known)
        separator = known["format.bytearray.separator"]
        self._separator = b"\n" if separator is None else separator.encode()
        self._format = format_name(known["format.class"]) if known["format.class"] else None
        self._number, self._count = int(config.get(_TASK, "0")), int(config.get(_TASKS, "1"))
        url, options = self.locations.location(known)
        self._store = ObjectStore(url, {**options, **store_options(config)})

    def stop(self) -> None:
        self._stopped.set()

    def poll(self) -> list[SourceRecord] | None:
        """Return the next records of one file; waits up to a second if there are none."""
        if not self._waiting:
            if self._clock() < self._next_search:
                self._stopped.wait(min(1.0, self._next_search - self._clock()))
                return None
            self._search()
            self._next_search = self._clock() + self._config["s3.poll.interval.ms"] / 1000
            if not self._waiting:
                return None
        if self._current is None:
            self._current = self._records(self._waiting[0])
        try:
            records = list(itertools.islice(self._current, self._config["record.batch.max.size"]))
        except RetriableException:
            self._current = None
            self._stopped.wait(_PAUSE_S)
            raise
        if records:
            self._returned = (records[-1].source_offset or {})["records"]
        else:
            listed = self._waiting.popleft()
            self._read_sizes[listed.name] = listed.size
            self._current, self._returned = None, 0
        return records or None

    def _search(self) -> None:
        found = []
        for name, size in self._store.files(self._config["topics.dir"]):
            listed = self._listed(name, size)
            if listed is not None and self._read_sizes.get(name) != size:
                found.append(listed)
        found.sort(key=lambda each: (each.topic, each.partition or 0, each.order))
        self._waiting.extend(found)

    def _listed(self, name: str, size: int) -> _Listed | None:
        """Return the file if it is this task's."""
        folder, _, last = name.rpartition("/")
        if last.startswith((".", "_")) or "/_" in f"/{folder}" or ".keys." in last or ".headers." in last:
            return None
        if self._config["mode"] == _GENERIC:
            topic = next((topic for topic, pattern in self._patterns if pattern.search(name)), None)
            listed = None if topic is None else _Listed(name, size, topic, None, (0, name))
            group = name
        else:
            listed = self._of_sink(name, last, size)
            group = "" if listed is None else f"{listed.topic}+{listed.partition}"
        return listed if zlib.crc32(group.encode()) % self._count == self._number else None

    def _of_sink(self, name: str, last: str, size: int) -> _Listed | None:
        delimiter = re.escape(self._config["file.delim"])
        match = re.fullmatch(rf"(.+){delimiter}(\d+){delimiter}(\d+)\.[\w.]+", last)
        below = name.removeprefix(self._config["topics.dir"] + "/")
        if match is None or "/" not in below:
            return None
        partition = int(match[2]) if self._config["keep.partitions"] else None
        return _Listed(name, size, below.partition("/")[0], partition, (int(match[3]), name))

    def _records(self, listed: _Listed) -> Iterator[SourceRecord]:
        partition = {"store": self._store.url, "object": listed.name}
        stored = self.context.offset_storage_reader().offset(partition)
        done = max(int(stored["records"]) if stored else 0, self._returned)
        if stored and stored.get("size") == listed.size and stored.get("complete"):
            return
        values = self._values(listed.name)
        keys = self._beside(listed.name, "keys")
        headers = self._beside(listed.name, "headers")
        rows = itertools.islice(zip(values, keys, headers, strict=False), done, None)
        number = done
        upcoming = next(rows, None)
        while upcoming is not None:
            current, upcoming = upcoming, next(rows, None)
            number += 1
            (schema, value), (key_schema, key), row = current
            offset = {"records": number, "size": listed.size, "complete": upcoming is None}
            yield SourceRecord(
                partition,
                offset,
                listed.topic,
                listed.partition,
                key_schema,
                key,
                schema,
                value,
                None,
                _headers(row[1]),
            )

    def _values(self, name: str) -> Iterator[tuple[Schema | None, Any]]:
        format = self._format or next((EXTENSIONS[each] for each in EXTENSIONS if each in name), None)
        if format is None:
            raise ConnectException(f"The format of {name} is unknown: set format.class.")
        with self._store.open(name) as file:
            yield from read_records(file, name, format, self._separator)

    def _beside(self, name: str, part: str) -> Iterator[tuple[Schema | None, Any]]:
        """Yield the keys or headers that a sink has stored beside a file; nulls without end if it has not."""
        if self._config["mode"] == _GENERIC or not self._config[f"store.kafka.{part}"]:
            yield from itertools.repeat((None, None))
        folder, slash, last = name.rpartition("/")
        base = f"{folder}{slash}{last.partition('.')[0]}.{part}"
        for extension, format in EXTENSIONS.items():
            for infix, suffix in (("", ""), ("", ".gz"), (".snappy", "")):
                other = f"{base}{infix}{extension}{suffix}"
                if self._store.exists(other):
                    with self._store.open(other) as file:
                        yield from read_records(file, other, format, self._separator)
                    return
        raise ConnectException(f"There is no file with {part} beside {name}: set store.kafka.{part} to false.")


class S3SourceTask(ObjectSourceTask):
    """Reads files of Amazon S3."""

    java_class = "io.confluent.connect.s3.source.S3SourceTask"
    locations = S3


def _headers(row: Any) -> Headers:
    headers = Headers()
    found = row.get("headers") if isinstance(row, Struct | dict) else None
    for each in found or ():
        headers.add(each["key"], each["value"], STRING_SCHEMA if each["value"] is not None else None)
    return headers


def _definitions(locations: LocationConfigs) -> ConfigDef:
    definitions = ConfigDef()
    for name, kind, default, validator, doc in _ROWS:
        definitions.define(name, kind, default, validator=validator, doc=doc)
    locations.define(definitions)
    return definitions


def _patterns(config: Mapping[str, Any]) -> list[tuple[str, re.Pattern[str]]]:
    patterns = []
    for text in config["topic.regex.list"]:
        topic, colon, pattern = text.partition(":")
        if not colon:
            raise ConfigException.invalid("topic.regex.list", text, "Expected topic:pattern.")
        try:
            patterns.append((topic.strip(), re.compile(pattern)))
        except re.error as error:
            raise ConfigException.invalid("topic.regex.list", text, str(error)) from None
    if config["mode"] == _GENERIC and not patterns:
        raise ConfigException.invalid("topic.regex.list", "", "mode=GENERIC needs it.")
    return patterns
