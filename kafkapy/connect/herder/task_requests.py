"""Requests to start tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kafkapy.connect.herder.infos import Config
from kafkapy.connect.storage import ClusterConfigState, ConnectorTaskId, TargetState, TaskStatusListener


@dataclass(frozen=True)
class ExactlyOnceChecks:
    """Checks of a source task before and after its producer fences earlier ones (KIP-618). They raise
    ConnectException."""

    before_producer: Callable[[], None]
    after_producer: Callable[[], None]


@dataclass(frozen=True)
class TaskRequest:
    """A request to start a task.

    Attributes:
        id: The task.
        state: The configs that the task belongs to.
        connector_config: Of its connector.
        config: Of the task.
        listener: Told of the task's states.
        initial_state: Whether the task begins paused.
        checks: With exactly-once support. Default: without.
    """

    id: ConnectorTaskId
    state: ClusterConfigState
    connector_config: Config
    config: Config
    listener: TaskStatusListener
    initial_state: TargetState
    checks: ExactlyOnceChecks | None = None
