"""The persistent state of a worker: statuses, target states, configs and offsets, and the interfaces of their stores.

The data classes are immutable. `kafkapy.connect.topics` implements the stores on Kafka's three internal topics; a
standalone worker implements them in memory or in a file. The stores are thread-safe.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol


class TargetState(Enum):
    """The state that users request: Kafka's `TargetState` (KIP-52, KIP-875)."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class StatusState(Enum):
    """The state of a connector or task (Kafka's `AbstractStatus.State`). DESTROYED is never shown: its record is a
    tombstone."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    FAILED = "FAILED"
    DESTROYED = "DESTROYED"
    RESTARTING = "RESTARTING"
    STOPPED = "STOPPED"


class ConnectorTaskId(NamedTuple):
    """A task of a connector; its text is `connector-task`.

    Example:
        >>> str(ConnectorTaskId("orders", 0))
        'orders-0'
    """

    connector: str
    task: int

    def __str__(self) -> str:
        return f"{self.connector}-{self.task}"

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class ConnectorStatus:
    """`id`: the connector's name; `worker_id`: `host:port` of the worker's REST interface; `generation`: that of the
    group; `trace`: the stack trace of a failure."""

    id: str
    state: StatusState
    worker_id: str
    generation: int
    trace: str | None = None


@dataclass(frozen=True)
class TaskStatus:
    """As `ConnectorStatus`, of a task."""

    id: ConnectorTaskId
    state: StatusState
    worker_id: str
    generation: int
    trace: str | None = None


class TopicStatus(NamedTuple):
    """A topic that a connector has used (KIP-558); `discover_timestamp` in ms."""

    topic: str
    connector: str
    task: int
    discover_timestamp: int


class ConnectorStatusListener(Protocol):
    """Receives the state changes of a connector (Kafka's `ConnectorStatus.Listener`); called on the connector's thread."""

    def on_shutdown(self, connector: str) -> None: ...
    def on_failure(self, connector: str, cause: BaseException) -> None: ...
    def on_stop(self, connector: str) -> None: ...
    def on_pause(self, connector: str) -> None: ...
    def on_resume(self, connector: str) -> None: ...
    def on_startup(self, connector: str) -> None: ...
    def on_deletion(self, connector: str) -> None: ...
    def on_restart(self, connector: str) -> None: ...


class TaskStatusListener(Protocol):
    """Receives the state changes of a task (Kafka's `TaskStatus.Listener`); called on the task's thread."""

    def on_startup(self, id: ConnectorTaskId) -> None: ...
    def on_pause(self, id: ConnectorTaskId) -> None: ...
    def on_resume(self, id: ConnectorTaskId) -> None: ...
    def on_failure(self, id: ConnectorTaskId, cause: BaseException) -> None: ...
    def on_shutdown(self, id: ConnectorTaskId) -> None: ...
    def on_deletion(self, id: ConnectorTaskId) -> None: ...
    def on_restart(self, id: ConnectorTaskId) -> None: ...


@dataclass(frozen=True)
class SessionKey:
    """The key that signs requests between workers (KIP-507). `algorithm`: for example HmacSHA256; `creation_timestamp`
    in ms."""

    key: bytes = field(repr=False)
    algorithm: str
    creation_timestamp: int


@dataclass(frozen=True)
class RestartRequest:
    """A restart of a connector, with or without its tasks, of all instances or only of failed ones (KIP-745)."""

    connector: str
    only_failed: bool = False
    include_tasks: bool = False

    @property
    def impact(self) -> int:
        """Return a number that grows with what is restarted: a request replaces pending ones of lower impact."""
        if self.only_failed:
            return 1 if self.include_tasks else 0
        return 3 if self.include_tasks else 2

    @property
    def force_connector_only(self) -> bool:
        """Return whether it restarts the connector in any state, and no task: the meaning before KIP-745."""
        return not self.only_failed and not self.include_tasks

    def should_restart_connector(self, state: StatusState) -> bool:
        return not self.only_failed or state is StatusState.FAILED

    def should_restart_task(self, state: StatusState) -> bool:
        return self.include_tasks and (not self.only_failed or state is StatusState.FAILED)

    def __str__(self) -> str:
        return (
            f"restart request for {{connectorName='{self.connector}', onlyFailed={str(self.only_failed).lower()}, "
            f"includeTasks={str(self.include_tasks).lower()}}}"
        )


ConfigTransformer = Callable[[str | None, Mapping[str, str | None]], dict[str, str | None]]
"""Replaces each `${provider:path:key}` by its value: (connector, its config) -> the config.

If the connector is None, no reload is scheduled for values that expire.
"""


@dataclass(frozen=True)
class ClusterConfigState:
    """All configs at one offset of the configs topic (Kafka's `ClusterConfigState`). The maps are never changed.

    `applied_connector_configs`: the connector configs on which the current task configs are based;
    `connectors_pending_fencing`: tasks with new configs whose predecessors were not fenced yet (KIP-618);
    `inconsistent_connectors`: connectors some of whose task configs were removed by compaction.
    """

    offset: int = -1
    session_key: SessionKey | None = None
    task_counts: Mapping[str, int] = field(default_factory=dict)
    connector_configs: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict, repr=False)
    target_states: Mapping[str, TargetState] = field(default_factory=dict)
    task_configs: Mapping[ConnectorTaskId, Mapping[str, str | None]] = field(default_factory=dict, repr=False)
    task_count_records: Mapping[str, int] = field(default_factory=dict)
    task_config_generations: Mapping[str, int] = field(default_factory=dict)
    applied_connector_configs: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict, repr=False)
    connectors_pending_fencing: frozenset[str] = frozenset()
    inconsistent_connectors: frozenset[str] = frozenset()
    transformer: ConfigTransformer | None = field(default=None, repr=False)

    @property
    def connectors(self) -> list[str]:
        return list(self.connector_configs)

    def contains(self, connector: str) -> bool:
        return connector in self.connector_configs

    def connector_config(self, connector: str) -> dict[str, str | None] | None:
        """Return the config with variables replaced; None: there is no such connector. Raises ConfigException."""
        return self._transformed(connector, self.connector_configs.get(connector))

    def raw_connector_config(self, connector: str) -> Mapping[str, str | None] | None:
        return self.connector_configs.get(connector)

    def applied_connector_config(self, connector: str) -> dict[str, str | None] | None:
        return self._transformed(None, self.applied_connector_configs.get(connector))

    def target_state(self, connector: str) -> TargetState | None:
        return self.target_states.get(connector)

    def task_config(self, task: ConnectorTaskId) -> dict[str, str | None] | None:
        """Return the config with variables replaced; None: there is no such task. Raises ConfigException."""
        return self._transformed(task.connector, self.task_configs.get(task))

    def raw_task_config(self, task: ConnectorTaskId) -> Mapping[str, str | None] | None:
        return self.task_configs.get(task)

    def task_count(self, connector: str) -> int:
        return self.task_counts.get(connector, 0)

    def tasks(self, connector: str) -> list[ConnectorTaskId]:
        """Return the connector's tasks; empty if the connector is inconsistent."""
        if connector in self.inconsistent_connectors:
            return []
        return [ConnectorTaskId(connector, number) for number in range(self.task_count(connector))]

    def task_count_record(self, connector: str) -> int | None:
        return self.task_count_records.get(connector)

    def task_config_generation(self, connector: str) -> int | None:
        return self.task_config_generations.get(connector)

    def pending_fencing(self, connector: str) -> bool:
        return connector in self.connectors_pending_fencing

    def _transformed(
        self, connector: str | None, config: Mapping[str, str | None] | None
    ) -> dict[str, str | None] | None:
        if config is None:
            return None
        return dict(config) if self.transformer is None else self.transformer(connector, config)


EMPTY_CONFIG_STATE = ClusterConfigState()


class ConfigUpdateListener(Protocol):
    """Receives the changes in the configs topic (Kafka's `ConfigBackingStore.UpdateListener`).

    The store calls it on its own thread, in the topic's order, after `start` has read the topic to its end.
    """

    def on_connector_config_remove(self, connector: str) -> None: ...
    def on_connector_config_update(self, connector: str) -> None: ...
    def on_task_config_update(self, tasks: Collection[ConnectorTaskId]) -> None: ...
    def on_connector_target_state_change(self, connector: str) -> None: ...
    def on_session_key_update(self, session_key: SessionKey) -> None: ...
    def on_restart_request(self, request: RestartRequest) -> None: ...
    def on_logging_level_update(self, namespace: str, level: str) -> None: ...


class ConfigBackingStore(Protocol):
    """Stores the configs (Kafka's `ConfigBackingStore`). Methods that write block until the record is read back."""

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def snapshot(self) -> ClusterConfigState: ...
    def contains(self, connector: str) -> bool: ...
    def put_connector_config(
        self, connector: str, config: Mapping[str, str | None], target_state: TargetState | None = None
    ) -> None: ...
    def remove_connector_config(self, connector: str) -> None: ...
    def put_task_configs(self, connector: str, configs: Sequence[Mapping[str, str | None]]) -> None: ...
    def remove_task_configs(self, connector: str) -> None: ...
    def refresh(self, timeout_ms: float) -> None:
        """Read to the end of the topic. Raises TimeoutError."""
        ...

    def put_target_state(self, connector: str, state: TargetState) -> None: ...
    def put_session_key(self, session_key: SessionKey) -> None: ...
    def put_restart_request(self, request: RestartRequest) -> None: ...
    def put_task_count_record(self, connector: str, task_count: int) -> None: ...
    def claim_write_privileges(self) -> None:
        """Fence earlier writers, if exactly-once support is on; called when this worker becomes leader. Raises
        ConnectException."""
        ...

    def put_logger_level(self, namespace: str, level: str) -> None: ...
    def set_update_listener(self, listener: ConfigUpdateListener) -> None: ...


class StatusBackingStore(Protocol):
    """Stores the statuses (Kafka's `StatusBackingStore`). Methods that write return immediately."""

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def put_connector(self, status: ConnectorStatus) -> None: ...
    def put_connector_safe(self, status: ConnectorStatus) -> None:
        """Write the status unless another worker has written one of a later generation."""
        ...

    def put_task(self, status: TaskStatus) -> None: ...
    def put_task_safe(self, status: TaskStatus) -> None: ...
    def put_topic(self, status: TopicStatus) -> None: ...
    def connector(self, connector: str) -> ConnectorStatus | None: ...
    def task(self, task: ConnectorTaskId) -> TaskStatus | None: ...
    def all_tasks(self, connector: str) -> list[TaskStatus]: ...
    def topic(self, connector: str, topic: str) -> TopicStatus | None: ...
    def all_topics(self, connector: str) -> list[TopicStatus]: ...
    def delete_topic(self, connector: str, topic: str) -> None: ...
    def connectors(self) -> list[str]: ...
    def flush(self) -> None: ...


SetCallback = Callable[[BaseException | None], None]
"""Called when a write is done (None) or has failed."""


class OffsetBackingStore(Protocol):
    """Stores source offsets as bytes (Kafka's `OffsetBackingStore`). A key is the JSON `[connector, partition]`."""

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def get(self, keys: Collection[bytes]) -> Future[dict[bytes, bytes | None]]:
        """Return the values of these keys; a key without a value may be absent."""
        ...

    def set(self, values: Mapping[bytes, bytes | None], callback: SetCallback | None = None) -> Future[None]:
        """Write values; None deletes its key."""
        ...

    def connector_partitions(self, connector: str) -> list[dict[str, object]]:
        """Return all source partitions for which the connector has an offset."""
        ...
