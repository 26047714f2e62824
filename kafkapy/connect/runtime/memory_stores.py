"""In-memory stores of a standalone worker (Kafka's `MemoryConfigBackingStore`, `MemoryStatusBackingStore`)."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from kafkapy.connect.storage import (
    EMPTY_CONFIG_STATE,
    ClusterConfigState,
    ConfigTransformer,
    ConfigUpdateListener,
    ConnectorStatus,
    ConnectorTaskId,
    RestartRequest,
    SessionKey,
    StatusState,
    TargetState,
    TaskStatus,
    TopicStatus,
)

Config = Mapping[str, "str | None"]


class MemoryStatusStore:
    """Invariant: a connector, task or topic that is deleted is in no map. All under `_lock`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connectors: dict[str, ConnectorStatus] = {}
        self._tasks: dict[str, dict[int, TaskStatus]] = {}
        self._topics: dict[str, dict[str, TopicStatus]] = {}

    def start(self) -> None:
        """There is nothing to do."""

    def stop(self) -> None:
        """There is nothing to do."""

    def flush(self) -> None:
        """There is nothing to do."""

    def put_connector(self, status: ConnectorStatus) -> None:
        with self._lock:
            if status.state is StatusState.DESTROYED:
                self._connectors.pop(status.id, None)
            else:
                self._connectors[status.id] = status

    put_connector_safe = put_connector

    def put_task(self, status: TaskStatus) -> None:
        with self._lock:
            tasks = self._tasks.setdefault(status.id.connector, {})
            if status.state is StatusState.DESTROYED:
                tasks.pop(status.id.task, None)
            else:
                tasks[status.id.task] = status
            if not tasks:
                del self._tasks[status.id.connector]

    put_task_safe = put_task

    def put_topic(self, status: TopicStatus) -> None:
        with self._lock:
            self._topics.setdefault(status.connector, {})[status.topic] = status

    def connector(self, connector: str) -> ConnectorStatus | None:
        return self._connectors.get(connector)

    def task(self, task: ConnectorTaskId) -> TaskStatus | None:
        with self._lock:
            return self._tasks.get(task.connector, {}).get(task.task)

    def all_tasks(self, connector: str) -> list[TaskStatus]:
        with self._lock:
            tasks = self._tasks.get(connector, {})
            return [tasks[number] for number in sorted(tasks)]

    def topic(self, connector: str, topic: str) -> TopicStatus | None:
        with self._lock:
            return self._topics.get(connector, {}).get(topic)

    def all_topics(self, connector: str) -> list[TopicStatus]:
        with self._lock:
            return list(self._topics.get(connector, {}).values())

    def delete_topic(self, connector: str, topic: str) -> None:
        with self._lock:
            topics = self._topics.get(connector, {})
            topics.pop(topic, None)
            if not topics:
                self._topics.pop(connector, None)

    def connectors(self) -> list[str]:
        with self._lock:
            return list(self._connectors)


class MemoryConfigStore:
    """Invariant: the maps change under `_lock`; the listener is called after that, on the thread of the change, so
    that a herder sees its own changes at once."""

    def __init__(self, transformer: ConfigTransformer | None = None) -> None:
        """`transformer`: substitutes the values of config providers. Default: there are none."""
        self._transformer = transformer
        self._lock = threading.RLock()
        self._configs: dict[str, dict[str, str | None]] = {}
        self._states: dict[str, TargetState] = {}
        self._tasks: dict[str, list[dict[str, str | None]]] = {}
        self._applied: dict[str, dict[str, str | None]] = {}
        self._listener: ConfigUpdateListener | None = None

    def start(self) -> None:
        """There is nothing to do."""

    def stop(self) -> None:
        """There is nothing to do."""

    def set_update_listener(self, listener: ConfigUpdateListener) -> None:
        self._listener = listener

    def snapshot(self) -> ClusterConfigState:
        with self._lock:
            tasks = {
                ConnectorTaskId(name, number): dict(config)
                for name, configs in self._tasks.items()
                for number, config in enumerate(configs)
            }
            return ClusterConfigState(
                EMPTY_CONFIG_STATE.offset,
                None,
                {name: len(self._tasks.get(name, ())) for name in self._configs},
                {name: dict(config) for name, config in self._configs.items()},
                dict(self._states),
                tasks,
                applied_connector_configs=dict(self._applied),
                transformer=self._transformer,
            )

    def contains(self, connector: str) -> bool:
        return connector in self._configs

    def put_connector_config(self, connector: str, config: Config, target_state: TargetState | None = None) -> None:
        with self._lock:
            if connector not in self._configs:
                self._states[connector] = target_state or TargetState.STARTED
            elif target_state is not None:
                self._states[connector] = target_state
            self._configs[connector] = dict(config)
        if self._listener is not None:
            self._listener.on_connector_config_update(connector)

    def remove_connector_config(self, connector: str) -> None:
        with self._lock:
            for kept in (self._configs, self._states, self._tasks, self._applied):
                kept.pop(connector, None)
        if self._listener is not None:
            self._listener.on_connector_config_remove(connector)

    def put_task_configs(self, connector: str, configs: Sequence[Config]) -> None:
        with self._lock:
            self._tasks[connector] = [dict(config) for config in configs]
            self._applied[connector] = self._configs.get(connector, {})
            ids = [ConnectorTaskId(connector, number) for number in range(len(configs))]
        if self._listener is not None:
            self._listener.on_task_config_update(ids)

    def remove_task_configs(self, connector: str) -> None:
        with self._lock:
            removed = self._tasks.pop(connector, [])
            self._applied.pop(connector, None)
            ids = [ConnectorTaskId(connector, number) for number in range(len(removed))]
        if self._listener is not None:
            self._listener.on_task_config_update(ids)

    def put_target_state(self, connector: str, state: TargetState) -> None:
        with self._lock:
            if connector not in self._configs:
                raise ValueError(f"No connector `{connector}` configured")
            changed = self._states.get(connector) is not state
            self._states[connector] = state
        if changed and self._listener is not None:
            self._listener.on_connector_target_state_change(connector)

    def refresh(self, timeout_ms: float) -> None:
        """Do nothing: the store has no other source."""

    def put_session_key(self, session_key: SessionKey) -> None:
        """Do nothing: a standalone worker signs no requests."""

    def put_restart_request(self, request: RestartRequest) -> None:
        """Do nothing: a standalone worker restarts at once."""

    def put_task_count_record(self, connector: str, task_count: int) -> None:
        """Do nothing: a standalone worker fences no tasks."""

    def claim_write_privileges(self) -> None:
        """Do nothing: a standalone worker always has the privileges."""

    def put_logger_level(self, namespace: str, level: str) -> None:
        """Do nothing: a standalone worker sets the level at once."""
