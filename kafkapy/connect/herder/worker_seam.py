"""The worker's interface for the herder: the part of Kafka's `Worker` that a herder calls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from kafkapy.connect.herder.callbacks import Callback
from kafkapy.connect.herder.infos import Config
from kafkapy.connect.storage import (
    ClusterConfigState,
    ConfigTransformer,
    ConnectorStatusListener,
    ConnectorTaskId,
    TargetState,
    TaskStatusListener,
)

Offsets = Sequence[tuple[Mapping[str, Any], "Mapping[str, Any] | None"]]
"""Pairs of a partition and its offset; None resets one. `kafkapy.connect.runtime.partition_key` makes partitions hashable."""


class HerderWorker(Protocol):
    """All methods return quickly, because a connector's code runs on its own thread."""

    @property
    def worker_id(self) -> str: ...
    @property
    def plugins(self) -> Any: ...
    @property
    def config_transformer(self) -> ConfigTransformer | None: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def start_connector(
        self,
        name: str,
        config: Config,
        context: Any,
        listener: ConnectorStatusListener,
        initial_state: TargetState,
        callback: Callback,
    ) -> None: ...
    def is_running(self, name: str) -> bool: ...
    def is_sink_connector(self, name: str) -> bool: ...
    def connector_task_configs(self, name: str, config: Config) -> Sequence[Config]: ...
    def set_target_state(self, name: str, state: TargetState, callback: Callback) -> None: ...
    def stop_and_await_connector(self, name: str) -> None: ...
    def stop_and_await_connectors(self, names: Collection[str] | None = None) -> None: ...
    def start_sink_task(
        self,
        id: ConnectorTaskId,
        state: ClusterConfigState,
        connector_config: Config,
        task_config: Config,
        listener: TaskStatusListener,
        initial_state: TargetState,
    ) -> bool: ...
    def start_source_task(
        self,
        id: ConnectorTaskId,
        state: ClusterConfigState,
        connector_config: Config,
        task_config: Config,
        listener: TaskStatusListener,
        initial_state: TargetState,
    ) -> bool: ...
    def start_exactly_once_source_task(
        self,
        id: ConnectorTaskId,
        state: ClusterConfigState,
        connector_config: Config,
        task_config: Config,
        listener: TaskStatusListener,
        initial_state: TargetState,
        pre_producer_check: Callable[[], None],
        post_producer_check: Callable[[], None],
    ) -> bool: ...
    def stop_and_await_task(self, id: ConnectorTaskId) -> None: ...
    def stop_and_await_tasks(self, ids: Collection[ConnectorTaskId] | None = None) -> None: ...
    def fence_zombies(self, name: str, tasks: int, connector_config: Config) -> Future[None]: ...
    def connector_offsets(self, name: str, connector_config: Config, callback: Callback) -> None:
        """`callback` is told `Offsets`."""
        ...

    def modify_connector_offsets(
        self, name: str, connector_config: Config, offsets: Offsets | None, callback: Callback
    ) -> None:
        """`offsets` None: reset all. `callback` is told the message of the answer."""
        ...
