"""The data that members of a Connect group exchange: a worker's state and an assignment."""

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
        """Return the protocol's version: 0, 1 or 2."""
        return {"default": 0, "compatible": 1, "sessioned": 2}[self.value]

    @property
    def is_sessioned(self) -> bool:
        return self is ConnectProtocol.SESSIONED

    @classmethod
    def of_setting(cls, setting: str) -> ConnectProtocol:
        """Parse the worker's `connect.protocol`: eager, compatible or sessioned, case-insensitive. Raises ValueError.

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
    """The assignment of a worker (Kafka's `ExtendedAssignment`).

    With the incremental protocols it has only new connectors and tasks, with the eager one all. `delay`: ms until the
    leader requests another rebalance; 0: none. `offset`: that of the configs it is based on.
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
        """Return this assignment merged with the connectors and tasks that the worker owns and keeps."""
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
    """A worker's state for the leader: URL of its REST interface, offset in the configs topic, what it owns."""

    url: str
    offset: int
    assignment: ConnectAssignment | None = None


@dataclass(frozen=True)
class LeaderState:
    """The leader's view of the group after an assignment, used to forward requests to the right worker."""

    urls: dict[str, str] = field(default_factory=dict)
    connector_owners: dict[str, str] = field(default_factory=dict)
    task_owners: dict[ConnectorTaskId, str] = field(default_factory=dict)

    def connector_url(self, connector: str) -> str | None:
        """Return the URL of the worker that owns the connector; None: no worker owns it."""
        owner = self.connector_owners.get(connector)
        return None if owner is None else self.urls.get(owner)

    def task_url(self, task: ConnectorTaskId) -> str | None:
        owner = self.task_owners.get(task)
        return None if owner is None else self.urls.get(owner)
