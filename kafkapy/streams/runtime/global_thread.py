"""The thread that updates the global tables of an instance (Kafka's `GlobalStreamThread`)."""

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
"""The task id of the state directory of global tables."""


class GlobalStreamThread(threading.Thread):
    """Reads all partitions of the topics of global tables.

    Invariants: only this thread changes the stores, and it holds `_lock` while it does; after `wait_until_ready` each
    store contains all records that its topic had at the thread's start.

    Args:
        name: The thread's name.
        task: The global task with the tables.
        consumer: A consumer without a group.
        directory: The instance's state directory.
        poll_ms: Timeout of a poll.
        on_failure: Called with the error that ended the thread.
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
        """Return a global store for reading by other threads; None if there is none of this name."""
        found = self._task.store(name)
        return None if found is None else LockedStore(found, self._lock)

    def wait_until_ready(self) -> None:
        """Wait until the tables are restored.

        Raises:
            StreamsException: Restoration failed; the cause is chained.
        """
        self._ready.wait()
        if self._error is not None:
            raise StreamsException("The global tables cannot be read") from self._error

    def stop(self) -> None:
        """Stop the thread after its current poll."""
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
            for partition in partitions:  # past transaction markers, which are no records
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
    """A view of a store that another thread changes: each call holds the lock, and iterators are materialized within
    it."""

    def __init__(self, store: Any, lock: threading.Lock) -> None:
        self._store = store
        self._lock = lock

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The class of the store, since operators check the store's type by isinstance."""
        return type(self._store)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        def locked(*args: Any, **kwargs: Any) -> Any:
            with self._lock:
                found = method(*args, **kwargs)
                return iter(list(found)) if isinstance(found, Iterator) else found

        return locked
