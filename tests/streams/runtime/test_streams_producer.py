"""Whether a record that was refused ends the thread, and transactions that fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import (
    InvalidProducerEpochError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    ProducerFencedError,
    TopicAuthorizationFailedError,
    TransactionAbortableError,
)
from kafkapy.producer.future import BatchMetadata
from kafkapy.streams.errors import StreamsException, TaskMigratedException
from kafkapy.streams.runtime.streams_producer import StreamsProducer
from kafkapy.streams.task.record_collector import ProducedRecord
from kafkapy.structs import OffsetAndMetadata

RECORD = ProducedRecord("out", None, b"k", b"v", 0, [])


class FakeFuture:
    def __init__(self, error: Exception) -> None:
        self._error = error

    def add_errback(self, f: Callable[[BaseException], object]) -> None:
        f(self._error)


class FakeProducer:
    """Refuses each record: at once, or by its future."""

    def __init__(self, error: Exception, *, at_once: bool) -> None:
        self._error = error
        self._at_once = at_once

    def send(self, *args: Any) -> FakeFuture:
        if self._at_once:
            raise self._error
        return FakeFuture(self._error)

    send_many = send

    def flush(self) -> None:
        pass


def producer(error: Exception, *, at_once: bool = False) -> StreamsProducer:
    fake: Any = FakeProducer(error, at_once=at_once)
    return StreamsProducer(lambda: fake, exactly_once=False)


@pytest.mark.parametrize("at_once", [False, True])
def test_a_handler_decides_about_a_record_that_is_refused(at_once: bool) -> None:
    errors: list[Exception] = []

    def is_fatal(error: Exception) -> bool:
        errors.append(error)
        return len(errors) > 1

    made = producer(MessageSizeTooLargeError(), at_once=at_once)
    made.send_watched(RECORD, is_fatal)
    made.flush()
    made.send_watched(RECORD, is_fatal)
    with pytest.raises(StreamsException, match="sending records"):
        made.flush()
    assert len(errors) == 2


@pytest.mark.parametrize("error", [TopicAuthorizationFailedError(), KafkaTimeoutError()])
def test_other_errors_are_fatal(error: Exception) -> None:
    made = producer(error)
    made.send_watched(RECORD, lambda _: False)
    with pytest.raises(StreamsException):
        made.flush()


@pytest.mark.parametrize("error", [KafkaTimeoutError("no answer"), TransactionAbortableError(), ProducerFencedError()])
def test_a_transaction_that_cannot_be_committed_is_aborted_and_done_again(error: Exception) -> None:
    class Transactional(FakeProducer):
        def init_transactions(self) -> None: ...

        def begin_transaction(self) -> None: ...

        def commit_transaction(self) -> None:
            raise error

        def send_offsets_to_transaction(self, *args: Any) -> None: ...

    fake: Any = Transactional(error, at_once=True)
    made = StreamsProducer(lambda: fake, exactly_once=True)
    with pytest.raises(TaskMigratedException):
        made.commit({TopicPartition("in", 0): OffsetAndMetadata(1, "")}, None)


@pytest.mark.parametrize("error", [InvalidProducerEpochError(), ProducerFencedError()])
def test_a_producer_that_is_fenced_refuses_records(error: Exception) -> None:
    """No operator has failed, so that its handler is not asked."""
    with pytest.raises(TaskMigratedException):
        made = producer(error, at_once=True)
        made.send(RECORD)
        made.send_buffered()
    with pytest.raises(TaskMigratedException):
        producer(error, at_once=True).send_watched(RECORD, lambda _: False)


class RecordingProducer:
    """Keeps what it gets; the offsets of a topic count from 0."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def send_many(self, topic: str, values: Any, keys: Any, partition: Any, headers: Any, timestamps: Any) -> Any:
        self.calls.append((topic, partition, list(zip(keys, values, timestamps, strict=True)), headers))
        return SentBatches([BatchMetadata(topic, partition or 0, 10, 0, len(values))])

    def send_arrow(self, topic: str, rows: Any) -> Any:
        self.calls.append((topic, rows))
        return SentBatches([])

    def flush(self) -> None:
        self.calls.append("flush")

    def begin_transaction(self) -> None:
        self.calls.append("begin")

    def init_transactions(self) -> None:
        pass

    def commit_transaction(self) -> None:
        self.calls.append("commit")

    def abort_transaction(self) -> None:
        self.calls.append("abort")


class SentBatches:
    def __init__(self, batches: list[BatchMetadata]) -> None:
        self._batches = batches

    def add_errback(self, f: Any) -> None:
        pass

    def add_callback(self, f: Any) -> None:
        f(self._batches)


def recorded(*, exactly_once: bool = False) -> tuple[StreamsProducer, list[Any]]:
    fake: Any = RecordingProducer()
    return StreamsProducer(lambda: fake, exactly_once), fake.calls


def test_records_are_sent_together() -> None:
    made, calls = recorded()
    made.send(ProducedRecord("out", None, b"a", b"1", 5, []))
    made.send(ProducedRecord("a-changelog", 3, b"a", None, 6, []))
    made.send(ProducedRecord("out", None, None, b"2", 7, [("h", None)]))
    assert calls == []
    made.flush()
    assert calls == [
        ("out", None, [(b"a", b"1", 5), (None, b"2", 7)], [[], [("h", None)]]),
        ("a-changelog", 3, [(b"a", None, 6)], None),
        "flush",
    ]
    assert made.offsets == {TopicPartition("a-changelog", 3): 10}


def test_many_records_are_not_kept_back() -> None:
    made, calls = recorded()
    for _ in range(2500):
        made.send(RECORD)
    assert [len(rows) for _, _, rows, _ in calls] == [1000, 1000]
    made.send(ProducedRecord("out", None, b"k", bytes(2 << 20), 0, []))
    assert len(calls) == 3


def test_columns_come_after_the_records_before_them() -> None:
    made, calls = recorded()
    made.send(RECORD)
    made.send_batch("out", "rows")
    assert calls == [("out", None, [(b"k", b"v", 0)], None), ("out", "rows")]


def test_the_changes_of_a_store_come_after_the_records_before_them() -> None:
    made, calls = recorded(exactly_once=True)
    made.send(ProducedRecord("a-changelog", 3, b"a", b"1", 6, []))
    made.send_columns("a-changelog", 3, [b"a"] * 1500, [b"2"] * 1500, [7] * 1500)
    assert calls[:2] == ["begin", ("a-changelog", 3, [(b"a", b"1", 6)], None)]
    assert [(topic, partition, len(rows), headers) for topic, partition, rows, headers in calls[2:]] == [
        ("a-changelog", 3, 1000, None),
        ("a-changelog", 3, 500, None),
    ]
    assert made.offsets == {TopicPartition("a-changelog", 3): 509}


def test_a_transaction_has_the_records_before_its_commit() -> None:
    made, calls = recorded(exactly_once=True)
    made.send(RECORD)
    made.commit({}, None)
    made.send(RECORD)
    made.abort()
    made.commit({}, None)
    assert calls == ["begin", ("out", None, [(b"k", b"v", 0)], None), "commit"]
