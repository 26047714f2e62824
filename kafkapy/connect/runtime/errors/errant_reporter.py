"""Reports records that a sink task cannot write (KIP-610; Kafka's `WorkerErrantRecordReporter`)."""

from __future__ import annotations

import threading
from collections.abc import Collection
from concurrent.futures import Future

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.connect.converters.converter import Converter, HeaderConverter
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.records import SinkRecord
from kafkapy.connect.runtime.errors.processing_context import ProcessingContext
from kafkapy.connect.runtime.errors.retry_operator import RetryWithToleranceOperator
from kafkapy.connect.runtime.errors.stage import Stage
from kafkapy.connect.runtime.internal_sink_record import InternalSinkRecord
from kafkapy.consumer.records import ConsumerRecord


class _SinkTaskClass:
    """Represents the class of sink tasks in dead letters and in the log."""

    java_class = "org.apache.kafka.connect.sink.SinkTask"


class WorkerErrantRecordReporter:
    """One for each sink task.

    Invariant: `_futures` has the unfinished reports by the record's source partition, under `_lock`; a partition's
    offsets are committed after its reports are finished. `report` can be called from any thread.
    """

    def __init__(
        self,
        operator: RetryWithToleranceOperator,
        key_converter: Converter,
        value_converter: Converter,
        header_converter: HeaderConverter,
    ) -> None:
        """
        Args:
            operator: The task's operator for errors.
            key_converter: Serializes keys of records that the task itself has created.
            value_converter: Serializes their values.
            header_converter: Serializes their headers.
        """
        self._operator = operator
        self._key_converter = key_converter
        self._value_converter = value_converter
        self._header_converter = header_converter
        self._lock = threading.Lock()
        self._futures: dict[TopicPartition, list[Future[None]]] = {}
        self._first_error: BaseException | None = None

    def report(self, record: SinkRecord, error: BaseException) -> Future[None]:
        consumed = record.consumed if isinstance(record, InternalSinkRecord) else self._consumed(record)
        with self._lock:
            self._first_error = self._first_error or error
        future = self._operator.execute_failed(ProcessingContext(consumed), Stage.TASK_PUT, _SinkTaskClass, error)
        with self._lock:
            if not _is_safe(future):
                futures = self._futures.setdefault(TopicPartition(consumed.topic, consumed.partition), [])
                futures[:] = [each for each in futures if not _is_safe(each)]
                futures.append(future)
        return future

    def await_futures(self, partitions: Collection[TopicPartition]) -> None:
        """Wait until the reports of these partitions are finished. Raises ConnectException if one has failed."""
        with self._lock:
            waiting = [future for partition in partitions for future in self._futures.get(partition, ())]
        for future in waiting:
            try:
                future.result()
            except Exception as error:  # it stays in `_futures`: no later commit may pass it
                raise ConnectException.of(error) from error
        with self._lock:
            for partition in partitions:
                left = [future for future in self._futures.pop(partition, ()) if not _is_safe(future)]
                if left:
                    self._futures[partition] = left

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Drop the reports of lost partitions, for which no offsets will be committed here."""
        with self._lock:
            for partition in partitions:
                self._futures.pop(partition, None)

    def raise_untolerated(self) -> None:
        """Raise ConnectException if a report was not tolerated, although the task has caught the exception."""
        if self._first_error is not None and not self._operator.within_tolerance:
            raise ConnectException("Tolerance exceeded in error handler") from self._first_error

    def _consumed(self, record: SinkRecord) -> ConsumerRecord[bytes | None, bytes | None]:
        """Serialize a record that the task has created."""
        topic = record.topic or ""
        key = self._key_converter.from_connect_data(topic, record.key_schema, record.key)
        value = self._value_converter.from_connect_data(topic, record.value_schema, record.value)
        headers = [
            (header.key, self._header_converter.from_connect_header(topic, header.key, header.schema, header.value))
            for header in record.headers
        ]
        sizes = [-1 if part is None else len(part) for part in (key, value)]
        timestamp = -1 if record.timestamp is None else record.timestamp
        kind = -1 if record.timestamp_type is None else int(record.timestamp_type)
        place = (topic, record.kafka_partition or 0, -1, record.kafka_offset, timestamp, kind)
        return ConsumerRecord(*place, key, value, headers, None, sizes[0], sizes[1], -1)


def _is_safe(future: Future[None]) -> bool:
    return future.done() and future.exception() is None
