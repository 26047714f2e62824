"""Keeps the global tables of an instance up to date, on a thread of its own (Kafka's `GlobalStreamThread`)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.streams.assignment.task_id import TaskId
from kafkapy.streams.errors import StreamsException
from kafkapy.streams.runtime.state_directory import StateDirectory
from kafkapy.streams.task.global_task import GlobalTask

log = logging.getLogger("kafkapy.streams")

GLOBAL_TASK: Final = TaskId(-1, -1)
"""Names the directory of global tables."""


class GlobalStreamThread(threading.Thread):
    """Reads all partitions of the topics of global tables.

    Invariants: the thread alone changes the stores, and holds `_lock` while it does; after `wait_until_ready` each store has what
    its topic had when the thread was started.

    Args:
        name: Of the thread.
        task: The tables.
        consumer: Without a group.
        directory: Of the instance.
        poll_ms: How long is waited for records.
        on_failure: Called with what ended the thread.
    """

    def __init__(
        self,
        name: str,
        task: GlobalTask,
        consumer: Any,
        directory: StateDirectory,
        poll_ms: int,
        on_failure: Callable[[BaseException], None],
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._task = task
        self._consumer = consumer
        self._directory = directory
        self._poll_ms = poll_ms
        self._on_failure = on_failure
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._ready = threading.Event()
        self._error: BaseException | None = None

    def store(self, name: str) -> LockedStore | None:
        """A global store as tasks may read it; None if there is none of this name."""
        found = self._task.store(name)
        return None if found is None else LockedStore(found, self._lock)

    def wait_until_ready(self) -> None:
        """Until the tables are read.

        Raises:
            StreamsException: They cannot be; the cause is chained.
        """
        self._ready.wait()
        if self._error is not None:
            raise StreamsException("The global tables cannot be read") from self._error

    def stop(self) -> None:
        """End after what is under way."""
        self._stopping.set()
        self._consumer.wakeup()

    def run(self) -> None:
        try:
            self._restore()
            self._ready.set()
            while not self._stopping.is_set():
                self._poll()
        except BaseException as error:
            if not self._stopping.is_set():
                self._error = error
                log.error("%s failed", self.name, exc_info=True)
                if self._ready.is_set():
                    self._on_failure(error)
        finally:
            self._ready.set()
            self._close()

    def _restore(self) -> None:
        self._task.initialize()
        partitions = [
            TopicPartition(topic, number)
            for topic in self._task.topology.source_topics
            for number in self._partitions_of(topic)
        ]
        beginnings, ends = self._consumer.beginning_offsets(partitions), self._consumer.end_offsets(partitions)
        kept = self._directory.read_checkpoint(GLOBAL_TASK)
        self._consumer.assign(partitions)
        for partition in partitions:
            start = max(kept.get(partition, 0), beginnings[partition])
            self._consumer.seek(partition, start)
            self._task.offsets[partition] = start
        while not self._stopping.is_set() and any(self._task.offsets[one] < end for one, end in ends.items()):
            self._poll()
            for partition in partitions:  # what ends with a transaction's marker has no last record
                self._task.offsets[partition] = max(
                    self._task.offsets[partition], self._consumer.position(partition) or 0
                )
        log.info("%s: the global tables are read", self.name)

    def _partitions_of(self, topic: str) -> list[int]:
        numbers = sorted(self._consumer.partitions_for_topic(topic))
        if not numbers:
            raise StreamsException(f"There are no partitions available for topic {topic}")
        return numbers

    def _poll(self) -> None:
        found = self._consumer.poll(self._poll_ms)
        if found:
            with self._lock:
                for records in found.values():
                    for record in records:
                        self._task.update(record)

    def _close(self) -> None:
        try:
            if self._error is None:
                self._task.flush()
                offsets = {TopicPartition(*partition): offset for partition, offset in self._task.offsets.items()}
                self._directory.task_path(GLOBAL_TASK).mkdir(parents=True, exist_ok=True)
                self._directory.write_checkpoint(GLOBAL_TASK, offsets)
            self._task.close()
        except Exception:
            log.warning("%s could not be closed", self.name, exc_info=True)
        finally:
            self._consumer.close()


class LockedStore:
    """A store that another thread changes: each call holds the lock, and iterators are read to their end within it."""

    def __init__(self, store: Any, lock: threading.Lock) -> None:
        self._store = store
        self._lock = lock

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """That of the store: operators ask by isinstance what kind they have."""
        return type(self._store)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        def locked(*args: Any, **kwargs: Any) -> Any:
            with self._lock:
                found = method(*args, **kwargs)
                return iter(list(found)) if isinstance(found, Iterator) else found

        return locked
