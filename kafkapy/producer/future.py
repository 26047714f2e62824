"""Futures that `send` returns (kafka-python's `producer.future`).

A future only refers to a batch and an index, because hundreds of thousands are made in a second. The batch has the
result and computes that of one record on access.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import KafkaTimeoutError

T = TypeVar("T")


class RecordMetadata(NamedTuple):
    """Where a record went.

    Attributes:
        topic: Name of the topic.
        partition: Partition number.
        topic_partition: Both as a `TopicPartition`.
        offset: Offset in the partition; -1: the broker didn't say (acks=0).
        timestamp: ms since the epoch; the broker's if the topic has LogAppendTime.
        checksum: Always None: message format v2 has none.
        serialized_key_size: Size of the key in bytes; -1: none.
        serialized_value_size: Size of the value in bytes; -1: none.
        serialized_header_size: Size of the headers in bytes; -1: none.

    Example:
        >>> sent = RecordMetadata("clicks", 0, TopicPartition("clicks", 0), 42, 1_700_000_000_000, None, -1, 4, -1)
        >>> sent.offset
        42
    """

    topic: str
    partition: int
    topic_partition: TopicPartition
    offset: int
    timestamp: int
    checksum: int | None
    serialized_key_size: int
    serialized_value_size: int
    serialized_header_size: int


class BatchMetadata(NamedTuple):
    """Where a run of records of one `send_many` went: `record_count` records at `offset` and after.

    Attributes:
        topic: Name of the topic.
        partition: Partition number.
        offset: Offset of the first record; -1: the broker didn't say (acks=0).
        timestamp: Of the first record, in ms since the epoch; the broker's if the topic has LogAppendTime.
        record_count: Number of records.

    Example:
        >>> BatchMetadata("clicks", 0, 42, -1, 100).record_count
        100
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    record_count: int


class SentRecords(Protocol):
    """The interface of a sent batch that futures use. Thread-safe."""

    topic_partition: TopicPartition
    done: bool

    def wait(self, timeout: float | None) -> bool:
        """Wait for at most `timeout` seconds; return whether the batch is done."""
        ...

    def when_done(self, f: Callable[[], object]) -> None:
        """Call `f` when the batch is done; immediately if it is."""
        ...

    def metadata_of(self, index: int) -> RecordMetadata | None: ...

    def error_of(self, index: int) -> BaseException | None: ...

    def batch_metadata(self) -> list[BatchMetadata]: ...

    def first_error(self) -> BaseException | None: ...


class DeliveryFuture(Generic[T]):
    """kafka-python's `Future`. Thread-safe. Callbacks run on the client's own thread, or immediately if it is done."""

    __slots__ = ()

    @property
    def is_done(self) -> bool:
        raise NotImplementedError

    @property
    def value(self) -> T | None:
        """Return the result; None if there is none."""
        raise NotImplementedError

    @property
    def exception(self) -> BaseException | None:
        """Return the error; None if there is none."""
        return self._error

    @property
    def _error(self) -> BaseException | None:
        raise NotImplementedError

    def _wait(self, timeout: float | None) -> bool:
        raise NotImplementedError

    def _when_done(self, f: Callable[[], object]) -> None:
        raise NotImplementedError

    def succeeded(self) -> bool:
        return self.is_done and self._error is None

    def failed(self) -> bool:
        return self.is_done and self._error is not None

    def retriable(self) -> bool:
        return bool(getattr(self._error, "retriable", False)) if self.is_done else False

    def get(self, timeout: float | None = None) -> T:
        """Wait for the result.

        Args:
            timeout: The longest time to wait, in seconds. None (default): no limit.

        Raises:
            KafkaTimeoutError: There is no result within `timeout`.
            KafkaError: The record could not be delivered.
        """
        if not self._wait(timeout):
            raise KafkaTimeoutError(f"Timeout after waiting for {timeout} secs.")
        error = self._error
        if error is not None:
            raise error
        value = self.value
        assert value is not None
        return value

    def add_callback(self, f: Callable[..., object], *args: Any, **kwargs: Any) -> Self:
        """Call `f(*args, result, **kwargs)` when it succeeds.

        Args:
            f: The function.
            args: Its first arguments.
            kwargs: Its keyword arguments.
        """
        call = partial(f, *args, **kwargs) if args or kwargs else f
        self._when_done(lambda: call(self.value) if self._error is None else None)
        return self

    def add_errback(self, f: Callable[..., object], *args: Any, **kwargs: Any) -> Self:
        """Call `f(*args, exception, **kwargs)` when it fails.

        Args:
            f: The function.
            args: Its first arguments.
            kwargs: Its keyword arguments.
        """
        call = partial(f, *args, **kwargs) if args or kwargs else f
        self._when_done(lambda: call(self._error) if self._error is not None else None)
        return self

    def add_both(self, f: Callable[..., object], *args: Any, **kwargs: Any) -> Self:
        """Call `f` with the result or the exception.

        Args:
            f: The function.
            args: Its first arguments.
            kwargs: Its keyword arguments.
        """
        self.add_callback(f, *args, **kwargs)
        return self.add_errback(f, *args, **kwargs)


class FutureRecordMetadata(DeliveryFuture[RecordMetadata]):
    """The result of one `send`. Programs get it from a producer.

    Args:
        batch: The batch that has the record.
        index: Position of the record in the batch, from 0.

    Example:
        >>> from kafkapy import KafkaProducer
        >>> with KafkaProducer(bootstrap_servers="localhost:9092") as producer:
        ...     future = producer.send("example-future", b"hello")
        >>> future.succeeded(), future.get().partition
        (True, 0)
    """

    __slots__ = ("_batch", "_index")

    def __init__(self, batch: SentRecords, index: int) -> None:
        self._batch = batch
        self._index = index

    @property
    def is_done(self) -> bool:
        return self._batch.done

    @property
    def value(self) -> RecordMetadata | None:
        return self._batch.metadata_of(self._index)

    @property
    def _error(self) -> BaseException | None:
        return self._batch.error_of(self._index)

    def _wait(self, timeout: float | None) -> bool:
        return self._batch.wait(timeout)

    def _when_done(self, f: Callable[[], object]) -> None:
        self._batch.when_done(f)

    def __repr__(self) -> str:
        return f"<FutureRecordMetadata {self._batch.topic_partition} {'done' if self.is_done else 'pending'}>"


class FutureBatchMetadata(DeliveryFuture[list[BatchMetadata]]):
    """The result of one `send_many`: in the order of the records within each partition.

    It fails with the first error of its batches; `batches` has those that succeeded nevertheless. Programs get it from
    a producer.

    Args:
        batches: The batches that have the records.

    Example:
        >>> from kafkapy import KafkaProducer
        >>> with KafkaProducer(bootstrap_servers="localhost:9092") as producer:
        ...     future = producer.send_many("example-futures", [b"hello", b"world"])
        >>> sum(batch.record_count for batch in future.get())
        2
    """

    __slots__ = ("_batches",)

    def __init__(self, batches: Sequence[SentRecords]) -> None:
        self._batches = batches

    @property
    def is_done(self) -> bool:
        return all(batch.done for batch in self._batches)

    @property
    def batches(self) -> list[BatchMetadata]:
        """Return the batches that were written by now."""
        return [part for batch in self._batches if batch.done for part in batch.batch_metadata()]

    @property
    def value(self) -> list[BatchMetadata] | None:
        return self.batches if self.is_done and self._error is None else None

    @property
    def _error(self) -> BaseException | None:
        return next((error for batch in self._batches if (error := batch.first_error()) is not None), None)

    def _wait(self, timeout: float | None) -> bool:
        deadline = None if timeout is None else time.monotonic() + timeout
        return all(
            batch.wait(None if deadline is None else max(0.0, deadline - time.monotonic())) for batch in self._batches
        )

    def _when_done(self, f: Callable[[], object]) -> None:
        waiting = _Countdown(len(self._batches), f)
        for batch in self._batches:
            batch.when_done(waiting)
        if not self._batches:
            f()

    def __repr__(self) -> str:
        return f"<FutureBatchMetadata of {len(self._batches)} batches {'done' if self.is_done else 'pending'}>"


class _Countdown:
    """Calls `f` when it was itself called `count` times."""

    def __init__(self, count: int, f: Callable[[], object]) -> None:
        self._calls = [f] * count

    def __call__(self) -> None:
        f = self._calls.pop()  # atomic, so that exactly one call finds the list empty afterwards
        if not self._calls:
            f()
