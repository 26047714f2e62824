"""Converts and transforms consumed records to sink records."""

from __future__ import annotations

from typing import Any

from kafkapy.connect.converters.converter import Converter, HeaderConverter
from kafkapy.connect.data.schema_and_value import SchemaAndValue
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.headers import Header, Headers
from kafkapy.connect.records import SinkRecord
from kafkapy.connect.runtime.errors.processing_context import ProcessingContext
from kafkapy.connect.runtime.errors.retry_operator import RetryWithToleranceOperator
from kafkapy.connect.runtime.errors.stage import Stage
from kafkapy.connect.runtime.internal_sink_record import Consumed, InternalSinkRecord
from kafkapy.connect.runtime.transformation_chain import TransformationChain
from kafkapy.record.record_batch import TimestampType


class SinkRecordMaker:
    """One for each sink task; used on its thread.

    Attributes:
        converted: Number of records whose keys, values and headers could be converted.
    """

    def __init__(
        self,
        key_converter: Converter,
        value_converter: Converter,
        header_converter: HeaderConverter,
        chain: TransformationChain,
        operator: RetryWithToleranceOperator,
    ) -> None:
        self._key_converter = key_converter
        self._value_converter = value_converter
        self._header_converter = header_converter
        self._chain = chain
        self._operator = operator
        self.converted = 0

    def make(self, consumed: Consumed) -> InternalSinkRecord | None:
        """Return the record for the task; None if a transform has dropped it, or after a tolerated error.

        Raises:
            ConnectException: The conversion or a transform has failed.
        """
        context = None
        try:
            converted = self._converted(consumed)
        except Exception:
            context = ProcessingContext(consumed)
            retried = self._convert_with_retries(context, consumed)
            if retried is None:
                return None
            converted = retried
        self.converted += 1
        if self._chain.is_empty:
            return converted
        context = context or ProcessingContext(consumed)
        record = self._chain.apply(context, converted)
        if record is None or context.failed:
            return None
        return InternalSinkRecord.of(record, consumed)

    def _converted(self, consumed: Consumed) -> InternalSinkRecord:
        topic, sent = consumed.topic, consumed.headers
        key = self._key_converter.to_connect_data(topic, consumed.key, sent)
        value = self._value_converter.to_connect_data(topic, consumed.value, sent)
        return _record(consumed, key, value, self._headers(consumed) if sent else Headers())

    def _convert_with_retries(self, context: ProcessingContext, consumed: Consumed) -> InternalSinkRecord | None:
        """Convert a record that has failed once, with the retries and tolerance of the task's operator."""
        topic, sent = consumed.topic, consumed.headers
        run, keys, values = self._operator.execute, self._key_converter, self._value_converter
        key = run(context, lambda: keys.to_connect_data(topic, consumed.key, sent), Stage.KEY_CONVERTER, type(keys))
        value = run(
            context, lambda: values.to_connect_data(topic, consumed.value, sent), Stage.VALUE_CONVERTER, type(values)
        )
        headers = run(context, lambda: self._headers(consumed), Stage.HEADER_CONVERTER, type(self._header_converter))
        if context.failed or key is None or value is None or headers is None:
            return None
        return _record(consumed, key, value, headers)

    def _headers(self, consumed: Consumed) -> Headers:
        converter, topic = self._header_converter, consumed.topic
        headers = []
        for key, value in consumed.headers:
            made = converter.to_connect_header(topic, key, value)
            headers.append(Header(key, made.schema, made.value))
        return Headers(headers)


def _record(consumed: Consumed, key: SchemaAndValue, value: SchemaAndValue, headers: Headers) -> InternalSinkRecord:
    timestamp: int | None = consumed.timestamp
    if consumed.timestamp < 0:
        if consumed.timestamp != -1:
            raise ConnectException(f"Invalid record timestamp {consumed.timestamp}")
        timestamp = None
    record = InternalSinkRecord(
        consumed.topic,
        consumed.partition,
        key.schema,
        key.value,
        value.schema,
        value.value,
        consumed.offset,
        timestamp,
        _TIMESTAMP_TYPES[consumed.timestamp_type],
        headers,
    )
    record.consumed = consumed
    return record


_TIMESTAMP_TYPES: dict[int, Any] = {-1: None, 0: TimestampType.CREATE_TIME, 1: TimestampType.LOG_APPEND_TIME}


def place_of(record: SinkRecord) -> tuple[str | None, int | None]:
    """Return topic and partition of a consumed record."""
    return record.original_topic, record.original_kafka_partition
