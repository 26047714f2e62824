"""Writes records to Redis, with the configs of two connectors in Java."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Final

from kafkapy.common.config_def import ConfigException
from kafkapy.common.config_validators import OneOf
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.redis.commands import COMMANDS, TYPES, Command, Commands
from kafkapy.connect.connectors.redis.connections import connect, define_connection, is_cluster
from kafkapy.connect.connectors.required_packages import require
from kafkapy.connect.connectors.uniform_sink import UniformSinkConnector
from kafkapy.connect.errors import ConnectException, DataException, RetriableException
from kafkapy.connect.java_classes import VERSION
from kafkapy.connect.records import SinkRecord
from kafkapy.connect.sink import SinkTask

log = logging.getLogger("kafkapy.connect.connectors.redis")

_PIPELINE: Final = 500
"""How many commands are sent at once."""


def _plain_definitions() -> ConfigDef:
    return define_connection(ConfigDef(), by_uri=False)


def _typed_definitions() -> ConfigDef:
    kinds, commands = OneOf("", *TYPES, case_insensitive=True), OneOf("", *COMMANDS, case_insensitive=True)
    definitions = define_connection(ConfigDef(), by_uri=True)
    definitions.define(
        "redis.type", ConfigType.STRING, "", validator=kinds, doc="STRING, HASH, JSON, LIST, SET, ZSET, STREAM."
    )
    definitions.define(
        "redis.command", ConfigType.STRING, "", validator=commands, doc="In place of redis.type: HSET, …"
    )
    doc = "Key of a collection, or beginning of keys; ${topic} is filled in."
    definitions.define("redis.key", ConfigType.STRING, "${topic}", doc=doc)
    definitions.define("redis.separator", ConfigType.STRING, ":", doc="Between the beginning and the record's key.")
    doc = "Whether records and their offsets are written in transactions, exactly once."
    definitions.define("redis.multiexec", ConfigType.BOOLEAN, False, doc=doc)
    return definitions


def _is_transactional(config: Mapping[str, Any]) -> bool:
    return bool(config.get("redis.multiexec", not is_cluster(config)))


def _commands(config: Mapping[str, Any]) -> Commands:
    if "redis.type" not in config:
        return Commands("STRING", "", "", "LPUSH")
    command = config["redis.command"].upper()
    kind = COMMANDS[command] if command else config["redis.type"].upper() or "STREAM"
    push = command if command in ("LPUSH", "RPUSH") else "LPUSH"
    return Commands(kind, config["redis.key"], config["redis.separator"], push)


class RedisStringSinkTask(SinkTask):
    """Sends the commands of records, in order.

    Invariant: with transactions, the key `__kafka.offset.NAME.TOPIC.PARTITION` has the offset after the last record that
    was written, and changes together with it. `_is_uncertain` is whether the last transaction may have been executed
    without an answer.
    """

    java_class: ClassVar[str] = "com.github.jcustenborder.kafka.connect.redis.RedisSinkTask"

    @staticmethod
    def definitions() -> ConfigDef:
        return _plain_definitions()

    def __init__(self) -> None:
        self._is_uncertain = False

    def version(self) -> str:
        return VERSION

    def start(self, config: Mapping[str, str]) -> None:
        known = self.definitions().parse(config)
        self._name = config.get("name", "")
        self._commands = _commands(known)
        self._is_transactional = _is_transactional(known)
        self._pause_ms: int = known["redis.connection.retry.delay.ms"]
        self._redis: Any = connect(known)

    def stop(self) -> None:
        if hasattr(self, "_redis"):
            self._redis.close()

    def open(self, partitions: Collection[TopicPartition]) -> None:
        if self._is_transactional:
            for partition, offset in stored_offsets(self._redis, self._name, partitions).items():
                self.context.offset(partition, offset)

    def put(self, records: Sequence[SinkRecord]) -> None:
        pairs: list[tuple[SinkRecord, Command | None]] = []
        with self._retries():
            for record in self._new(records):
                try:
                    pairs.append((record, self._commands.of(record)))
                except DataException as error:
                    self._report(record, error)
                    pairs.append((record, None))
                if len(pairs) >= _PIPELINE:
                    self._send(pairs)
                    pairs = []
            if pairs:
                self._send(pairs)
        self._is_uncertain = False

    @contextmanager
    def _retries(self) -> Iterator[None]:
        import redis

        try:
            yield
        except (redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError, redis.BusyLoadingError) as error:
            if isinstance(error, redis.AuthenticationError):
                raise ConnectException(f"Redis refuses the credentials: {error}") from error
            self._is_uncertain = True
            self.context.timeout(self._pause_ms)
            raise RetriableException(f"Redis cannot be reached now: {error}") from error

    def _new(self, records: Sequence[SinkRecord]) -> Sequence[SinkRecord]:
        """Return the records without those that a transaction, which had no answer, has written."""
        if not self._is_uncertain or not self._is_transactional:
            return records
        stored = stored_offsets(self._redis, self._name, {_partition(record) for record in records})
        return [each for each in records if each.original_kafka_offset >= stored.get(_partition(each), 0)]

    def _send(self, pairs: Sequence[tuple[SinkRecord, Command | None]]) -> None:
        pipeline = self._redis.pipeline(transaction=self._is_transactional)
        sent = [record for record, command in pairs if command is not None]
        for _, command in pairs:
            if command is not None:
                pipeline.execute_command(*command)
        if self._is_transactional:
            for record in {_partition(record): record for record, _ in pairs}.values():
                pipeline.set(_offset_key(self._name, _partition(record)), record.original_kafka_offset + 1)
        self._is_uncertain = self._is_transactional
        results = pipeline.execute(raise_on_error=False)
        for record, result in zip(sent, results, strict=False):
            if isinstance(result, Exception):
                self._refused(record, result)

    def _refused(self, record: SinkRecord, error: Exception) -> None:
        import redis

        if not isinstance(error, redis.ResponseError):
            raise error
        try:
            self._report(record, ConnectException(f"Redis refuses a command: {error}"))
        except ConnectException:
            if self._is_transactional:  # the record is not written: it is the next one
                self._redis.set(_offset_key(self._name, _partition(record)), record.original_kafka_offset)
            raise

    def _report(self, record: SinkRecord, error: ConnectException) -> None:
        reporter = self.context.errant_record_reporter()
        if reporter is None:
            raise error
        reporter.report(record, error)


class RedisTypedSinkTask(RedisStringSinkTask):
    """Writes to strings, hashes, JSON documents, lists, sets, sorted sets or streams."""

    java_class = "com.redis.kafka.connect.RedisSinkTask"

    @staticmethod
    def definitions() -> ConfigDef:
        return _typed_definitions()


class RedisStringSinkConnector(UniformSinkConnector):
    """Sets keys to the values of records, and deletes those of tombstones; the configs are in docs/connect_http.md.

    Example:
        >>> connector = RedisStringSinkConnector()
        >>> connector.start({"name": "a", "redis.hosts": "localhost:6379"})
        >>> len(connector.task_configs(2))
        2
    """

    java_class: ClassVar[str] = "com.github.jcustenborder.kafka.connect.redis.RedisSinkConnector"
    task: ClassVar[type[RedisStringSinkTask]] = RedisStringSinkTask

    def check_values(self, known: Mapping[str, Any], config: Mapping[str, str]) -> None:
        require("connect-redis", "redis", "A connector to Redis")
        _commands(known)
        if is_cluster(known) and _is_transactional(known):
            wanted = "A cluster has no transactions over several keys."
            raise ConfigException.invalid("redis.multiexec", True, wanted)

    def config(self) -> ConfigDef:
        return self.task.definitions()

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Change the offsets that are stored in Redis, too."""
        import redis

        known = self.config().parse(config)
        if not _is_transactional(known):
            return True
        client: Any = connect(known)
        try:
            for partition, offset in offsets.items():
                key = _offset_key(config.get("name", ""), partition)
                client.delete(key) if offset is None else client.set(key, offset)
        except redis.RedisError as error:
            raise ConnectException(f"Offsets in Redis cannot be changed: {error}") from error
        finally:
            client.close()
        return True


class RedisTypedSinkConnector(RedisStringSinkConnector):
    """Writes to what `redis.type` says.

    Example:
        >>> RedisTypedSinkConnector().config()["redis.key"].default
        '${topic}'
    """

    java_class = "com.redis.kafka.connect.RedisSinkConnector"
    task = RedisTypedSinkTask


def stored_offsets(redis: Any, name: str, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
    """Return the offsets that are stored in Redis.

    Args:
        redis: A client.
        name: Of the connector.
        partitions: Those that are asked for.
    """
    wanted = list(partitions)
    found = redis.mget([_offset_key(name, each) for each in wanted]) if wanted else []
    return {each: int(text) for each, text in zip(wanted, found, strict=True) if text is not None}


def _offset_key(name: str, partition: TopicPartition) -> str:
    return f"__kafka.offset.{name}.{partition.topic}.{partition.partition}"


def _partition(record: SinkRecord) -> TopicPartition:
    return TopicPartition(record.original_topic or "", record.original_kafka_partition or 0)
