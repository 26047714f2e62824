"""A topic as a shared log: a thread reads it from its beginning, any thread writes (Kafka's `KafkaBasedLog`)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Any, Protocol

from kafkapy.connect.errors import ConnectException, StartCancelled
from kafkapy.errors import KafkaTimeoutError, WakeupException
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.structs import TopicPartition

log = logging.getLogger("kafkapy.connect.topics")

_LATEST = -1
_POLL_MS = 1_000
_ERROR_PAUSE_S = 0.2
_PARTITIONS_TIMEOUT_S = 60.0
_END_OFFSETS_TIMEOUT_S = 900.0


class LogRecord(Protocol):
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def offset(self) -> int: ...


class LogClients(Protocol):
    """Creates the clients of a log. A log without a producer is read-only."""

    def admin(self) -> Any: ...
    def consumer(self) -> Any: ...
    def producer(self) -> Any: ...


class KafkaBasedLog:
    """Invariant: records are passed to `on_record` in the topic's order, by `start` and then by the log's thread only.
    A future of `read_to_end` is done after all records that were in the topic at the call have been passed. The
    consumer, with its admin client, is used by one thread at a time: that of `start`, then the log's.
    """

    def __init__(
        self,
        topic: str,
        clients: LogClients,
        on_record: Callable[[LogRecord], None],
        ensure_topic: Callable[[Any], None] | None = None,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """
        Args:
            topic: Name of the topic.
            clients: Creates the clients. on_record: Called with each record. ensure_topic: Creates or checks the topic
                with the admin client. Default: the topic is not checked. is_cancelled: Asked during `start`; once it
                returns True, that raises. Default: never.
        """
        self.topic = topic
        self.partition_count = 0
        self._clients = clients
        self._on_record = on_record
        self._ensure_topic = ensure_topic
        self._admin: Any = None
        self._consumer: Any = None
        self._producer: Any = None
        self._partitions: list[TopicPartition] = []
        self._lock = threading.Lock()
        self._waiting: list[Future[None]] = []
        self._is_cancelled = is_cancelled
        self._stopping = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Create the clients, read the topic to its end, and continue in the background.

        Raises:
            StartCancelled: `is_cancelled` has returned True.
            ConnectException: The topic has no partitions in the metadata after the time-out. ConfigException: The
                topic is unusable. KafkaError: A client could not be created, or the cluster refuses it.
        """
        self._admin = self._clients.admin()
        if self._ensure_topic is not None:
            self._ensure_topic(self._admin)
        self._producer = self._clients.producer()
        self._consumer = self._clients.consumer()
        numbers = self._find_partitions()
        self.partition_count = len(numbers)
        self._partitions = [TopicPartition(self.topic, number) for number in sorted(numbers)]
        self._consumer.assign(self._partitions)
        self._consumer.seek_to_beginning(*self._partitions)
        self._read_to(self._end_offsets(_END_OFFSETS_TIMEOUT_S), is_starting=True)
        self._thread = threading.Thread(target=self._run, name=f"connect-log-{self.topic}", daemon=True)
        self._thread.start()
        log.info("Read topic %s to its end", self.topic)

    def stop(self) -> None:
        """End the thread and close the clients. Pending futures of `read_to_end` fail."""
        with self._lock:
            self._stopping = True
        if self._thread is not None:
            self._consumer.wakeup()
            self._thread.join()
        for client in (self._producer, self._consumer, self._admin):
            if client is not None:
                try:
                    client.close()
                except Exception as error:
                    log.warning("Closing a client of topic %s failed: %s", self.topic, error)
        self._finish(self._take_waiting(), ConnectException(f"The log of topic {self.topic} was stopped"))

    def send(
        self, key: bytes | None, value: bytes | None, done: Callable[[BaseException | None], None] | None = None
    ) -> Future[None]:
        """Write a record.

        Args:
            key: Its key.
            value: Its value; None for a tombstone.
            done: Called with None or the error, on the producer's thread.

        Returns:
            A future that fails with the KafkaError of the write.
        """
        if self._producer is None:
            raise ConnectException("This log was made read-only and does not support write operations")
        written: Future[None] = Future()

        def finished(error: BaseException | None) -> None:
            if error is None:
                written.set_result(None)
            else:
                written.set_exception(error)
            if done is not None:
                done(error)

        try:
            sent = self._producer.send(self.topic, key=key, value=value)
        except KafkaError as error:
            finished(error)
        else:
            sent.add_callback(lambda _: finished(None))
            sent.add_errback(finished)
        return written

    def flush(self) -> None:
        if self._producer is not None:
            self._producer.flush()

    def read_to_end(self) -> Future[None]:
        """Return a future that is done when all records that are now in the topic were read, including those sent from
        here."""
        reached: Future[None] = Future()
        try:
            self.flush()
        except KafkaError as error:
            reached.set_exception(error)
            return reached
        with self._lock:
            stopping = self._stopping
            if not stopping:
                self._waiting.append(reached)
        if stopping:
            reached.set_exception(ConnectException(f"The log of topic {self.topic} was stopped"))
        else:
            self._consumer.wakeup()
        return reached

    # -- reading

    def _find_partitions(self) -> set[int]:
        deadline = time.monotonic() + _PARTITIONS_TIMEOUT_S
        pause = 0.1
        while True:
            found: set[int] = self._consumer.partitions_for_topic(self.topic) or set()
            if found:
                return found
            self._raise_if_refused()
            self._raise_if_cancelled()
            if time.monotonic() >= deadline:
                raise ConnectException(
                    f"Could not look up partition metadata for topic '{self.topic}' in the allotted period. This could "
                    "indicate a connectivity issue, unavailable topic partitions, or if this is your first use of the "
                    "topic it may have taken too long to create."
                )
            time.sleep(pause)
            pause = min(2 * pause, 1.0)

    def _raise_if_refused(self) -> None:
        """Raise ConnectException if the worker may not see the topic: its metadata will not come."""
        outcome = self._admin.describe_topics([self.topic])[self.topic]
        if isinstance(outcome, KafkaError) and outcome.error is Errors.TOPIC_AUTHORIZATION_FAILED:
            raise ConnectException(
                f"Not authorized to access topic '{self.topic}': allow the worker's user Create, Read, Write and "
                "DescribeConfigs on it"
            ) from outcome

    def _raise_if_cancelled(self) -> None:
        if self._is_cancelled():
            raise StartCancelled(f"Topic {self.topic} was not read to its end, because the worker stops")

    def _end_offsets(self, timeout_s: float = 0.0) -> dict[TopicPartition, int]:
        """Return the log's end offsets, including open transactions, so that a running commit is waited for."""
        deadline = time.monotonic() + timeout_s
        while True:
            results = self._admin.list_offsets(dict.fromkeys(self._partitions, _LATEST))
            errors = [found for found in results.values() if isinstance(found, KafkaError)]
            if not errors:
                return {partition: found.offset for partition, found in results.items()}
            if time.monotonic() >= deadline or not getattr(errors[0], "retriable", True) or self._stopping:
                raise errors[0]
            time.sleep(_ERROR_PAUSE_S)

    def _read_to(self, ends: dict[TopicPartition, int], is_starting: bool = False) -> None:
        while not self._stopping:
            if is_starting:
                self._raise_if_cancelled()
            if all((self._consumer.position(partition) or 0) >= end for partition, end in ends.items()):
                return
            try:
                self._poll()
            except WakeupException:
                continue

    def _poll(self) -> None:
        try:
            batches = self._consumer.poll(timeout_ms=_POLL_MS)
        except WakeupException:
            raise
        except KafkaError as error:
            log.error("Reading topic %s failed and is tried again: %s", self.topic, error)
            time.sleep(_ERROR_PAUSE_S)
            return
        for batch in batches.values():
            for record in batch:
                try:
                    self._on_record(record)
                except Exception:  # one bad record must not block the following ones
                    log.exception("Offset %d of topic %s cannot be taken in", record.offset, self.topic)

    def _run(self) -> None:
        while not self._stopping:
            waiting = self._take_waiting()
            try:
                if waiting:
                    self._read_to(self._end_offsets())
                    if self._stopping:
                        self._finish(waiting, ConnectException(f"The log of topic {self.topic} was stopped"))
                    else:
                        self._finish(waiting)
                self._poll()
            except WakeupException:
                continue
            except KafkaError as error:
                if isinstance(error, KafkaTimeoutError) or getattr(error, "retriable", False):
                    log.warning("Reading topic %s to its end failed and is tried again: %s", self.topic, error)
                    with self._lock:
                        self._waiting[:0] = [each for each in waiting if not each.done()]
                    time.sleep(_ERROR_PAUSE_S)
                else:
                    self._finish(waiting, error)
            except Exception as error:
                log.exception("The thread of topic %s goes on after an error", self.topic)
                self._finish(waiting, error)
                time.sleep(_ERROR_PAUSE_S)

    def _take_waiting(self) -> list[Future[None]]:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        return waiting

    @staticmethod
    def _finish(waiting: list[Future[None]], error: BaseException | None = None) -> None:
        for each in waiting:
            try:
                if error is None:
                    each.set_result(None)
                else:
                    each.set_exception(error)
            except InvalidStateError:
                pass  # the caller has cancelled the future
