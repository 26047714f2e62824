"""Commits the offsets of source tasks periodically (Kafka's `SourceTaskOffsetCommitter`)."""

from __future__ import annotations

import logging
import threading
from typing import Protocol

from kafkapy.connect.storage import ConnectorTaskId

log = logging.getLogger("kafkapy.connect.runtime")


class CommittingTask(Protocol):
    """The part of a `WorkerSourceTask` that a committer calls."""

    @property
    def should_commit_offsets(self) -> bool: ...
    def commit_offsets(self) -> bool: ...


class SourceOffsetCommitter:
    """Runs a thread for each task, because a commit calls the task's own code, which may hang.

    Invariant: `_stops` has the tasks whose thread is not asked to stop, under `_lock`.
    """

    def __init__(self, interval_ms: float) -> None:
        """`interval_ms`: the pause between two commits (`offset.flush.interval.ms`)."""
        self._interval_s = min(interval_ms / 1000, threading.TIMEOUT_MAX)
        self._lock = threading.Lock()
        self._stops: dict[ConnectorTaskId, threading.Event] = {}

    def schedule(self, id: ConnectorTaskId, task: CommittingTask) -> None:
        """Start committing; the first commit is after one interval."""
        stop = threading.Event()
        with self._lock:
            earlier, self._stops[id] = self._stops.get(id), stop
        if earlier is not None:
            earlier.set()
        threading.Thread(target=self._run, args=(id, task, stop), name=f"offset-commit-{id}", daemon=True).start()

    def remove(self, id: ConnectorTaskId) -> None:
        """Stop committing. A commit in progress is not interrupted."""
        with self._lock:
            stop = self._stops.pop(id, None)
        if stop is not None:
            stop.set()

    def close(self) -> None:
        with self._lock:
            stops, self._stops = list(self._stops.values()), {}
        for stop in stops:
            stop.set()

    def _run(self, id: ConnectorTaskId, task: CommittingTask, stop: threading.Event) -> None:
        while not stop.wait(self._interval_s):
            if not task.should_commit_offsets:
                continue
            try:
                if not task.commit_offsets():
                    log.error("The offsets of task %s cannot be committed", id)
            except Exception as error:  # the next commit may succeed
                log.error("The offsets of task %s cannot be committed", id, exc_info=error)
