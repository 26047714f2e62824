"""What a worker is asked to start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kafkapy.connect.herder.infos import Config
from kafkapy.connect.storage import ClusterConfigState, ConnectorTaskId, TargetState, TaskStatusListener


@dataclass(frozen=True)
class ExactlyOnceChecks:
    """What a source task does before and after its producer fences earlier ones (KIP-618). They raise ConnectException."""

    before_producer: Callable[[], None]
    after_producer: Callable[[], None]


@dataclass(frozen=True)
class TaskRequest:
    """A task that shall start. `checks`: only with exactly-once support."""

    id: ConnectorTaskId
    state: ClusterConfigState
    connector_config: Config
    listener: TaskStatusListener
    initial_state: TargetState
    checks: ExactlyOnceChecks | None = None
