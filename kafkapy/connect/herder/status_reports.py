"""Writes the states of connectors and tasks to the status store."""

from __future__ import annotations

import traceback
from collections.abc import Callable

from kafkapy.connect.storage import (
    ConnectorStatus,
    ConnectorTaskId,
    StatusBackingStore,
    StatusState,
    TaskStatus,
)


def trace_of(error: BaseException) -> str:
    """Return the stack trace: first `java.class.Name: message` if the exception exists in Kafka, then Python's
    frames."""
    from kafkapy.connect.errors import java_class_of

    message = str(error)
    head = java_class_of(error) + (f": {message}" if message else "")
    frames = "".join(f"\tat {line.strip()}\n" for line in traceback.format_tb(error.__traceback__))
    cause = error.__cause__
    below = "" if cause is None or cause is error else f"Caused by: {trace_of(cause)}"
    return f"{head}\n{frames}{below}"


class ConnectorReports:
    """The listener of a worker's connectors. `generation`: returns the group's generation."""

    def __init__(self, store: StatusBackingStore, worker_id: str, generation: Callable[[], int]) -> None:
        self._store = store
        self._worker_id = worker_id
        self._generation = generation

    def on_startup(self, connector: str) -> None:
        self._put(connector, StatusState.RUNNING)

    def on_stop(self, connector: str) -> None:
        self._put(connector, StatusState.STOPPED)

    def on_pause(self, connector: str) -> None:
        self._put(connector, StatusState.PAUSED)

    def on_resume(self, connector: str) -> None:
        self._put(connector, StatusState.RUNNING)

    def on_restart(self, connector: str) -> None:
        self._put(connector, StatusState.RESTARTING)

    def on_shutdown(self, connector: str) -> None:
        self._store.put_connector_safe(self._status(connector, StatusState.UNASSIGNED))

    def on_failure(self, connector: str, cause: BaseException) -> None:
        self._store.put_connector_safe(self._status(connector, StatusState.FAILED, trace_of(cause)))

    def on_deletion(self, connector: str) -> None:
        for status in self._store.all_tasks(connector):
            self._store.put_task(TaskStatus(status.id, StatusState.DESTROYED, self._worker_id, self._generation()))
        self._put(connector, StatusState.DESTROYED)

    def _put(self, connector: str, state: StatusState) -> None:
        self._store.put_connector(self._status(connector, state))

    def _status(self, connector: str, state: StatusState, trace: str | None = None) -> ConnectorStatus:
        return ConnectorStatus(connector, state, self._worker_id, self._generation(), trace)


class TaskReports:
    """The listener of a worker's tasks."""

    def __init__(self, store: StatusBackingStore, worker_id: str, generation: Callable[[], int]) -> None:
        self._store = store
        self._worker_id = worker_id
        self._generation = generation

    def on_startup(self, id: ConnectorTaskId) -> None:
        self._store.put_task(self._status(id, StatusState.RUNNING))

    def on_pause(self, id: ConnectorTaskId) -> None:
        self._store.put_task(self._status(id, StatusState.PAUSED))

    def on_resume(self, id: ConnectorTaskId) -> None:
        self._store.put_task(self._status(id, StatusState.RUNNING))

    def on_restart(self, id: ConnectorTaskId) -> None:
        self._store.put_task(self._status(id, StatusState.RESTARTING))

    def on_failure(self, id: ConnectorTaskId, cause: BaseException) -> None:
        self._store.put_task_safe(self._status(id, StatusState.FAILED, trace_of(cause)))

    def on_shutdown(self, id: ConnectorTaskId) -> None:
        self._store.put_task_safe(self._status(id, StatusState.UNASSIGNED))

    def on_deletion(self, id: ConnectorTaskId) -> None:
        self._store.put_task(self._status(id, StatusState.DESTROYED))

    def _status(self, id: ConnectorTaskId, state: StatusState, trace: str | None = None) -> TaskStatus:
        return TaskStatus(id, state, self._worker_id, self._generation(), trace)
