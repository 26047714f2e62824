"""Reads one of MirrorMaker's internal topics from its beginning, and optionally follows it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from kafkapy.connect.errors import ConnectException
from kafkapy.errors import KafkaTimeoutError, WakeupException
from kafkapy.protocol.errors import KafkaError
from kafkapy.structs import TopicPartition

log = logging.getLogger("kafkapy.mirror")

_POLL_MS = 1_000
_ERROR_PAUSE_S = 1.0
_TOPIC_TIMEOUT_S = 60.0


class TopicReader:
    """Invariant: the consumer is used by one thread at a time: that of `read_to_end`, then the reader's own, from `follow`
    on. Records are handed over in the topic's order.
    """

    def __init__(
        self,
        topic: str,
        make_consumer: Callable[[], Any],
        on_record: Callable[[Any], None],
        topic_timeout_s: float = _TOPIC_TIMEOUT_S,
    ) -> None:
        """
        Args:
            topic: Partition 0 of it is read.
            make_consumer: Creates a consumer without a group.
            on_record: Called with each record; a ValueError is logged, and the record is skipped.
            topic_timeout_s: How long to wait for the topic, in s. Default: 60.
        """
        self._topic = topic
        self._partition = TopicPartition(topic, 0)
        self._make_consumer = make_consumer
        self._on_record = on_record
        self._topic_timeout_s = topic_timeout_s
        self._consumer: Any = None
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def read_to_end(self) -> bool:
        """Read the topic up to its present end.

        Returns:
            False if `stop` was called before the end was reached.

        Raises:
            ConnectException: The topic does not exist.
            KafkaError: The cluster refuses.
        """
        consumer = self._consumer = self._make_consumer()
        if not self._wait_for_topic():
            return False
        consumer.assign([self._partition])
        consumer.seek_to_beginning(self._partition)
        end = consumer.end_offsets([self._partition])[self._partition]
        while not self._stopped.is_set():
            if (consumer.position(self._partition) or 0) >= end:
                return True
            self._poll()
        return False

    def follow(self) -> None:
        """Continue to read, on a thread of its own."""
        self._thread = threading.Thread(target=self._run, name=f"mirror-{self._topic}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Request the end. Can be called from any thread."""
        self._stopped.set()
        consumer = self._consumer
        if consumer is not None:
            consumer.wakeup()

    def close(self) -> None:
        """End reading and close the consumer. Call it after `read_to_end` has returned."""
        self.stop()
        if self._thread is not None:
            self._thread.join()
        if self._consumer is not None:
            try:
                self._consumer.close()
            except (KafkaError, WakeupException) as error:
                log.warning("Closing the consumer of %s failed: %s", self._topic, error)
            self._consumer = None

    def reset(self) -> None:
        """Close the consumer after `read_to_end` has failed, so that it can be called again."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _wait_for_topic(self) -> bool:
        deadline = time.monotonic() + self._topic_timeout_s
        while not self._stopped.is_set():
            if 0 in (self._consumer.partitions_for_topic(self._topic) or ()):
                return True
            if time.monotonic() >= deadline:
                raise ConnectException(f"Topic {self._topic} does not exist, or this principal may not describe it")
            self._stopped.wait(_ERROR_PAUSE_S)
        return False

    def _poll(self) -> None:
        try:
            batches = self._consumer.poll(timeout_ms=_POLL_MS)
        except WakeupException:
            return
        except KafkaError as error:
            if not (isinstance(error, KafkaTimeoutError) or getattr(error, "retriable", False)):
                raise
            log.warning("Reading topic %s failed and is tried again: %s", self._topic, error)
            self._stopped.wait(_ERROR_PAUSE_S)
            return
        for records in batches.values():
            for record in records:
                try:
                    self._on_record(record)
                except ValueError as error:
                    log.warning("Offset %d of topic %s is left out: %s", record.offset, self._topic, error)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._poll()
            except KafkaError as error:
                log.error("Reading topic %s failed and is tried again: %s", self._topic, error)
                self._stopped.wait(_ERROR_PAUSE_S)
