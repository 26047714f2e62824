"""The topics of a `TopologyTestDriver`, with serdes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from kafkapy.streams.records import Headers
from kafkapy.streams.serdes import Deserializer, Serializer
from kafkapy.streams.task.record_collector import ProducedRecord

K = TypeVar("K")
V = TypeVar("V")

Pipe = Callable[[str, bytes | None, bytes | None, int, Headers], None]


class TestRecord(NamedTuple):
    """An output record.

    Attributes:
        key: The key.
        value: The value.
        headers: The headers.

    Example:
        >>> from kafkapy.streams import Headers
        >>> TestRecord("a", "KAFKA", Headers(), 0).value
        'KAFKA'
    """

    key: Any
    value: Any
    headers: Headers
    timestamp: int | None
    """Timestamp in ms; None if the producer sets it: in changelogs of buffers."""


TestRecord.__test__ = False  # type: ignore[attr-defined]


class TestInputTopic(Generic[K, V]):
    """A topic that the topology reads, created by `TopologyTestDriver.create_input_topic`.

    Args:
        pipe: The driver's function that processes a record.
        topic: Name of the topic.
        key_serializer: Serde or serializer of keys.
        value_serializer: Serde or serializer of values.

    Example:
        >>> from kafkapy.streams import Consumed, Produced, Serdes, StreamsBuilder
        >>> from kafkapy.streams.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> string = Serdes.string()
        >>> lines = builder.stream("lines", Consumed.with_(string, string))
        >>> lines.map_values(str.upper).to("loud", Produced.with_(string, string))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.create_input_topic("lines", string, string).pipe_input("a", "kafka")
        ...     driver.create_output_topic("loud", string, string).read_value()
        'KAFKA'
    """

    __test__ = False

    def __init__(self, pipe: Pipe, topic: str, key_serializer: Serializer, value_serializer: Serializer) -> None:
        self._pipe = pipe
        self._topic = topic
        self._key_serializer = key_serializer
        self._value_serializer = value_serializer

    def pipe_input(self, key: K | None, value: V | None, timestamp: int = 0, headers: Headers | None = None) -> None:
        """Write a record; on return it is processed completely, with all its results.

        Args:
            key: May be None.
            value: May be None.
            timestamp: ms since the epoch.
            headers: Of the record.

        Raises:
            StreamsException: The topology failed; the cause is chained.
            ValueError: The topology does not read the topic, or the timestamp is negative.
        """
        if timestamp < 0:
            raise ValueError(f"Invalid timestamp: {timestamp}. Timestamp should always be non-negative or null.")
        key_bytes = self._key_serializer.serialize(self._topic, key)
        value_bytes = self._value_serializer.serialize(self._topic, value)
        self._pipe(self._topic, key_bytes, value_bytes, timestamp, list(headers or []))


class TestOutputTopic(Generic[K, V]):
    """A topic that the topology writes, created by `TopologyTestDriver.create_output_topic`.

    Args:
        topic: Name of the topic.
        records: Number of records, from 0.
        key_deserializer: Serde or deserializer of keys.
        value_deserializer: Serde or deserializer of values.

    Example:
        >>> from kafkapy.streams import Consumed, Produced, Serdes, StreamsBuilder
        >>> from kafkapy.streams.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> string = Serdes.string()
        >>> lines = builder.stream("lines", Consumed.with_(string, string))
        >>> lines.map_values(str.upper).to("loud", Produced.with_(string, string))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.create_input_topic("lines", string, string).pipe_input("a", "kafka")
        ...     driver.create_output_topic("loud", string, string).read_value()
        'KAFKA'
    """

    __test__ = False

    def __init__(
        self,
        topic: str,
        records: Callable[[], deque[ProducedRecord] | None],
        key_deserializer: Deserializer,
        value_deserializer: Deserializer,
    ) -> None:
        self._topic = topic
        self._records = records
        self._key_deserializer = key_deserializer
        self._value_deserializer = value_deserializer

    def is_empty(self) -> bool:
        return not self._records()

    def read_record(self) -> TestRecord:
        """Return the next record.

        Raises:
            LookupError: There is none.
        """
        records = self._records()
        if records is None:
            raise LookupError(f"Uninitialized topic: {self._topic}")
        if not records:
            raise LookupError(f"Empty topic: {self._topic}")
        record = records.popleft()
        return TestRecord(
            self._key_deserializer.deserialize(self._topic, record.key),
            self._value_deserializer.deserialize(self._topic, record.value),
            record.headers,
            record.timestamp,
        )

    def read_records_to_list(self) -> list[TestRecord]:
        """Return all remaining records."""
        records = []
        while not self.is_empty():
            records.append(self.read_record())
        return records

    def read_value(self) -> Any:
        """The value of the next record."""
        return self.read_record().value

    def read_key_values_to_map(self) -> dict[Any, Any]:
        """Return the last value of each key of the remaining records."""
        return {record.key: record.value for record in self.read_records_to_list()}
