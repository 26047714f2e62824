"""Records of a source task in the producer's form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kafkapy.connect.converters.converter import Converter, HeaderConverter
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.runtime.errors.processing_context import ProcessingContext
from kafkapy.connect.runtime.errors.retry_operator import RetryWithToleranceOperator
from kafkapy.connect.runtime.errors.stage import Stage


@dataclass
class OutgoingRecord:
    """A record in the producer's form."""

    topic: str
    partition: int | None
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]] | None


class SourceConversion:
    """Converts keys, values and headers.

    Args:
        key_converter: Of keys.
        value_converter: Of values.
        header_converter: Of headers.
        operator: Retries conversions, and tolerates errors.
    """

    def __init__(
        self,
        key_converter: Converter,
        value_converter: Converter,
        header_converter: HeaderConverter,
        operator: RetryWithToleranceOperator,
    ) -> None:
        self._key_converter = key_converter
        self._value_converter = value_converter
        self._header_converter = header_converter
        self._operator = operator

    def convert(self, context: ProcessingContext, record: SourceRecord | None) -> OutgoingRecord | None:
        """Convert a record; None if it was dropped, or a tolerated error occurred."""
        if record is None or context.failed:
            return None
        try:
            return self._converted(record)
        except Exception:
            return self._convert_with_retries(context, record)

    def _converted(self, record: SourceRecord) -> OutgoingRecord:
        topic: Any = record.topic
        headers = MutableHeaders(self._convert_headers(topic, record) if record.headers else ())
        key = self._key_converter.from_connect_data(topic, record.key_schema, record.key, headers)
        value = self._value_converter.from_connect_data(topic, record.value_schema, record.value, headers)
        timestamp = check_timestamp(record.timestamp)
        return OutgoingRecord(topic, record.kafka_partition, timestamp, key, value, headers or None)

    def _convert_with_retries(self, context: ProcessingContext, record: SourceRecord) -> OutgoingRecord | None:
        """Convert a record that has failed once, with the retries and tolerance of the task's operator."""
        run = self._operator.execute
        topic: Any = record.topic
        headers: list[tuple[str, bytes | None]] | None = run(
            context, lambda: self._convert_headers(topic, record), Stage.HEADER_CONVERTER, type(self._header_converter)
        )
        sent_headers = MutableHeaders(headers or ())
        key = run(
            context,
            lambda: self._key_converter.from_connect_data(topic, record.key_schema, record.key, sent_headers),
            Stage.KEY_CONVERTER,
            type(self._key_converter),
        )
        value = run(
            context,
            lambda: self._value_converter.from_connect_data(topic, record.value_schema, record.value, sent_headers),
            Stage.VALUE_CONVERTER,
            type(self._value_converter),
        )
        if context.failed:
            return None
        timestamp = check_timestamp(record.timestamp)
        return OutgoingRecord(topic, record.kafka_partition, timestamp, key, value, list(sent_headers) or None)

    def _convert_headers(self, topic: str, record: SourceRecord) -> list[tuple[str, bytes | None]]:
        converter = self._header_converter
        return [
            (header.key, converter.from_connect_header(topic, header.key, header.schema, header.value))
            for header in record.headers
        ]


class MutableHeaders(list[tuple[str, "bytes | None"]]):
    """The headers of an output record, to which a converter may add (Kafka's `RecordHeaders`)."""

    def add(self, key: str, value: bytes | None) -> None:
        self.append((key, value))


def check_timestamp(timestamp: int | None) -> int | None:
    """Return the timestamp in the producer's form; -1 means none. Raises ConnectException for smaller values."""
    if timestamp is None or timestamp >= 0:
        return timestamp
    if timestamp == -1:
        return None
    raise ConnectException(f"Invalid record timestamp {timestamp}")
