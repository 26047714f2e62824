"""Reads a stream of Redis with a consumer group."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kafkapy.common.config_def import Importance
from kafkapy.common.config_validators import NonEmptyString, OneOf, Range
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.redis.connections import connect, define_connection
from kafkapy.connect.connectors.required_packages import require
from kafkapy.connect.connectors.unused_configs import warn_of_unused
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.schema import STRING_SCHEMA, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import ConnectException, RetriableException
from kafkapy.connect.java_classes import VERSION
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.source import ExactlyOnceSupport, SourceConnector, SourceTask

log = logging.getLogger("kafkapy.connect.connectors.redis")

_AT_LEAST_ONCE: Final = "at-least-once"
_TASK: Final = "task.id"
_ROWS: Final[tuple[tuple[str, ConfigType, Any, Any, str], ...]] = (
    ("topic", ConfigType.STRING, "${stream}", NonEmptyString(), "Topic; ${stream} is filled in."),
    ("redis.stream.offset", ConfigType.STRING, "0-0", None, "Where a new group begins: an id, or $ for the end."),
    ("redis.stream.consumer.group", ConfigType.STRING, "kafka-consumer-group", NonEmptyString(), "Name of the group."),
    ("redis.stream.consumer.name", ConfigType.STRING, "consumer-${task}", None, "Name of a task's consumer."),
    (
        "redis.stream.delivery",
        ConfigType.STRING,
        _AT_LEAST_ONCE,
        OneOf("at-least-once", "at-most-once"),
        "Whether entries are acknowledged when they are in Kafka, or before.",
    ),
    ("redis.stream.block", ConfigType.LONG, 100, Range(1, 10_000), "How long a request waits for entries, in ms."),
    ("batch.size", ConfigType.INT, 500, Range(1, None), "Largest number of entries that are read at once."),
)
_EVENT: Final = (
    SchemaBuilder(Type.STRUCT)
    .name("com.redis.kafka.connect.stream.StreamEvent")
    .field("id", STRING_SCHEMA)
    .field("stream", STRING_SCHEMA)
    .field("body", SchemaBuilder.map(STRING_SCHEMA, STRING_SCHEMA).build())
    .build()
)


def _definitions() -> ConfigDef:
    definitions = define_connection(ConfigDef(), by_uri=True)
    definitions.define("redis.stream.name", validator=NonEmptyString(), importance=Importance.HIGH, doc="The stream.")
    for name, kind, default, validator, doc in _ROWS:
        definitions.define(name, kind, default, validator=validator, doc=doc)
    return definitions


class RedisStreamSourceConnector(SourceConnector):
    """Reads a stream; the configs are in docs/connect_http.md.

    Example:
        >>> connector = RedisStreamSourceConnector()
        >>> connector.start({"redis.stream.name": "orders"})
        >>> [each["task.id"] for each in connector.task_configs(2)]
        ['0', '1']
    """

    java_class = "com.redis.kafka.connect.RedisStreamSourceConnector"

    def version(self) -> str:
        return VERSION

    def check(self, config: Mapping[str, str]) -> None:
        require("connect-redis", "redis", "A connector to Redis")

    def start(self, config: Mapping[str, str]) -> None:
        self.check(config)
        definitions = self.config()
        definitions.parse(config)
        warn_of_unused(config, definitions)
        self._config = dict(config)

    def task_class(self) -> type[SourceTask]:
        return RedisStreamSourceTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{**self._config, _TASK: str(number)} for number in range(max_tasks)]

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return _definitions()

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        """Supported: entries that are in Kafka already are acknowledged after a restart, and not read again."""
        is_safe = self.config().parse(config)["redis.stream.delivery"] == _AT_LEAST_ONCE
        return ExactlyOnceSupport.SUPPORTED if is_safe else ExactlyOnceSupport.UNSUPPORTED


class RedisStreamSourceTask(SourceTask):
    """Reads as one consumer of the group.

    Invariant: the ids that the consumer receives ascend. `_pending_from` is the id after which it reads entries that it
    has received before a restart, None when there are no more. `_written` are the ids of entries that are in Kafka, and not
    acknowledged yet.
    """

    java_class = "com.redis.kafka.connect.RedisStreamSourceTask"

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._pending_from: str | None = "0-0"
        self._lock = threading.Lock()
        self._written: list[str] = []

    def version(self) -> str:
        return VERSION

    def start(self, config: Mapping[str, str]) -> None:
        known = _definitions().parse(config)
        self._stream: str = known["redis.stream.name"]
        self._group: str = known["redis.stream.consumer.group"]
        self._consumer = known["redis.stream.consumer.name"].replace("${task}", config.get(_TASK, "0"))
        self._topic = known["topic"].replace("${stream}", self._stream)
        self._count, self._block = known["batch.size"], known["redis.stream.block"]
        self._begin: str = known["redis.stream.offset"]
        self._acknowledges_first = known["redis.stream.delivery"] != _AT_LEAST_ONCE
        self._pause_s = known["redis.connection.retry.delay.ms"] / 1000
        self._partition = {"stream": self._stream, "group": self._group, "consumer": self._consumer}
        stored = self.context.offset_storage_reader().offset(self._partition)
        self._delivered = _id(stored["id"]) if stored else (0, 0)
        self._has_group = False
        self._redis: Any = connect(known)

    def stop(self) -> None:
        self._stopped.set()

    def poll(self) -> list[SourceRecord] | None:
        """Return the next entries; waits for `redis.stream.block` if there are none."""
        import redis

        try:
            if not self._has_group:
                self._make_group()
            entries = self._read()
        except (redis.ConnectionError, redis.TimeoutError, redis.BusyLoadingError) as error:
            if isinstance(error, redis.AuthenticationError):
                raise ConnectException(f"Redis refuses the credentials: {error}") from error
            self._stopped.wait(self._pause_s)
            raise RetriableException(f"Redis cannot be reached now: {error}") from error
        except redis.ResponseError as error:
            raise ConnectException(f"The stream {self._stream} cannot be read: {error}") from error
        return [self._record(identity, fields) for identity, fields in entries] or None

    def commit(self) -> None:
        """Acknowledge the entries that are in Kafka."""
        import redis

        with self._lock:
            done, self._written = self._written, []
        try:
            if done:
                self._redis.xack(self._stream, self._group, *done)
        except redis.RedisError as error:
            log.warning("Entries of %s cannot be acknowledged now: %s", self._stream, error)
            with self._lock:
                self._written = done + self._written

    def commit_record(self, record: SourceRecord, metadata: Any) -> None:
        """Remember an entry that is in Kafka."""
        if self._acknowledges_first or record.source_offset is None:
            return
        with self._lock:
            self._written.append(record.source_offset["id"])

    def _make_group(self) -> None:
        import redis

        try:
            self._redis.xgroup_create(self._stream, self._group, self._begin, mkstream=True)
        except redis.ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise
        self._has_group = True

    def _read(self) -> Sequence[tuple[str, Mapping[bytes, bytes]]]:
        while self._pending_from is not None:
            found = self._entries(self._pending_from, None)
            if not found:
                self._pending_from = None
                break
            self._pending_from = found[-1][0]
            # Those up to the stored offset are in Kafka; without fields: removed from the stream meanwhile.
            known = [identity for identity, fields in found if _id(identity) <= self._delivered or not fields]
            if known:
                self._redis.xack(self._stream, self._group, *known)
            if new := [each for each in found if each[0] not in set(known)]:
                return self._acknowledged(new)
        return self._acknowledged(self._entries(">", self._block))

    def _acknowledged(
        self, entries: Sequence[tuple[str, Mapping[bytes, bytes]]]
    ) -> Sequence[tuple[str, Mapping[bytes, bytes]]]:
        if self._acknowledges_first and entries:
            self._redis.xack(self._stream, self._group, *(identity for identity, _ in entries))
        return entries

    def _entries(self, after: str, block: int | None) -> list[tuple[str, Mapping[bytes, bytes]]]:
        answer = self._redis.xreadgroup(self._group, self._consumer, {self._stream: after}, self._count, block)
        if not answer:
            return []
        found = answer.values() if isinstance(answer, dict) else [entries for _, entries in answer]
        flat: list[tuple[str, Mapping[bytes, bytes]]] = []
        for entries in found:
            for each in entries[0] if entries and isinstance(entries[0], list) else entries:
                flat.append((each[0].decode(), each[1] or {}))
        return flat

    def _record(self, identity: str, fields: Mapping[bytes, bytes]) -> SourceRecord:
        body = {_text(name): _text(value) for name, value in fields.items()}
        value = Struct(_EVENT, {"id": identity, "stream": self._stream, "body": body})
        at_ms = _id(identity)[0]
        offset = {"id": identity}
        return SourceRecord(self._partition, offset, self._topic, None, STRING_SCHEMA, identity, _EVENT, value, at_ms)


def _id(text: str) -> tuple[int, int]:
    milliseconds, _, number = text.partition("-")
    return int(milliseconds), int(number or 0)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
