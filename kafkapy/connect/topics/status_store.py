"""Stores statuses in a compacted topic (Kafka's `KafkaStatusBackingStore`)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from kafkapy.connect.storage import ConnectorStatus, ConnectorTaskId, StatusState, TaskStatus, TopicStatus
from kafkapy.connect.topics import status_records as records
from kafkapy.connect.topics.config_store import MakeLog
from kafkapy.connect.topics.topic_log import LogRecord

log = logging.getLogger("kafkapy.connect.topics")

_RETRY_S = 0.1

S = TypeVar("S", ConnectorStatus, TaskStatus)


class _Entry(Generic[S]):
    """The last status that was read, and the number of writes from this worker."""

    def __init__(self) -> None:
        self.status: S | None = None
        self.sequence = 0
        self.deleted = False

    def may_write(self, status: S) -> bool:
        """Return False if another worker has written in a later generation."""
        known = self.status
        return known is None or known.worker_id == status.worker_id or known.generation <= status.generation


class KafkaStatusStore:
    """Invariant: `_connectors`, `_tasks` and `_topics` have the statuses read so far, and entries for pending writes;
    all are accessed under `_lock`. A write that fails with a retriable error is retried, unless a later status has
    been written."""

    def __init__(self, make_log: MakeLog) -> None:
        """`make_log`: creates the log of the worker's `status.storage.topic`."""
        self._log = make_log(self._read)
        self._lock = threading.RLock()
        self._connectors: dict[str, _Entry[ConnectorStatus]] = {}
        self._tasks: dict[str, dict[int, _Entry[TaskStatus]]] = {}
        self._topics: dict[str, dict[str, TopicStatus]] = {}
        self._generation = -1

    def start(self) -> None:
        """Raises ConnectException, ConfigException, KafkaError."""
        self._log.start()

    def stop(self) -> None:
        self._log.stop()

    def flush(self) -> None:
        self._log.flush()

    # -- writing

    def put_connector(self, status: ConnectorStatus) -> None:
        self._send(records.connector_key(status.id), status, self._connector_entry(status.id), safe=False)

    def put_connector_safe(self, status: ConnectorStatus) -> None:
        self._send(records.connector_key(status.id), status, self._connector_entry(status.id), safe=True)

    def put_task(self, status: TaskStatus) -> None:
        self._send(records.task_key(status.id), status, self._task_entry(status.id), safe=False)

    def put_task_safe(self, status: TaskStatus) -> None:
        self._send(records.task_key(status.id), status, self._task_entry(status.id), safe=True)

    def put_topic(self, status: TopicStatus) -> None:
        self._send_topic(records.topic_key(status.topic, status.connector), records.topic_value(status))

    def delete_topic(self, connector: str, topic: str) -> None:
        self._send_topic(records.topic_key(topic, connector), None)

    def _send(self, key: str, status: S, entry: _Entry[S], safe: bool) -> None:
        with self._lock:
            self._generation = status.generation
            if safe and not entry.may_write(status):
                return
            entry.sequence += 1
            sequence = entry.sequence
        value = records.status_value(status)

        def done(error: BaseException | None) -> None:
            if error is None:
                return
            if not getattr(error, "retriable", False):
                log.error("Failed to write status update: %s", error)
                return
            with self._lock:
                outdated = entry.deleted or status.generation != self._generation
                if outdated or (safe and not (entry.may_write(status) and entry.sequence == sequence)):
                    return
            _retry(lambda: self._log.send(key.encode(), value, done))

        self._log.send(key.encode(), value, done)

    def _send_topic(self, key: str, value: bytes | None) -> None:
        def done(error: BaseException | None) -> None:
            if error is None:
                return
            if getattr(error, "retriable", False):
                _retry(lambda: self._log.send(key.encode(), value, done))
            else:
                log.error("Failed to write status update: %s", error)

        self._log.send(key.encode(), value, done)

    # -- reading

    def connector(self, connector: str) -> ConnectorStatus | None:
        with self._lock:
            entry = self._connectors.get(connector)
            return None if entry is None else entry.status

    def task(self, task: ConnectorTaskId) -> TaskStatus | None:
        with self._lock:
            entry = self._tasks.get(task.connector, {}).get(task.task)
            return None if entry is None else entry.status

    def all_tasks(self, connector: str) -> list[TaskStatus]:
        with self._lock:
            tasks = sorted(self._tasks.get(connector, {}).items())
        return [entry.status for _, entry in tasks if entry.status is not None]

    def topic(self, connector: str, topic: str) -> TopicStatus | None:
        with self._lock:
            return self._topics.get(connector, {}).get(topic)

    def all_topics(self, connector: str) -> list[TopicStatus]:
        with self._lock:
            return list(self._topics.get(connector, {}).values())

    def connectors(self) -> list[str]:
        with self._lock:
            return list(self._connectors)

    # -- processing records

    def _connector_entry(self, connector: str) -> _Entry[ConnectorStatus]:
        with self._lock:
            return self._connectors.setdefault(connector, _Entry())

    def _task_entry(self, task: ConnectorTaskId) -> _Entry[TaskStatus]:
        with self._lock:
            return self._tasks.setdefault(task.connector, {}).setdefault(task.task, _Entry())

    def _read(self, record: LogRecord) -> None:
        key = (record.key or b"").decode("utf-8", "replace")
        with self._lock:
            if key.startswith(records.CONNECTOR):
                known = self._read_connector(key.removeprefix(records.CONNECTOR), record.value)
            elif key.startswith(records.TASK):
                known = self._read_task(key, record.value)
            else:
                known = key.startswith(records.TOPIC) and self._read_topic(key, record.value)
        if not known:
            log.warning("Discarding a status record that cannot be understood, with key %s", key)

    def _read_connector(self, connector: str, value: bytes | None) -> bool:
        if not connector:
            return False
        if value is None:
            self._remove_connector(connector)
            return True
        parsed = records.parse_status(value)
        if parsed is None:
            return False
        status = ConnectorStatus(connector, parsed.state, parsed.worker_id, parsed.generation, parsed.trace)
        self._connector_entry(connector).status = status
        return True

    def _remove_connector(self, connector: str) -> None:
        removed = self._connectors.pop(connector, None)
        if removed is not None:
            removed.deleted = True
        for entry in self._tasks.pop(connector, {}).values():
            entry.deleted = True

    def _read_task(self, key: str, value: bytes | None) -> bool:
        task = records.parse_task_key(key)
        if task is None:
            return False
        if value is None:
            removed = self._tasks.get(task.connector, {}).pop(task.task, None)
            if removed is not None:
                removed.deleted = True
            return True
        parsed = records.parse_status(value)
        if parsed is None:
            return False
        entry = self._task_entry(task)
        known = entry.status
        stale = (
            parsed.state is StatusState.UNASSIGNED
            and known is not None
            and known.state is StatusState.RUNNING
            and known.generation >= parsed.generation
        )
        if not stale:
            entry.status = TaskStatus(task, parsed.state, parsed.worker_id, parsed.generation, parsed.trace)
        return True

    def _read_topic(self, key: str, value: bytes | None) -> bool:
        parsed = records.parse_topic_key(key)
        if parsed is None:
            return False
        topic, connector = parsed
        if value is None:
            known = self._topics.get(connector, {})
            known.pop(topic, None)
            if not known:
                self._topics.pop(connector, None)
            return True
        status = records.parse_topic_status(value)
        if status is None:
            return False
        self._topics.setdefault(connector, {})[topic] = status
        return True


def _retry(send: Callable[[], object]) -> None:
    """Retry on another thread than the producer's, which would wait for itself."""
    timer = threading.Timer(_RETRY_S, send)
    timer.daemon = True
    timer.start()
