"""Runs a task on a thread of its own (Kafka's `WorkerTask`): start, pause, resume, stop, and reports of its state."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from kafkapy.common.time import SystemTime, Time
from kafkapy.connect.storage import (
    ConnectorTaskId,
    StatusBackingStore,
    TargetState,
    TaskStatusListener,
    TopicStatus,
)

log = logging.getLogger("kafkapy.connect.runtime")


class RetryOperator(Protocol):
    """The part of `RetryWithToleranceOperator` that a task uses."""

    def set_reporters(self, reporters: Sequence[Any]) -> None: ...
    def trigger_stop(self) -> None:
        """End pauses between retries. Thread-safe."""
        ...

    def close(self) -> None: ...


class Closeable(Protocol):
    def close(self) -> None: ...


class TaskMetrics(Protocol):
    """Records a task's metrics; times in ms."""

    def record_commit(self, duration_ms: float, error: BaseException | None) -> None: ...
    def record_batch(self, size: int) -> None: ...


class WorkerTask(ABC):
    """Runs a task's code on a thread of its own, which ends with the task.

    Invariant: `_target` and `_stopping` change under `_changed` only. The task's thread calls the listener, but not
    after `cancel`, since another worker may run the task by then. The thread is a daemon, so that hanging code does
    not prevent the end of the process.
    """

    def __init__(
        self,
        id: ConnectorTaskId,
        listener: TaskStatusListener,
        initial_state: TargetState,
        status_store: StatusBackingStore,
        *,
        retry: RetryOperator | None = None,
        chain: Closeable | None = None,
        reporters: Callable[[], Sequence[Any]] = tuple,
        metrics: TaskMetrics | None = None,
        time: Time | None = None,
    ) -> None:
        """
        Args:
            id: The task.
            listener: Called for changes of its state.
            initial_state: PAUSED: the task starts when it is resumed.
            status_store: Records the task's topics (KIP-558).
            retry: Handles errors of records. Default: none.
            chain: The transforms, closed at the end. Default: none.
            reporters: Creates the reporters of errors, on the task's thread. Default: none.
            metrics: Records metrics. Default: none.
            time: The clock. Default: the system's.
        """
        self.id = id
        self.retry = retry
        self.chain = chain
        self.metrics = metrics
        self.time = time or SystemTime()
        self._listener = listener
        self._status_store = status_store
        self._reporters = reporters
        self._changed = threading.Condition()
        self._target = initial_state
        self._failed = False
        self._stopping = False
        self._cancelled = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self.run, name=f"task-thread-{id}", daemon=True)

    # -- hooks of subclasses; called on the task's thread, except `initialize`

    @abstractmethod
    def initialize(self, config: Mapping[str, str]) -> None:
        """Set the task's config; called on the worker's thread, before `start`. After an error the task does not
        start."""

    @abstractmethod
    def _initialize_and_start(self) -> None:
        """Initialize the task with its context, and start it."""

    @abstractmethod
    def _execute(self) -> None:
        """Run the task's loop until `is_stopping`."""

    @abstractmethod
    def _close(self) -> None:
        """Stop the task and close its resources; also called after a failed start."""

    # -- from the worker's threads

    def start(self) -> None:
        """Start the thread, without waiting."""
        self._thread.start()

    def stop(self) -> None:
        """Request the task's end, without waiting."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def cancel(self) -> None:
        """Abandon a task that has not ended in time: interrupt it, and do not report its end."""
        self._cancelled = True
        if self.retry is not None:
            self.retry.trigger_stop()

    def await_stop(self, timeout_ms: float) -> bool:
        """Wait for the end; return False after the time-out."""
        return self._ended.wait(max(0.0, timeout_ms / 1000))

    def transition_to(self, state: TargetState) -> None:
        """Pause or resume; ignored once the task is stopping."""
        with self._changed:
            if self.is_stopping:
                return
            if state is TargetState.STOPPED:
                log.warning("Task %s shall be STOPPED, which is not expected: it shuts down", self.id)
            self._target = state
            self._changed.notify_all()

    def remove_metrics(self) -> None:
        """Remove the task's metrics; the worker calls this when it removes the task."""
        close = getattr(self.metrics, "close", None)
        if close is not None:
            close()

    # -- state

    @property
    def is_stopping(self) -> bool:
        return self._stopping or self._target is TargetState.STOPPED

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled

    @property
    def is_failed(self) -> bool:
        return self._failed

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    @property
    def should_pause(self) -> bool:
        return self._target is TargetState.PAUSED

    # -- the task's thread

    def run(self) -> None:
        """Run the task to its end; the thread's function."""
        try:
            self._run()
            self._on_shutdown()
        except BaseException as error:  # a connector's SystemExit fails its task, too
            self._on_failure(error)
        finally:
            self._ended.set()

    def _run(self) -> None:
        try:
            with self._changed:
                if self.is_stopping:
                    return
                if self.should_pause:
                    self._on_pause()
                    if not self._await_unpause():
                        return
            self._start()
            self._execute()
        except BaseException as error:
            self._failed = True
            if not (self._cancelled or self.is_stopping):
                log.error("Task %s has failed and does not run until it is restarted", self.id, exc_info=error)
                raise
            log.warning("Task %s has failed while it was stopping", self.id, exc_info=error)
        finally:
            self._do_close()

    def _start(self) -> None:
        if self.retry is not None:
            self.retry.set_reporters(self._reporters())
        self._initialize_and_start()
        self._listener.on_startup(self.id)

    def _do_close(self) -> None:
        try:
            self._close()
        except BaseException as error:
            log.error("Task %s has failed at its end", self.id, exc_info=error)
            raise
        finally:
            for part in (self.chain, self.retry):
                if part is not None:
                    close_quietly(part, f"A part of task {self.id}")

    def _on_shutdown(self) -> None:
        with self._changed:
            self.stop()
            if not self._cancelled:
                self._listener.on_shutdown(self.id)

    def _on_failure(self, error: BaseException) -> None:
        with self._changed:
            self.stop()
            if not self._cancelled:
                self._listener.on_failure(self.id, error)

    def _on_pause(self) -> None:
        with self._changed:
            self._listener.on_pause(self.id)

    def _on_resume(self) -> None:
        with self._changed:
            self._listener.on_resume(self.id)

    def _await_unpause(self) -> bool:
        """Wait until the task is resumed; return False if it must stop."""
        with self._changed:
            while self.should_pause:
                if self.is_stopping:
                    return False
                self._changed.wait()
            return not self.is_stopping

    def _sleep_unless_stopping(self, seconds: float) -> bool:
        """Sleep. Return whether the task must stop."""
        with self._changed:
            return self._changed.wait_for(lambda: self.is_stopping, seconds)

    # -- notes

    def _record_active_topic(self, topic: str) -> None:
        if self._status_store.topic(self.id.connector, topic) is None:
            now = int(self.time.milliseconds())
            self._status_store.put_topic(TopicStatus(topic, self.id.connector, self.id.task, now))

    def _record_commit(self, duration_ms: float, error: BaseException | None = None) -> None:
        if self.metrics is not None:
            self.metrics.record_commit(duration_ms, error)

    def _record_batch(self, size: int) -> None:
        if self.metrics is not None:
            self.metrics.record_batch(size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}{{id={self.id}}}"


def close_quietly(part: Closeable, what: str) -> None:
    """Close a part, and log an error. `what`: its name in the log."""
    try:
        part.close()
    except Exception as error:
        log.warning("%s could not be closed: %s", what, error)
