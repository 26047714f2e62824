"""Records that connectors read and write (`ConnectRecord`, `SourceRecord`, `SinkRecord`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Final, Self

from kafkapy.connect.data.java_str import java_str
from kafkapy.connect.data.schema import Schema, same_value
from kafkapy.connect.headers import Header, Headers
from kafkapy.record.record_batch import TimestampType

_CONTENTS: Final = dict.fromkeys(
    ("topic", "kafka_partition", "key_schema", "key", "value_schema", "value", "timestamp", "headers")
)
"""Arguments of `new_record`."""


class ConnectRecord(ABC):
    """What source and sink records share. Immutable but for its headers.

    Args:
        topic: The topic.
        kafka_partition: None: the producer chooses it.
        key_schema: None: the key has no schema.
        key: The key.
        value_schema: None: the value has no schema.
        value: None: a tombstone.
        timestamp: In ms since 1970. None: the producer sets it.
        headers: `Headers` are used as they are, others are copied. Default: none.
    """

    __slots__ = ("headers", "kafka_partition", "key", "key_schema", "timestamp", "topic", "value", "value_schema")

    def __init__(
        self,
        topic: str | None,
        kafka_partition: int | None,
        key_schema: Schema | None,
        key: Any,
        value_schema: Schema | None,
        value: Any,
        timestamp: int | None = None,
        headers: Iterable[Header] | None = None,
    ) -> None:
        self.topic = topic
        self.kafka_partition = kafka_partition
        self.key_schema = key_schema
        self.key = key
        self.value_schema = value_schema
        self.value = value
        self.timestamp = timestamp
        self.headers = headers if isinstance(headers, Headers) else Headers(headers or ())

    def new_record(
        self,
        topic: str | None,
        kafka_partition: int | None,
        key_schema: Schema | None,
        key: Any,
        value_schema: Schema | None,
        value: Any,
        timestamp: int | None,
        headers: Iterable[Header] | None = None,
    ) -> Self:
        """Return a record of the same kind and origin with other contents.

        Args:
            topic: The topic.
            kafka_partition: The partition.
            key_schema: Of the key.
            key: The key.
            value_schema: Of the value.
            value: The value.
            timestamp: In ms since 1970.
            headers: Default: a copy of this record's.
        """
        made = self._copy()
        made.topic = topic
        made.kafka_partition = kafka_partition
        made.key_schema = key_schema
        made.key = key
        made.value_schema = value_schema
        made.value = value
        made.timestamp = timestamp
        if headers is not None:
            made.headers = headers if isinstance(headers, Headers) else Headers(headers)
        return made

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some of `new_record`'s arguments changed.

        Args:
            changes: Names of attributes and their new values.

        Raises:
            TypeError: `new_record` has no such argument.

        Example:
            >>> SourceRecord({}, {}, "a", None, None, None, None, 5).replace(topic="b").topic
            'b'
        """
        unknown = changes.keys() - _CONTENTS
        if unknown:
            raise TypeError(f"A record has no contents {', '.join(sorted(unknown))}; it has {', '.join(_CONTENTS)}")
        headers = changes.pop("headers", None)
        made = self._copy()
        for name, value in changes.items():
            setattr(made, name, value)
        if headers is not None:
            made.headers = headers if isinstance(headers, Headers) else Headers(headers)
        return made

    def with_key(self, schema: Schema | None, key: Any) -> Self:
        """Return a copy with another key. Quicker than `replace`.

        Args:
            schema: Of the key.
            key: The key.
        """
        made = self._copy()
        made.key_schema = schema
        made.key = key
        return made

    def with_value(self, schema: Schema | None, value: Any) -> Self:
        """Return a copy with another value. Quicker than `replace`.

        Args:
            schema: Of the value.
            value: The value.
        """
        made = self._copy()
        made.value_schema = schema
        made.value = value
        return made

    def with_topic(self, topic: str | None) -> Self:
        """Return a copy with another topic. Quicker than `replace`.

        Args:
            topic: The topic.
        """
        made = self._copy()
        made.topic = topic
        return made

    def with_headers(self, headers: Headers) -> Self:
        """Return a copy with other headers. Quicker than `replace`.

        Args:
            headers: Are used as they are.
        """
        made = self._copy()
        made.headers = headers
        return made

    @abstractmethod
    def _copy(self) -> Self:
        """Return a record with the same contents and origin, and a copy of the headers."""

    def _copy_contents(self, made: ConnectRecord) -> None:
        made.topic = self.topic
        made.kafka_partition = self.kafka_partition
        made.key_schema = self.key_schema
        made.key = self.key
        made.value_schema = self.value_schema
        made.value = self.value
        made.timestamp = self.timestamp
        made.headers = self.headers.duplicate()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(same_value(mine, others) for mine, others in zip(self._parts(), other._parts(), strict=True))

    __hash__ = None  # type: ignore[assignment]

    def _parts(self) -> tuple[Any, ...]:
        contents = (self.key_schema, self.key, self.value_schema, self.value)
        return (self.topic, self.kafka_partition, *contents, self.timestamp, self.headers)

    def __repr__(self) -> str:
        return (
            f"ConnectRecord{{topic='{java_str(self.topic)}', kafkaPartition={java_str(self.kafka_partition)}, "
            f"key={java_str(self.key)}, keySchema={java_str(self.key_schema)}, value={java_str(self.value)}, "
            f"valueSchema={java_str(self.value_schema)}, timestamp={java_str(self.timestamp)}, headers={self.headers}}}"
        )


class SourceRecord(ConnectRecord):
    """A record of a source task, with its place in the source.

    Args:
        source_partition: Names the part of the source, such as a file or a table.
        source_offset: Place in that part.
        topic: Where it goes.
        kafka_partition: Default: the producer chooses it.
        key_schema: Default: the key has no schema.
        key: Default: None.
        value_schema: Default: the value has no schema.
        value: Default: None.
        timestamp: In ms since 1970. Default: the producer's time.
        headers: Default: none.

    Example:
        >>> record = SourceRecord({"file": "a"}, {"position": 5}, "lines", value="first")
        >>> record.source_offset, record.value
        ({'position': 5}, 'first')
    """

    __slots__ = ("source_offset", "source_partition")

    def __init__(
        self,
        source_partition: Mapping[str, Any] | None,
        source_offset: Mapping[str, Any] | None,
        topic: str | None,
        kafka_partition: int | None = None,
        key_schema: Schema | None = None,
        key: Any = None,
        value_schema: Schema | None = None,
        value: Any = None,
        timestamp: int | None = None,
        headers: Iterable[Header] | None = None,
    ) -> None:
        super().__init__(topic, kafka_partition, key_schema, key, value_schema, value, timestamp, headers)
        self.source_partition = source_partition
        self.source_offset = source_offset

    def _copy(self) -> SourceRecord:
        made = SourceRecord.__new__(SourceRecord)
        self._copy_contents(made)
        made.source_partition = self.source_partition
        made.source_offset = self.source_offset
        return made

    def _parts(self) -> tuple[Any, ...]:
        return (self.source_partition, self.source_offset, *super()._parts())

    def __repr__(self) -> str:
        place = f"sourcePartition={java_str(self.source_partition)}, sourceOffset={java_str(self.source_offset)}"
        return f"SourceRecord{{{place}}} {super().__repr__()}"


class SinkRecord(ConnectRecord):
    """A record for a sink task, with its place in Kafka.

    Args:
        topic: After all transforms.
        kafka_partition: After all transforms.
        key_schema: Of the key.
        key: The key.
        value_schema: Of the value.
        value: The value.
        kafka_offset: Its offset.
        timestamp: In ms since 1970. Default: None.
        timestamp_type: Default: the record has no timestamp.
        headers: Default: none.
        original_topic: Where it was read. Default: `topic`.
        original_kafka_partition: Where it was read. Default: `kafka_partition`.
        original_kafka_offset: Where it was read. Default: `kafka_offset`.

    Example:
        >>> record = SinkRecord("lines", 0, None, None, None, "first", 7).replace(topic="texts")
        >>> record.topic, record.original_topic, record.kafka_offset
        ('texts', 'lines', 7)
    """

    __slots__ = (
        "kafka_offset",
        "original_kafka_offset",
        "original_kafka_partition",
        "original_topic",
        "timestamp_type",
    )

    def __init__(
        self,
        topic: str | None,
        kafka_partition: int | None,
        key_schema: Schema | None,
        key: Any,
        value_schema: Schema | None,
        value: Any,
        kafka_offset: int,
        timestamp: int | None = None,
        timestamp_type: TimestampType | None = None,
        headers: Iterable[Header] | None = None,
        original_topic: str | None = None,
        original_kafka_partition: int | None = None,
        original_kafka_offset: int | None = None,
    ) -> None:
        super().__init__(topic, kafka_partition, key_schema, key, value_schema, value, timestamp, headers)
        self.kafka_offset = kafka_offset
        self.timestamp_type = timestamp_type
        self.original_topic = topic if original_topic is None else original_topic
        self.original_kafka_partition = (
            kafka_partition if original_kafka_partition is None else original_kafka_partition
        )
        self.original_kafka_offset = kafka_offset if original_kafka_offset is None else original_kafka_offset

    def _copy(self) -> SinkRecord:
        made = SinkRecord.__new__(SinkRecord)
        self._copy_contents(made)
        self._copy_origin(made)
        return made

    def _copy_origin(self, made: SinkRecord) -> None:
        made.kafka_offset = self.kafka_offset
        made.timestamp_type = self.timestamp_type
        made.original_topic = self.original_topic
        made.original_kafka_partition = self.original_kafka_partition
        made.original_kafka_offset = self.original_kafka_offset

    def _parts(self) -> tuple[Any, ...]:
        original = (self.original_topic, self.original_kafka_partition, self.original_kafka_offset)
        return (self.kafka_offset, self.timestamp_type, *original, *super()._parts())

    def __repr__(self) -> str:
        kind = "NoTimestampType" if self.timestamp_type is None else self.timestamp_type.text
        return f"SinkRecord{{kafkaOffset={self.kafka_offset}, timestampType={kind}}} {super().__repr__()}"
