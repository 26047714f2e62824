"""A worker alone (Kafka's `StandaloneHerder`): configs in memory, no group, all work here."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from weakref import WeakValueDictionary

from kafkapy.connect.errors import (
    AlreadyExistsException,
    ConnectException,
    ConnectorBusyException,
    NotFoundException,
)
from kafkapy.connect.herder.abstract_herder import AbstractHerder
from kafkapy.connect.herder.callbacks import Callback, WorkStage
from kafkapy.connect.herder.config_patch import patched
from kafkapy.connect.herder.connector_context import HerderConnectorContext
from kafkapy.connect.herder.infos import SINK, SOURCE, Config, Created
from kafkapy.connect.herder.settings import HerderSettings
from kafkapy.connect.herder.task_configs import reverse_transform, task_configs_changed
from kafkapy.connect.herder.task_requests import TaskRequest
from kafkapy.connect.storage import ClusterConfigState, ConnectorTaskId, RestartRequest, SessionKey, TargetState

log = logging.getLogger("kafkapy.connect.herder")

_THREADS = 32
_RETRY_S = 1.0


class _Lane:
    """What is done with one connector, one thing at a time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


class StandaloneHerder(AbstractHerder):
    """Each request is done on a thread of `_requests`, one at a time for a connector, so that a connector that hangs holds
    up no other.

    Invariant: `_lanes` has a lane for each connector with a request under way. The config store tells of a change on the
    thread that has made it.
    """

    def __init__(self, settings: HerderSettings, **herder: Any) -> None:
        """
        Args:
            settings: Of the worker's configs.
            herder: What `AbstractHerder` takes.
        """
        super().__init__(**herder)
        self.settings = settings
        self._requests = ThreadPoolExecutor(_THREADS, "connect-request")
        self._lanes_lock = threading.Lock()
        self._lanes: WeakValueDictionary[str, _Lane] = WeakValueDictionary()
        self._stopping = threading.Event()
        self.config_store.set_update_listener(self)

    @property
    def generation(self) -> int:
        return 0

    @property
    def stage(self) -> WorkStage | None:
        return None

    @property
    def config_state(self) -> ClusterConfigState:
        """The configs as they are now."""
        return self.config_store.snapshot()

    # -- life

    def start(self) -> None:
        """Start worker and stores. Raises ConnectException, ConfigException, KafkaError."""
        self._start_services()

    def ready(self) -> None:
        """The first connectors are made."""
        self._ready = True

    def stop(self) -> None:
        """Stop all tasks and connectors, then the stores."""
        self._stopping.set()
        self._requests.shutdown(wait=False, cancel_futures=True)
        self.worker.stop_and_await_tasks()
        self.worker.stop_and_await_connectors()
        self._stop_services()

    # -- requests

    def _submit(self, connector: str, work: Callable[[], None], callback: Callback) -> None:
        """Do it on a thread, apart from what else is done with the connector; `callback` is told an error."""

        def run() -> None:
            with self._lane(connector).lock:
                try:
                    work()
                except BaseException as error:
                    callback(error, None)

        try:
            self._requests.submit(run)
        except RuntimeError:
            callback(ConnectException("Worker is shutting down"), None)

    def _lane(self, connector: str) -> _Lane:
        with self._lanes_lock:
            lane = self._lanes.get(connector)
            if lane is None:
                lane = self._lanes[connector] = _Lane()
            return lane

    def _require(self, connector: str, text: str = "Connector {} not found") -> None:
        if not self.config_store.contains(connector):
            raise NotFoundException(text.format(connector))

    # -- reading

    def health_check(self, callback: Callback) -> None:
        callback(None, None)

    def connectors(self, callback: Callback) -> None:
        callback(None, self.connector_names())

    def connector_info(self, connector: str, callback: Callback) -> None:
        info = self.connector_info_now(connector)
        if info is None:
            callback(NotFoundException(f"Connector {connector} not found"), None)
        else:
            callback(None, info)

    def tasks_config(self, connector: str, callback: Callback) -> None:
        """Task -> its config. As in Kafka, a connector without tasks counts as unknown."""
        found = dict(self._task_configs(connector))
        if found:
            callback(None, found)
        else:
            callback(NotFoundException(f"Connector {connector} not found"), None)

    def task_configs(self, connector: str, callback: Callback) -> None:
        """(task, its config) in the tasks' order."""
        if self.config_store.contains(connector):
            callback(None, self._task_configs(connector))
        else:
            callback(NotFoundException(f"Connector {connector} not found"), None)

    def _task_configs(self, connector: str) -> list[tuple[ConnectorTaskId, Config]]:
        state = self.config_state
        return [(task, state.raw_task_config(task) or {}) for task in state.tasks(connector)]

    def connector_offsets(self, connector: str, callback: Callback) -> None:
        self._submit(connector, lambda: self.connector_offsets_now(connector, callback), callback)

    def _raw_config(self, connector: str) -> Config | None:
        return self.config_state.raw_connector_config(connector)

    # -- configs

    def put_connector_config(
        self,
        connector: str,
        config: Config,
        callback: Callback,
        allow_replace: bool = True,
        target_state: TargetState | None = None,
    ) -> None:
        """Create or change a connector; `callback` is told `Created` when it has started and its tasks are made.

        Args:
            connector: Its name.
            config: Its config.
            callback: Told `Created`.
            allow_replace: False: AlreadyExistsException if it is there.
            target_state: The first state; None: started.
        """

        def validated(error: BaseException | None, infos: Any) -> None:
            if error is not None:
                callback(error, None)
            elif not self.refuse_invalid(infos, callback):
                self._submit(connector, put, callback)

        def put() -> None:
            exists = self.config_store.contains(connector)
            if exists and not allow_replace:
                raise AlreadyExistsException(f"Connector {connector} already exists")
            if exists:
                self.worker.stop_and_await_connector(connector)
            self.config_store.put_connector_config(connector, config, target_state)
            self._start_connector(connector, started(not exists))

        def started(created: bool) -> Callback:
            def told(error: BaseException | None, _: Any) -> None:
                if error is not None:
                    callback(error, None)
                else:
                    self._submit(connector, lambda: finish(created), callback)

            return told

        def finish(created: bool) -> None:
            self._update_tasks(connector)
            callback(None, Created(created, self.connector_info_now(connector)))

        self.validate_connector_config(config, validated)

    def patch_connector_config(self, connector: str, patch: Config, callback: Callback) -> None:
        """Change some keys; a value None takes its key away (KIP-477)."""
        info = self.connector_info_now(connector)
        if info is None:
            callback(NotFoundException(f"Connector {connector} not found"), None)
        else:
            self.put_connector_config(connector, patched(info.config, patch), callback)

    def delete_connector_config(self, connector: str, callback: Callback) -> None:
        def delete() -> None:
            self._require(connector)
            self._remove_tasks(connector)
            self.worker.stop_and_await_connector(connector)
            self.config_store.remove_connector_config(connector)
            self.connector_reports.on_deletion(connector)
            if self.settings.topic_tracking:
                self.reset_active_topics(connector)
            callback(None, Created(False, None))

        self._submit(connector, delete, callback)

    def stop_connector(self, connector: str, callback: Callback) -> None:
        """Give its tasks up and stop it (KIP-875)."""

        def stop() -> None:
            self._require(connector, "Unknown connector {}")
            self._remove_tasks(connector)
            self.config_store.put_target_state(connector, TargetState.STOPPED)
            callback(None, None)

        self._submit(connector, stop, callback)

    def put_task_configs(
        self, connector: str, configs: Sequence[Config], callback: Callback, signature: Any = None
    ) -> None:
        text = "Kafka Connect in standalone mode does not support externally setting task configurations."
        callback(NotImplementedError(text), None)

    def fence_zombie_source_tasks(self, connector: str, callback: Callback, signature: Any = None) -> None:
        text = "Kafka Connect in standalone mode does not support exactly-once source connectors."
        callback(NotImplementedError(text), None)

    # -- starting work

    def _start_connector(self, connector: str, callback: Callback) -> None:
        state = self.config_state
        config = state.connector_config(connector) or {}
        context = HerderConnectorContext(
            connector, self.request_task_reconfiguration, self.connector_reports.on_failure
        )
        target = state.target_state(connector) or TargetState.STARTED
        self.worker.start_connector(connector, config, context, self.connector_reports, target, callback)

    def request_task_reconfiguration(self, connector: str) -> None:
        """Ask the connector for its tasks' configs anew; from any thread."""

        def update() -> None:
            if self.config_store.contains(connector):
                self._update_tasks(connector)

        self._submit(connector, update, _logged(f"The new configs of the tasks of {connector}"))

    def _update_tasks(self, connector: str) -> None:
        state = self.config_state
        if not self.worker.is_running(connector) or state.target_state(connector) is not TargetState.STARTED:
            log.info("Connector %s does not run, and gets no new tasks", connector)
            return
        try:
            made = self.worker.connector_task_configs(connector, state.connector_config(connector) or {})
        except ConnectorBusyException as error:
            log.warning("%s", error)
            self._later(lambda: self.request_task_reconfiguration(connector))
            return
        configs = reverse_transform(connector, state, made)
        if task_configs_changed(state, connector, configs):
            self._remove_tasks(connector)
            self.config_store.put_task_configs(connector, configs)
            self._start_tasks(connector, self.config_state.tasks(connector))

    def _later(self, work: Callable[[], None]) -> None:
        timer = threading.Timer(_RETRY_S, lambda: None if self._stopping.is_set() else work())
        timer.daemon = True
        timer.start()

    def _start_tasks(self, connector: str, tasks: Collection[ConnectorTaskId]) -> None:
        for task in tasks:
            self._start_task(task)

    def _start_task(self, task: ConnectorTaskId) -> bool:
        state = self.config_state
        config, task_config = state.connector_config(task.connector) or {}, state.task_config(task) or {}
        target = state.target_state(task.connector) or TargetState.STARTED
        type = self.connector_type(config)
        if type not in (SINK, SOURCE):
            raise ConnectException(f"Failed to start task {task} since it is not a recognizable type (source or sink)")
        start = self.worker.start_sink_task if type == SINK else self.worker.start_source_task
        return start(TaskRequest(task, state, config, task_config, self.task_reports, target))

    def _remove_tasks(self, connector: str) -> None:
        tasks = self.config_state.tasks(connector)
        if tasks:
            self.worker.stop_and_await_tasks(tasks)
            self.config_store.remove_task_configs(connector)
            for task in tasks:
                self.task_reports.on_deletion(task)

    # -- restarts

    def restart_connector(self, connector: str, callback: Callback, delay_ms: int = 0) -> Any:
        def restart() -> None:
            self._require(connector)
            self.worker.stop_and_await_connector(connector)
            self._start_connector(connector, told)

        def told(error: BaseException | None, state: Any) -> None:
            self._on_restarted(connector, error, state)
            callback(error, None)

        self._submit(connector, restart, callback)

    def _on_restarted(self, connector: str, error: BaseException | None, state: Any) -> None:
        """Get the tasks' configs anew: a connector that had failed may have none."""
        if error is None and state is TargetState.STARTED:
            self.request_task_reconfiguration(connector)

    def restart_task(self, task: ConnectorTaskId, callback: Callback) -> None:
        def restart() -> None:
            self._require(task.connector)
            if self.config_state.raw_task_config(task) is None:
                raise NotFoundException(f"Task {task} not found")
            self.worker.stop_and_await_task(task)
            if not self._start_task(task):
                raise ConnectException(f"Failed to start task: {task}")
            callback(None, None)

        self._submit(task.connector, restart, callback)

    def restart_connector_and_tasks(self, request: RestartRequest, callback: Callback) -> None:
        """KIP-745; `callback` is told the `ConnectorStateInfo` that it comes to."""
        connector = request.connector
        log_result = _logged(f"The restart of connector {connector}")

        def told(error: BaseException | None, state: Any) -> None:
            self._on_restarted(connector, error, state)
            log_result(error, None)

        def restart() -> None:
            self._require(connector, "Unknown connector: {}")
            plan = self.build_restart_plan(request)
            if plan is None:
                raise NotFoundException(f"Status for connector {connector} not found")
            log.info("Executing %s", plan)
            if plan.restarts_connector:
                self.worker.stop_and_await_connector(connector)
                self.connector_reports.on_restart(connector)
            tasks = plan.tasks_to_restart
            self.worker.stop_and_await_tasks(tasks)
            for task in tasks:
                self.task_reports.on_restart(task)
            if plan.restarts_connector:
                self._start_connector(connector, told)
            self._start_tasks(connector, tasks)
            callback(None, plan.info)

        self._submit(connector, restart, callback)

    # -- offsets

    def _modify_offsets(self, connector: str, offsets: Any, callback: Callback) -> None:
        def modify() -> None:
            self._require(connector)
            state = self.config_state
            self._require_stopped(state, connector)
            self.worker.modify_connector_offsets(connector, state.connector_config(connector) or {}, offsets, callback)

        self._submit(connector, modify, callback)

    # -- loggers

    def set_cluster_logger_level(self, namespace: str, level: str) -> None:
        self.loggers.set_level(namespace, level)

    # -- ConfigUpdateListener, on the thread that has made the change

    def on_connector_config_remove(self, connector: str) -> None:
        """The request does the rest."""

    def on_connector_config_update(self, connector: str) -> None:
        """The request does the rest."""

    def on_task_config_update(self, tasks: Collection[ConnectorTaskId]) -> None:
        """The request does the rest."""

    def on_connector_target_state_change(self, connector: str) -> None:
        state = self.config_state.target_state(connector) or TargetState.STARTED

        def told(error: BaseException | None, reached: Any) -> None:
            if error is not None:
                log.error("Connector %s does not become %s: %s", connector, state.name, error)
            elif reached is TargetState.STARTED:
                self.request_task_reconfiguration(connector)

        self.worker.set_target_state(connector, state, told)

    def on_session_key_update(self, session_key: SessionKey) -> None:
        """A worker alone signs nothing."""

    def on_restart_request(self, request: RestartRequest) -> None:
        """A worker alone restarts at once."""

    def on_logging_level_update(self, namespace: str, level: str) -> None:
        """A worker alone sets it at once."""


def _logged(what: str) -> Callback:
    def told(error: BaseException | None, _: Any) -> None:
        if error is not None:
            log.error("%s: %s", what, error)

    return told
