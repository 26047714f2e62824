"""What the members of a Connect group tell each other: a worker's state and an assignment, as data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

from kafkapy.connect.storage import ConnectorTaskId

NO_ERROR = 0
CONFIG_MISMATCH = 1


class ConnectProtocol(Enum):
    """Kafka's `ConnectProtocolCompatibility`: the value is the protocol's name in the group."""

    EAGER = "default"
    COMPATIBLE = "compatible"
    SESSIONED = "sessioned"

    @property
    def version(self) -> int:
        """The version in the bytes: 0, 1, 2."""
        return {"default": 0, "compatible": 1, "sessioned": 2}[self.value]

    @property
    def is_sessioned(self) -> bool:
        return self is ConnectProtocol.SESSIONED

    @classmethod
    def of_setting(cls, setting: str) -> ConnectProtocol:
        """Of the worker's `connect.protocol`: eager, compatible, sessioned, in any case. Raises ValueError.

        Example:
            >>> ConnectProtocol.of_setting("eager").value
            'default'
        """
        try:
            return cls[setting.upper()]
        except KeyError:
            raise ValueError(f"Unknown Connect protocol compatibility mode {setting}") from None

    @classmethod
    def of_version(cls, version: int) -> ConnectProtocol:
        return (cls.EAGER, cls.COMPATIBLE, cls.SESSIONED)[min(max(version, 0), 2)]


@dataclass(frozen=True)
class ConnectAssignment:
    """What the leader gives a worker (Kafka's `ExtendedAssignment`): only what is new with the incremental protocols, all
    with the eager one.

    `delay`: ms until the leader wants another rebalance; 0 for none. `offset`: that of the configs it was made of.
    """

    version: int = 1
    error: int = NO_ERROR
    leader: str | None = None
    leader_url: str | None = None
    offset: int = -1
    connectors: tuple[str, ...] = ()
    tasks: tuple[ConnectorTaskId, ...] = ()
    revoked_connectors: tuple[str, ...] = ()
    revoked_tasks: tuple[ConnectorTaskId, ...] = ()
    delay: int = 0

    @property
    def failed(self) -> bool:
        return self.error != NO_ERROR

    def added_to(self, owned: ConnectAssignment | None) -> ConnectAssignment:
        """This assignment together with what the worker owns already and keeps."""
        if owned is None:
            return self
        revoked_connectors, revoked_tasks = set(self.revoked_connectors), set(self.revoked_tasks)
        connectors = [name for name in owned.connectors if name not in revoked_connectors]
        tasks = [task for task in owned.tasks if task not in revoked_tasks]
        return replace(self, connectors=(*self.connectors, *connectors), tasks=(*self.tasks, *tasks))

    def without_revoked(self) -> ConnectAssignment:
        return replace(self, revoked_connectors=(), revoked_tasks=())


@dataclass(frozen=True)
class WorkerState:
    """What a worker tells the leader: where its REST interface is, how far it has read the configs, what it owns."""

    url: str
    offset: int
    assignment: ConnectAssignment | None = None


@dataclass(frozen=True)
class LeaderState:
    """What the leader knows of the whole group after an assignment: to which worker a request has to go."""

    urls: dict[str, str] = field(default_factory=dict)
    connector_owners: dict[str, str] = field(default_factory=dict)
    task_owners: dict[ConnectorTaskId, str] = field(default_factory=dict)

    def connector_url(self, connector: str) -> str | None:
        """The URL of the worker that has the connector; None: none has it."""
        owner = self.connector_owners.get(connector)
        return None if owner is None else self.urls.get(owner)

    def task_url(self, task: ConnectorTaskId) -> str | None:
        owner = self.task_owners.get(task)
        return None if owner is None else self.urls.get(owner)
