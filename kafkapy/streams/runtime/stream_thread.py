"""A thread that runs tasks: polls, restores, processes, commits (Kafka's `StreamThread`)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.listener import ConsumerRebalanceListener
from kafkapy.runtime import garbage
from kafkapy.streams.assignment.assignment_info import NO_REBALANCE, AssignmentInfo
from kafkapy.streams.assignment.group_assignment import INCOMPLETE_SOURCE_TOPIC_METADATA, SHUTDOWN_REQUESTED
from kafkapy.streams.config import StreamsConfig
from kafkapy.streams.errors import MissingSourceTopicException, StreamsException, TaskMigratedException
from kafkapy.streams.metrics.sensors import StreamsMetric, now_ms
from kafkapy.streams.runtime.streams_assignor import Assignment
from kafkapy.streams.runtime.task_manager import TaskManager
from kafkapy.streams.runtime.thread_clients import ThreadClients

log = logging.getLogger("kafkapy.streams")

_RECORDS_AT_A_TIME: Final = 500
"""Records of each task between two polls and checks of the clock."""

_MAX_ROWS: Final = 16_384
"""Limit of rows that a poll returns as columns."""


_COROUTINE_WAIT_MS: Final = 2
"""Timeout of polls while coroutines run, in ms: it limits the delay of their results."""


class ShutdownRequested(StreamsException):
    """An instance of the application has requested a shutdown of all instances."""


class StreamThread(threading.Thread):
    """One thread of an instance.

    Invariant: only this thread uses its consumer, tasks and producer; only `assigned` is set by the consumer's thread.

    Args:
        name: Name of the thread and its clients.
        config: The application's configuration.
        topics: Topics to subscribe to.
        tasks: The thread's tasks.
        clients: The thread's clients.
        on_state: Called with "REBALANCING" or "RUNNING".
        on_failure: Called with the error that ended the thread, after everything is closed.
        on_assignment: Called with the assignment of all instances by the group's leader.
    """

    def __init__(
        self,
        name: str,
        config: StreamsConfig,
        topics: Sequence[str],
        pattern: str | None,
        tasks: TaskManager,
        clients: ThreadClients,
        on_state: Callable[[StreamThread, str], None],
        on_failure: Callable[[StreamThread, BaseException], None],
        on_assignment: Callable[[AssignmentInfo], None],
    ) -> None:
        super().__init__(name=name, daemon=True)
        self.tasks = tasks
        self.assigned: Assignment | None = None
        self._config = config
        self._topics = topics
        self._pattern = pattern
        self._clients = clients
        self._consumer = clients.consumer
        self._on_state = on_state
        self._on_failure = on_failure
        self._on_assignment = on_assignment
        self._stopping = threading.Event()
        self._rejoin_at_ms: float | None = None
        self._last_commit = time.monotonic()

    def stop(self) -> None:
        """Ask the thread to end after its current step; `join` waits for its end."""
        self._stopping.set()
        self._consumer.wakeup()

    def metrics(self) -> Iterator[StreamsMetric]:
        """Return the metrics of the thread, its tasks and its clients. Thread-safe."""
        yield from self.tasks.all_metrics()
        yield from self._clients.metrics()

    def rejoin_soon(self, at_ms: float) -> None:
        """Schedule a rejoin of the group at this time (wall clock, ms)."""
        self._rejoin_at_ms = at_ms

    def run(self) -> None:
        failure: BaseException | None = None
        try:
            self._subscribe()
            while not self._stopping.is_set():
                try:
                    self._run_once()
                except TaskMigratedException as error:
                    log.warning("%s gives its tasks back and joins again: %s", self.name, error)
                    with self.tasks.lock:
                        self.tasks.close(clean=False)
                        self.tasks.is_rebalancing = False
                    self._consumer.unsubscribe()
                    self._subscribe()
        except BaseException as error:
            log.error("%s failed", self.name, exc_info=True)
            failure = error
        failure = self._close(failure)
        if failure is not None:
            self._on_failure(self, failure)

    def _subscribe(self) -> None:
        listener = _Rebalances(self, self._on_state)
        if self._pattern is not None:
            self._consumer.subscribe(pattern=self._pattern, listener=listener)
        else:
            self._consumer.subscribe(self._topics, listener=listener)

    def _run_once(self) -> None:
        busy = not self.tasks.is_paused and any(task.has_records_queued() for task in self.tasks.running())
        started = now_ms()
        waits: float = 0 if busy or self.tasks.is_restoring else self._config.poll_ms
        if self.tasks.wait_for_coroutines:
            waits = _COROUTINE_WAIT_MS
        try:
            records = self._poll(waits)
        except Exception as error:
            if self._stopping.is_set():
                return
            if isinstance(error.__cause__, StreamsException):  # of a rebalance listener, within `poll`
                raise error.__cause__ from None
            raise
        self.tasks.metrics.polled(started, _count(records))
        with self.tasks.lock:
            self._work(records, busy)

    def _poll(self, timeout_ms: float) -> Any:
        """Poll: return records by partition, or a table or None if a task processes records as columns."""
        if self.tasks.takes_columns:
            return self._consumer.poll_arrow(timeout_ms, _MAX_ROWS)
        return self._consumer.poll(timeout_ms, 10 * _RECORDS_AT_A_TIME)

    def _work(self, records: Any, busy: bool) -> None:
        """Process, punctuate and commit after a poll; the caller holds the tasks' lock."""
        self._join_again_if_due()
        if isinstance(records, dict):
            self.tasks.add_records(records)
        elif records is not None:
            self.tasks.add_columns(records)
        if self.tasks.is_restoring:
            self.tasks.restore(self._config.poll_ms if not busy else 0)
            if not self.tasks.is_restoring:
                self._on_state(self, "RUNNING")
        elif self.tasks.has_copies:
            self.tasks.restore(0)
        now_ms = int(time.time() * 1000)
        # Records and cache entries leave no cycles, and a full collection would visit the whole cache.
        with garbage.paused():
            self.tasks.process(now_ms, _RECORDS_AT_A_TIME)
        self.tasks.punctuate(now_ms)
        self.tasks.send_buffered()
        self.tasks.resume()
        self._commit_if_due()

    def _commit_if_due(self) -> None:
        if self.tasks.is_rebalancing:
            return
        now = time.monotonic()
        if self.tasks.commit_requested or now - self._last_commit >= self._config.commit_interval_ms / 1000:
            self.tasks.commit()
            self._last_commit = time.monotonic()
            self.tasks.clean_directory(time.time())

    def _join_again_if_due(self) -> None:
        if self._rejoin_at_ms is not None and time.time() * 1000 >= self._rejoin_at_ms:
            self._rejoin_at_ms = None
            self._consumer.enforce_rebalance("Scheduled probing rebalance")

    def take_assignment(self) -> None:
        """Apply a new assignment; called within `poll`.

        Raises:
            MissingSourceTopicException: A source topic of the topology does not exist.
            StreamsException: The leader could not assign tasks, or a shutdown of the application was requested.
        """
        assignment, self.assigned = self.assigned, None
        if assignment is None:
            return
        code = assignment.info.error_code
        if code == INCOMPLETE_SOURCE_TOPIC_METADATA:
            raise MissingSourceTopicException("One or more source topics were missing during rebalance")
        if code == SHUTDOWN_REQUESTED:
            raise ShutdownRequested("The application is stopped: an instance has requested it")
        if code:
            raise StreamsException("Hit an unexpected exception during task assignment phase of rebalance")
        self._on_assignment(assignment.info)
        next_ms = assignment.info.next_rebalance_ms
        self._rejoin_at_ms = None if next_ms == NO_REBALANCE else next_ms
        self.tasks.handle_assignment(assignment.active, assignment.standby)

    def _close(self, failure: BaseException | None) -> BaseException | None:
        """Close tasks and clients.

        Args:
            failure: The error that has ended the thread, if any.

        Returns:
            That error, or the first one while closing.
        """
        try:
            with self.tasks.lock:
                failure = self._close_tasks(failure)
        finally:
            self._clients.close()
        return failure

    def _close_tasks(self, failure: BaseException | None) -> BaseException | None:
        """Close the tasks; the caller holds their lock."""
        try:
            self.tasks.close(clean=failure is None)
        except TaskMigratedException as error:
            log.warning("%s gives its tasks back: %s", self.name, error)
            self.tasks.close(clean=False)
        except Exception as error:
            log.error("%s could not close its tasks cleanly", self.name, exc_info=True)
            self.tasks.close(clean=False)
            return failure or error
        return failure


def _count(records: Any) -> int:
    if records is None:
        return 0
    return sum(len(found) for found in records.values()) if isinstance(records, dict) else int(records.num_rows)


class _Rebalances(ConsumerRebalanceListener):
    """The rebalance listener, called within `poll`."""

    def __init__(self, thread: StreamThread, on_state: Callable[[StreamThread, str], None]) -> None:
        self._thread = thread
        self._on_state = on_state

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        if revoked:
            with self._thread.tasks.lock:
                self._thread.tasks.handle_revocation(revoked)

    def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        if lost:
            with self._thread.tasks.lock:
                self._thread.tasks.handle_lost(lost)

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        self._on_state(self._thread, "REBALANCING")
        with self._thread.tasks.lock:
            self._thread.tasks.is_rebalancing = False
            self._thread.take_assignment()
        if not self._thread.tasks.is_restoring:
            self._on_state(self._thread, "RUNNING")
