"""Base class of standalone and distributed herders (Kafka's `AbstractHerder`)."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kafkapy.common.time import SystemTime, Time
from kafkapy.connect.config.config_def import ConfigValue
from kafkapy.connect.errors import BadRequestException, ConnectException, NotFoundException
from kafkapy.connect.herder.callbacks import Callback, WorkStage
from kafkapy.connect.herder.config_reload import restarter
from kafkapy.connect.herder.config_transformer import ProviderTransformer
from kafkapy.connect.herder.infos import (
    SINK,
    SOURCE,
    UNKNOWN,
    Config,
    ConnectorInfo,
    ConnectorStateInfo,
    RestartPlan,
    StateInfo,
)
from kafkapy.connect.herder.loggers import WorkerLoggers
from kafkapy.connect.herder.sink_checks import check_sink
from kafkapy.connect.herder.status_reports import ConnectorReports, TaskReports
from kafkapy.connect.herder.worker_seam import HerderWorker
from kafkapy.connect.storage import (
    ClusterConfigState,
    ConfigBackingStore,
    ConnectorTaskId,
    RestartRequest,
    StatusBackingStore,
    StatusState,
    TargetState,
    TaskStatus,
)

log = logging.getLogger("kafkapy.connect.herder")

CONNECTOR_CLASS = "connector.class"
_VALIDATION_THREADS = 32


class AbstractHerder(ABC):
    """Owns the worker and the stores. Methods with a callback return immediately; the others read memory only."""

    def __init__(
        self,
        worker: HerderWorker,
        cluster_id: str,
        status_store: StatusBackingStore,
        config_store: ConfigBackingStore,
        override_policy: Any = None,
        time: Time | None = None,
    ) -> None:
        """
        Args:
            worker: Runs connectors and tasks.
            cluster_id: Id of the Kafka cluster, for `GET /`.
            status_store: Stores statuses. config_store: Stores configs.
            override_policy: Decides which client configs a connector may override. Default: all.
            time: The clock. Default: the system's.
        """
        self.worker = worker
        self.cluster_id = cluster_id
        self.status_store = status_store
        self.config_store = config_store
        self.override_policy = override_policy
        self.time = time or SystemTime()
        self.loggers = WorkerLoggers(self.time)
        self.connector_reports = ConnectorReports(status_store, worker.worker_id, lambda: self.generation)
        self.task_reports = TaskReports(status_store, worker.worker_id, lambda: self.generation)
        self._ready = False
        self._validations = ThreadPoolExecutor(_VALIDATION_THREADS, "connect-validation")
        self._types: dict[str, str] = {}

    # -- for subclasses to define

    @property
    @abstractmethod
    def generation(self) -> int:
        """Return the group's generation; 0 without a group."""

    @property
    @abstractmethod
    def stage(self) -> WorkStage | None:
        """Return the current stage of the herder's thread."""

    @abstractmethod
    def connector_info(self, connector: str, callback: Callback) -> None:
        """Tell the callback the `ConnectorInfo`."""

    @abstractmethod
    def restart_connector(self, connector: str, callback: Callback, delay_ms: int = 0) -> Any:
        """Restart a connector without its tasks; `callback` gets the error."""

    @abstractmethod
    def _raw_config(self, connector: str) -> Config | None: ...

    @abstractmethod
    def _modify_offsets(self, connector: str, offsets: Any, callback: Callback) -> None: ...

    # -- life cycle

    @property
    def is_ready(self) -> bool:
        """Return whether the worker has read its topics and joined its group."""
        return self._ready

    def _start_services(self) -> None:
        transformer = self.worker.config_transformer
        if isinstance(transformer, ProviderTransformer):
            transformer.reloads.restart = restarter(self.restart_connector)
        self.worker.start()
        self.status_store.start()
        self.config_store.start()

    def _stop_services(self) -> None:
        for stop in (self.status_store.stop, self.config_store.stop, self.worker.stop):
            try:
                stop()
            except Exception as error:
                log.warning("A service of the worker could not be stopped: %s", error)
        self._validations.shutdown(wait=False, cancel_futures=True)

    # -- reading

    @property
    def plugins(self) -> Any:
        return self.worker.plugins

    def connector_names(self) -> list[str]:
        return self.config_store.snapshot().connectors

    def connector_info_now(self, connector: str) -> ConnectorInfo | None:
        """Return the connector from the store; None: there is no such connector."""
        state = self.config_store.snapshot()
        config = state.raw_connector_config(connector)
        if config is None:
            return None
        return ConnectorInfo(connector, config, state.tasks(connector), self.connector_type(config))

    def connector_config(self, connector: str, callback: Callback) -> None:
        """Tell the callback the config."""
        self.connector_info(connector, lambda error, info: callback(error, None if info is None else info.config))

    def connector_type(self, config: Config | None) -> str:
        """Return source, sink, or unknown if the class cannot be found."""
        name = None if config is None else config.get(CONNECTOR_CLASS)
        if name is None:
            return UNKNOWN
        found = self._types.get(name)
        if found is None:
            try:
                found = self._type_of_class(name)
            except ConnectException as error:
                log.warning("Unable to retrieve connector type: %s", error)
                return UNKNOWN
            self._types[name] = found
        return found

    def _type_of_class(self, name: str) -> str:
        from kafkapy.connect.sink import SinkConnector
        from kafkapy.connect.source import SourceConnector

        connector = self.plugins.new_connector(name)
        if isinstance(connector, SourceConnector):
            return SOURCE
        return SINK if isinstance(connector, SinkConnector) else UNKNOWN

    def connector_status(self, connector: str) -> ConnectorStateInfo:
        """Raises NotFoundException."""
        status = self.status_store.connector(connector)
        if status is None:
            raise NotFoundException(f"No status found for connector {connector}")
        tasks = [_task_info(task) for task in self.status_store.all_tasks(connector)]
        return ConnectorStateInfo(
            connector,
            StateInfo(status.state, status.worker_id, status.trace),
            sorted(tasks, key=lambda task: task.id or 0),
            self.connector_type(self._raw_config(connector)),
        )

    def task_status(self, task: ConnectorTaskId) -> StateInfo:
        """Raises NotFoundException."""
        status = self.status_store.task(task)
        if status is None:
            raise NotFoundException(f"No status found for task {task}")
        return _task_info(status)

    def active_topics(self, connector: str) -> list[str]:
        return [status.topic for status in self.status_store.all_topics(connector)]

    def reset_active_topics(self, connector: str) -> None:
        for status in self.status_store.all_topics(connector):
            self.status_store.delete_topic(status.connector, status.topic)

    # -- target states

    def pause_connector(self, connector: str) -> None:
        """Raises NotFoundException, ConnectException."""
        self._put_target_state(connector, TargetState.PAUSED)

    def resume_connector(self, connector: str) -> None:
        """Raises NotFoundException, ConnectException."""
        self._put_target_state(connector, TargetState.STARTED)

    def _put_target_state(self, connector: str, state: TargetState) -> None:
        if not self.config_store.contains(connector):
            raise NotFoundException(f"Unknown connector {connector}")
        self.config_store.put_target_state(connector, state)

    # -- restarts

    def build_restart_plan(self, request: RestartRequest) -> RestartPlan | None:
        """Return what the request restarts, according to the statuses; None: the connector has no status."""
        status = self.status_store.connector(request.connector)
        if status is None:
            return None

        def state_of(restarts: bool, state: StatusState) -> StatusState:
            return StatusState.RESTARTING if restarts else state

        connector = StateInfo(
            state_of(request.should_restart_connector(status.state), status.state), status.worker_id, status.trace
        )
        tasks = [
            StateInfo(
                state_of(request.should_restart_task(task.state), task.state), task.worker_id, task.trace, task.id.task
            )
            for task in self.status_store.all_tasks(request.connector)
        ]
        type = self.connector_type(self._raw_config(request.connector))
        return RestartPlan(request, ConnectorStateInfo(request.connector, connector, tasks, type))

    # -- offsets

    def connector_offsets_now(self, connector: str, callback: Callback) -> None:
        state = self.config_store.snapshot()
        config = state.connector_config(connector)
        if config is None:
            callback(NotFoundException(f"Connector {connector} not found"), None)
            return
        self.worker.connector_offsets(connector, config, callback)

    def alter_connector_offsets(self, connector: str, offsets: Any, callback: Callback) -> None:
        if not offsets:
            callback(ConnectException("The offsets to be altered may not be null or empty"), None)
            return
        self._modify_offsets(connector, offsets, callback)

    def reset_connector_offsets(self, connector: str, callback: Callback) -> None:
        self._modify_offsets(connector, None, callback)

    def _require_stopped(self, state: ClusterConfigState, connector: str) -> None:
        if state.target_state(connector) is not TargetState.STOPPED or state.task_count(connector) != 0:
            raise BadRequestException(
                "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the "
                f"specified connector by issuing a 'PUT' request to the '/connectors/{connector}/stop' endpoint"
            )

    # -- validation

    def validate_connector_config(self, config: Config, callback: Callback) -> None:
        """Validate on a separate thread, because the connector's code is called."""

        def validate() -> None:
            try:
                result = self.validation(config)
            except BaseException as error:
                callback(error, None)
            else:
                callback(None, result)

        try:
            self._validations.submit(validate)
        except RuntimeError:
            callback(ConnectException("Worker is shutting down"), None)

    def validation(self, config: Config) -> Any:
        """Validate a connector's config, on this thread. Raises BadRequestException, ConnectException."""
        from kafkapy.connect.herder.validation import validate_config

        return validate_config(self, config)

    def check_source(self, connector: Any, config: Config, values: dict[str, ConfigValue]) -> None:
        """Add further errors of a source's config to `values`. A standalone worker has no further checks."""
        del connector, config, values

    def check_sink(self, config: Config, values: dict[str, ConfigValue]) -> None:
        """Add further errors of a sink's config to `values`."""
        check_sink(config, values)

    def source_uses_own_clients(self, type: str, config: Config) -> bool:
        """Return whether a source uses a separate admin client and consumer for its offsets."""
        return False

    def refuse_invalid(self, infos: Any, callback: Callback) -> bool:
        """Call the callback with all errors of a validation; return False if there are none."""
        if infos.error_count == 0:
            return False
        errors = "".join(f"\n{error}" for info in infos.configs for error in info.errors)
        callback(
            BadRequestException(
                f"Connector configuration is invalid and contains the following {infos.error_count} error(s):{errors}"
                "\nYou can also find the above list of errors at the endpoint "
                "`/connector-plugins/{connectorType}/config/validate`"
            ),
            None,
        )
        return True


def _task_info(status: TaskStatus) -> StateInfo:
    return StateInfo(status.state, status.worker_id, status.trace, status.id.task)
