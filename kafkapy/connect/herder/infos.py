"""Information about connectors and tasks, in the form of the REST interface (Kafka's `rest.entities`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafkapy.connect.storage import ConnectorTaskId, RestartRequest, StatusState

Config = Mapping[str, "str | None"]

SOURCE, SINK, UNKNOWN = "source", "sink", "unknown"
"""The types of connectors."""


def task_id_info(task: ConnectorTaskId) -> dict[str, Any]:
    return {"connector": task.connector, "task": task.task}


@dataclass(frozen=True)
class ConnectorInfo:
    """`type`: source, sink or unknown."""

    name: str
    config: Config
    tasks: Sequence[ConnectorTaskId]
    type: str

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "config": dict(self.config),
            "tasks": [task_id_info(task) for task in self.tasks],
            "type": self.type,
        }


@dataclass(frozen=True)
class StateInfo:
    """The state of a connector, or, with `id`, of a task."""

    state: StatusState
    worker_id: str
    trace: str | None = None
    id: int | None = None

    def to_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {} if self.id is None else {"id": self.id}
        shown |= {"state": self.state.name, "worker_id": self.worker_id}
        if self.trace:
            shown["trace"] = self.trace
        return shown


@dataclass(frozen=True)
class ConnectorStateInfo:
    name: str
    connector: StateInfo
    tasks: Sequence[StateInfo]
    type: str

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "connector": self.connector.to_json(),
            "tasks": [task.to_json() for task in self.tasks],
            "type": self.type,
        }


@dataclass(frozen=True)
class RestartPlan:
    """The result of a restart request: everything that it restarts has the state RESTARTING (KIP-745)."""

    request: RestartRequest
    info: ConnectorStateInfo

    @property
    def restarts_connector(self) -> bool:
        return self.info.connector.state is StatusState.RESTARTING

    @property
    def tasks_to_restart(self) -> list[ConnectorTaskId]:
        return [
            ConnectorTaskId(self.request.connector, task.id or 0)
            for task in self.info.tasks
            if task.state is StatusState.RESTARTING
        ]

    def __str__(self) -> str:
        tasks = f"{len(self.tasks_to_restart)} of {len(self.info.tasks)} tasks for {self.request}"
        return f"plan to restart connector and {tasks}" if self.restarts_connector else f"plan to restart {tasks}"


@dataclass(frozen=True)
class Created:
    """The result of writing a connector's config; `created` is False if the connector existed before."""

    created: bool
    info: ConnectorInfo | None
