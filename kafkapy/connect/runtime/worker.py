"""Runs connectors and tasks in one process (Kafka's `Worker`)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from kafkapy.common.time import SystemTime, Time
from kafkapy.connect.config.connector_configs import connector_config_def
from kafkapy.connect.config.plugin_aliases import enrich
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.herder.callbacks import Callback
from kafkapy.connect.herder.config_providers import make_providers
from kafkapy.connect.herder.config_transformer import ProviderTransformer
from kafkapy.connect.herder.infos import SINK, SOURCE, Config
from kafkapy.connect.herder.override_policies import OverridePolicy
from kafkapy.connect.herder.task_requests import TaskRequest
from kafkapy.connect.plugins import Plugins, class_name_of
from kafkapy.connect.runtime.client_configs import ClientConfigs
from kafkapy.connect.runtime.connector_offsets import ConnectorOffsets
from kafkapy.connect.runtime.metrics import ConnectMetrics
from kafkapy.connect.runtime.offset_committer import SourceOffsetCommitter
from kafkapy.connect.runtime.offset_storage import StoredOffsetReader
from kafkapy.connect.runtime.offset_stores import OffsetStores
from kafkapy.connect.runtime.source_task import WorkerSourceTask
from kafkapy.connect.runtime.task_builder import TaskBuilder
from kafkapy.connect.runtime.too_many_tasks import check_tasks_max
from kafkapy.connect.runtime.worker_config import WorkerConfig
from kafkapy.connect.runtime.worker_connector import WorkerConnector
from kafkapy.connect.runtime.worker_metrics import MeasuredConnector
from kafkapy.connect.runtime.worker_task import WorkerTask
from kafkapy.connect.sink import TOPICS_CONFIG, TOPICS_REGEX_CONFIG, SinkConnector
from kafkapy.connect.storage import (
    ConnectorStatusListener,
    ConnectorTaskId,
    OffsetBackingStore,
    StatusBackingStore,
    TargetState,
)

log = logging.getLogger("kafkapy.connect.runtime")

TASK_CLASS_CONFIG = "task.class"
_CONNECTOR_SHUTDOWN_MS = 5_000
_TASK_CONFIGS_S = 30.0


class Worker:
    """Runs connectors and tasks for a herder; see `kafkapy.connect.herder.worker_seam`.

    Invariant: `_connectors` and `_tasks` have the connectors and tasks that run here, by name and id, under `_lock`.
    Removed ones are stopping, and are abandoned if they do not end in time. Methods can be called from any thread.
    """

    def __init__(
        self,
        worker_id: str,
        config: WorkerConfig,
        plugins: Plugins,
        offset_store: OffsetBackingStore,
        status_store: StatusBackingStore,
        policy: OverridePolicy | None = None,
        time: Time | None = None,
    ) -> None:
        """
        Args:
            worker_id: `host:port` of the worker's REST interface.
            config: The worker's configs.
            plugins: Finds classes.
            offset_store: The worker's store, which this object starts and stops.
            status_store: Records the topics of connectors.
            policy: Which client configs connectors may override. Default: all.
            time: The clock. Default: the system's.

        Raises:
            ConfigException: A config provider is wrong.
        """
        self.worker_id = worker_id
        self.plugins = plugins
        self.time = time or SystemTime()
        self.config_transformer = ProviderTransformer(make_providers(config.originals))
        self._config = config
        self._offset_store = offset_store
        self._clients = ClientConfigs(config, policy)
        self._stores = OffsetStores(config, self._clients, offset_store)
        self._offsets = ConnectorOffsets(config, plugins, self._clients, self._stores)
        self._builder = TaskBuilder(config, plugins, self._clients, self._stores, status_store, self.time)
        self._committer = SourceOffsetCommitter(config["offset.flush.interval.ms"])
        self._lock = threading.Lock()
        self._connectors: dict[str, WorkerConnector] = {}
        self._measured: dict[str, MeasuredConnector] = {}
        self._builder.worker_metrics.count_connectors(lambda: len(self._connectors))
        self._tasks: dict[ConnectorTaskId, WorkerTask] = {}

    # -- life

    def start(self) -> None:
        """Start the store of offsets. Raises ConnectException, ConfigException, KafkaError."""
        self._offset_store.start()

    def stop(self) -> None:
        """Stop running connectors and tasks, then the store of offsets."""
        if self._connectors:
            log.warning("Connectors %s still run while the worker stops", list(self._connectors))
            self.stop_and_await_connectors()
        if self._tasks:
            log.warning("Tasks %s still run while the worker stops", list(self._tasks))
            self.stop_and_await_tasks()
        self._committer.close()
        self._offset_store.stop()
        self.config_transformer.close()

    # -- connectors

    def start_connector(
        self,
        name: str,
        config: Config,
        context: Any,
        listener: ConnectorStatusListener,
        initial_state: TargetState,
        callback: Callback,
    ) -> None:
        """Create a connector and bring it to its state; `callback` is called with the state, or the error."""
        if name in self._connectors:
            callback(ConnectException(f"Connector with name {name} already exists"), None)
            return
        measured = MeasuredConnector(self.metrics, self._builder.worker_metrics.connectors, listener)
        try:
            made = self._make_connector(name, config, context, measured)
        except BaseException as error:
            log.error("Connector %s cannot be started", name, exc_info=error)
            measured.on_failure(name, error)
            measured.close()
            callback(error, None)
            return
        with self._lock:
            exists = self._connectors.setdefault(name, made) is not made
        if exists:
            callback(ConnectException(f"Connector with name {name} already exists"), None)
            return
        self._measured[name] = measured
        made.transition_to(initial_state, callback)
        made.start()

    def _make_connector(self, name: str, config: Config, context: Any, listener: MeasuredConnector) -> WorkerConnector:
        connector = self.plugins.new_connector(config.get("connector.class") or "")
        class_name, version = class_name_of(type(connector)), connector.version()
        log.info("Made connector %s of %s, version %s", name, class_name, version)
        listener.describe(name, class_name, SINK if isinstance(connector, SinkConnector) else SOURCE, version)
        if isinstance(connector, SinkConnector):
            return WorkerConnector(name, connector, config, context, listener)
        store = self._stores.for_connector(name, config)
        return WorkerConnector(name, connector, config, context, listener, StoredOffsetReader(store, name), store)

    def is_running(self, name: str) -> bool:
        """Return whether the connector was started, and is not paused."""
        connector = self._connectors.get(name)
        return connector is not None and connector.is_running

    def is_sink_connector(self, name: str) -> bool:
        """Return whether the connector is a sink. Raises ConnectException if it does not run here."""
        return self._connector(name).is_sink

    def connector_names(self) -> list[str]:
        return list(self._connectors)

    def connector_task_configs(self, name: str, config: Config) -> Sequence[Config]:
        """Return the connector's task configs, which are computed on its own thread.

        Raises:
            ConnectException: It does not run here, returns too many configs, or does not respond in time; then retry.
        """
        connector = self._connector(name)
        known = connector_config_def(self.plugins).parse(config)
        most = known["tasks.max"]
        made = connector.task_configs(most, _TASK_CONFIGS_S)
        try:
            check_tasks_max(name, len(made), most, known["tasks.max.enforce"])
        except ConnectException as error:
            connector.fail(error)
            raise
        task_class = class_name_of(connector.connector.task_class())
        topics = {key: config[key] for key in (TOPICS_CONFIG, TOPICS_REGEX_CONFIG) if key in config}
        return [{**each, TASK_CLASS_CONFIG: task_class, **topics} for each in made]

    def set_target_state(self, name: str, state: TargetState, callback: Callback) -> None:
        """Pause, resume or stop a connector and its tasks; `callback` is called if the connector runs here."""
        connector = self._connectors.get(name)
        if connector is not None:
            connector.transition_to(state, callback)
        for id, task in list(self._tasks.items()):
            if id.connector == name:
                task.transition_to(state)

    def stop_and_await_connector(self, name: str) -> None:
        self.stop_and_await_connectors([name])

    def stop_and_await_connectors(self, names: Collection[str] | None = None) -> None:
        """Stop connectors, by default all; those that do not end within 5 s are abandoned."""
        with self._lock:
            names = list(self._connectors) if names is None else names
            taken = {name: self._connectors.pop(name, None) for name in names}
        stopping = {name: connector for name, connector in taken.items() if connector is not None}
        for connector in stopping.values():
            connector.shutdown()
        deadline = self.time.monotonic_ms() + _CONNECTOR_SHUTDOWN_MS
        for name, connector in stopping.items():
            if not connector.await_shutdown(deadline - self.time.monotonic_ms()):
                log.error("Connector %s does not stop and is given up; it may still use what it has opened", name)
                connector.cancel()
            measured = self._measured.pop(name, None)
            if measured is not None:
                measured.close()

    def _connector(self, name: str) -> WorkerConnector:
        found = self._connectors.get(name)
        if found is None:
            raise ConnectException(f"Connector {name} not found in this worker.")
        return found

    # -- tasks

    def start_sink_task(self, request: TaskRequest) -> bool:
        """Start a sink task. Return whether it was created; if not, the listener has the error. Raises ConnectException
        if it runs already."""
        return self._start_task(request, self._builder.sink_task)

    def start_source_task(self, request: TaskRequest) -> bool:
        """Start a source task; see `start_sink_task`."""
        return self._start_task(request, self._builder.source_task)

    def start_exactly_once_source_task(self, request: TaskRequest) -> bool:
        """Start a source task, which runs the request's checks on its thread; see `start_sink_task`."""
        return self._start_task(request, self._builder.exactly_once_source_task)

    def _start_task(self, request: TaskRequest, build: Callable[[TaskRequest, Any], WorkerTask]) -> bool:
        id = request.id
        if id in self._tasks:
            raise ConnectException(f"Task already exists in this worker: {id}")
        try:
            task = self._make_task(request, build)
        except BaseException as error:
            log.error("Task %s cannot be started", id, exc_info=error)
            self._builder.worker_metrics.task_failed_to_start(id)
            request.listener.on_failure(id, error)
            return False
        with self._lock:
            exists = self._tasks.setdefault(id, task) is not task
        if exists:
            raise ConnectException(f"Task already exists in this worker: {id}")
        task.start()
        if isinstance(task, WorkerSourceTask):
            self._committer.schedule(id, task)
        return True

    def _make_task(self, request: TaskRequest, build: Callable[[TaskRequest, Any], WorkerTask]) -> WorkerTask:
        config = request.connector_config
        known = enrich(self.plugins, connector_config_def(self.plugins), config, require_all=True).parse(config)
        count = request.state.task_count(request.id.connector)
        check_tasks_max(request.id.connector, count, known["tasks.max"], known["tasks.max.enforce"])
        own = {name: value for name, value in request.config.items() if value is not None}
        try:
            made = self.plugins.find_class(own.get(TASK_CLASS_CONFIG, ""))()
        except LookupError as error:
            raise ConnectException(f"Class {own.get(TASK_CLASS_CONFIG)} could not be found.") from error
        log.info("Made task %s of %s, version %s", request.id, class_name_of(type(made)), made.version())
        task = build(request, made)
        task.initialize(own)
        return task

    def stop_and_await_task(self, id: ConnectorTaskId) -> None:
        self.stop_and_await_tasks([id])

    def stop_and_await_tasks(self, ids: Collection[ConnectorTaskId] | None = None) -> None:
        """Stop tasks, by default all; those that do not end within `task.shutdown.graceful.timeout.ms` are
        abandoned."""
        with self._lock:
            ids = list(self._tasks) if ids is None else ids
            taken = {id: self._tasks.pop(id, None) for id in ids}
        stopping = {id: task for id, task in taken.items() if task is not None}
        for id, task in stopping.items():
            self._committer.remove(id)
            task.stop()
        deadline = self.time.monotonic_ms() + self._config["task.shutdown.graceful.timeout.ms"]
        for id, task in stopping.items():
            if not task.await_stop(deadline - self.time.monotonic_ms()):
                log.error("Task %s does not stop and is given up", id)
                task.cancel()
            task.remove_metrics()

    @property
    def metrics(self) -> ConnectMetrics:
        """Return the metrics of the worker, its connectors and tasks."""
        return self._builder.metrics

    def task_ids(self) -> list[ConnectorTaskId]:
        return list(self._tasks)

    # -- offsets and fencing

    def fence_zombies(self, name: str, tasks: int, connector_config: Config) -> Future[None]:
        """Fence the producers of a connector's earlier tasks (KIP-618). The future fails with KafkaError."""
        return self._offsets.fence_zombies(name, tasks, connector_config)

    def connector_offsets(self, name: str, connector_config: Config, callback: Callback) -> None:
        """Read offsets; `callback` is called with pairs of partition and offset."""
        self._offsets.read(name, connector_config, callback)

    def modify_connector_offsets(
        self,
        name: str,
        connector_config: Config,
        offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]] | None,
        callback: Callback,
    ) -> None:
        """Set offsets; None resets all. `callback` is called with the message of the response."""
        self._offsets.modify(name, connector_config, offsets, callback)
