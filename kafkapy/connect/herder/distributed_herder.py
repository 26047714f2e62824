"""The herder of a distributed worker (Kafka's `DistributedHerder`): requests of users and of other workers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from kafkapy.connect.config.config_def import ConfigValue
from kafkapy.connect.errors import (
    AlreadyExistsException,
    BadRequestException,
    ConnectException,
    ConnectRestException,
    NotAssignedException,
    NotFoundException,
    RebalanceNeededException,
)
from kafkapy.connect.herder.callbacks import Callback
from kafkapy.connect.herder.config_patch import patched
from kafkapy.connect.herder.exactly_once_checks import check_boundary, check_support
from kafkapy.connect.herder.infos import SOURCE, Config, ConnectorInfo, Created
from kafkapy.connect.herder.session_keys import RequestSignature
from kafkapy.connect.herder.sink_checks import check_sink_group
from kafkapy.connect.herder.work_herder import WorkHerder
from kafkapy.connect.storage import ConnectorTaskId, RestartRequest, TargetState

log = logging.getLogger("kafkapy.connect.herder")


class DistributedHerder(WorkHerder):
    """Serves requests on the herder's thread, where it checks again whether this worker is responsible."""

    # -- reading

    def health_check(self, callback: Callback) -> None:
        self.add_request(lambda: callback(None, None), callback)

    def connectors(self, callback: Callback) -> None:
        self._read(callback, lambda: self.config_state.connectors)

    def connector_info(self, connector: str, callback: Callback) -> None:
        self._read(callback, lambda: self.connector_info_now(connector), connector)

    def tasks_config(self, connector: str, callback: Callback) -> None:
        """Call the callback with task -> its config."""
        self._read(callback, lambda: dict(self._task_configs(connector)), connector)

    def task_configs(self, connector: str, callback: Callback) -> None:
        """Call the callback with pairs (task, its config), ordered by task."""
        self._read(callback, lambda: self._task_configs(connector), connector)

    def _task_configs(self, connector: str) -> list[tuple[ConnectorTaskId, Config]]:
        state = self.config_state
        tasks = [ConnectorTaskId(connector, number) for number in range(state.task_count(connector))]
        return [(task, state.raw_task_config(task) or {}) for task in tasks]

    def connector_offsets(self, connector: str, callback: Callback) -> None:
        self.add_request(lambda: self.connector_offsets_now(connector, callback), callback)

    def _read(self, callback: Callback, read: Callable[[], Any], connector: str | None = None) -> None:
        def answer() -> None:
            self._refuse_while_rebalancing()
            if connector is not None:
                self._require(connector, "Connector {} not found")
            callback(None, read())

        self.add_request(answer, callback)

    def _refuse_while_rebalancing(self) -> None:
        if self._changes.needs_rebalance:
            raise RebalanceNeededException("Request cannot be completed because a rebalance is expected")

    # -- configs

    def delete_connector_config(self, connector: str, callback: Callback) -> None:
        def delete() -> None:
            self._require_leader("Only the leader can delete connector configs.")
            self._require(connector, "Connector {} not found")
            self.write_as_leader(
                f"removing the config for connector {connector} from the config topic",
                lambda: self.config_store.remove_connector_config(connector),
            )
            callback(None, Created(False, None))

        self.add_request(delete, callback)

    def put_connector_config(
        self,
        connector: str,
        config: Config,
        callback: Callback,
        allow_replace: bool = True,
        target_state: TargetState | None = None,
    ) -> None:
        """Create or change a connector.

        Args:
            connector: Its name.
            config: Its config.
            callback: Called with a `Created`. allow_replace: False: AlreadyExistsException if the connector exists.
            target_state: The first state; None: started.
        """
        self.add_request(lambda: self._put_config(connector, config, callback, allow_replace, target_state), callback)

    def patch_connector_config(self, connector: str, patch: Config, callback: Callback) -> None:
        """Change some keys; a value None removes its key (KIP-477)."""

        def change() -> None:
            self._require_leader("Only the leader can set connector configs.")
            info = self.connector_info_now(connector)
            if info is None:
                raise NotFoundException(f"Connector {connector} not found")
            self._put_config(connector, patched(info.config, patch), callback, True, None)

        self.add_request(change, callback)

    def _put_config(
        self, connector: str, config: Config, callback: Callback, allow_replace: bool, target: TargetState | None
    ) -> None:
        def validated(error: BaseException | None, infos: Any) -> None:
            if error is not None:
                callback(error, None)
                return
            self.add_request(write_if_valid(infos), callback)

        def write_if_valid(infos: Any) -> Callable[[], None]:
            return lambda: None if self.refuse_invalid(infos, callback) else write()

        def write() -> None:
            self._require_leader("Only the leader can set connector configs.")
            exists = self.config_state.contains(connector)
            if exists and not allow_replace:
                raise AlreadyExistsException(f"Connector {connector} already exists")
            self.write_as_leader(
                f"writing a config for connector {connector} to the config topic",
                lambda: self.config_store.put_connector_config(connector, config, target),
            )
            info = ConnectorInfo(connector, config, self.config_state.tasks(connector), self.connector_type(config))
            callback(None, Created(not exists, info))

        self.validate_connector_config(config, validated)

    def stop_connector(self, connector: str, callback: Callback) -> None:
        """Stop the connector and remove its tasks (KIP-875)."""

        def stop() -> None:
            self._require(connector, "Unknown connector {}")
            self._require_leader("Only the leader can transition connectors to the STOPPED state.")
            self._write_task_configs(connector, [])
            with self.in_stage(f"writing the STOPPED target stage for connector {connector} to the config topic"):
                self.config_store.put_target_state(connector, TargetState.STOPPED)
            self.refresh_configs(self.settings.worker_sync_timeout_ms)
            callback(None, None)

        self.add_request(stop, callback)

    # -- requests of other workers

    def put_task_configs(
        self, connector: str, configs: Sequence[Config], callback: Callback, signature: RequestSignature | None
    ) -> None:
        """Store the task configs that a connector on another worker has computed."""
        if self._refuse_unsigned(signature, callback):
            return

        def put() -> None:
            self._require_leader("Only the leader may write task configurations.")
            self._require(connector, "Connector {} not found")
            self._write_task_configs(connector, configs)
            callback(None, None)

        self.add_request(put, callback)

    def fence_zombie_source_tasks(self, connector: str, callback: Callback, signature: RequestSignature | None) -> None:
        """Fence the earlier tasks of a connector, for other workers."""
        if not self._refuse_unsigned(signature, callback):
            self.add_request(lambda: self._fence(connector, callback), callback)

    def _refuse_unsigned(self, signature: RequestSignature | None, callback: Callback) -> bool:
        if not self.signs_requests:
            return False
        key, known = self.session_key, self.settings.verification_algorithms
        error: ConnectRestException
        if signature is None:
            error = BadRequestException("Internal request missing required signature")
        elif signature.algorithm not in known:
            error = BadRequestException(
                f"This worker does not support the '{signature.algorithm}' key signing algorithm used by other workers. "
                f"This worker is currently configured to use: [{', '.join(known)}]. Check that all workers' configuration "
                "files permit the same set of signature algorithms, and correct any misconfigured worker and restart it."
            )
        elif key is None:
            error = ConnectRestException(
                503,
                "This worker is still starting up and has not been able to read a session key from the config topic yet",
            )
        elif not signature.is_valid(key.key):
            error = ConnectRestException(403, "Internal request contained invalid signature.")
        else:
            return False
        callback(error, None)
        return True

    # -- restarts

    def restart_connector(self, connector: str, callback: Callback, delay_ms: int = 0) -> Any:
        def restart() -> None:
            self._refuse_while_rebalancing()
            self._require(connector, "Unknown connector: {}")
            if self.assignment is not None and connector in self.assignment.connectors:
                with self.in_stage(f"stopping restarted connector {connector}"):
                    self.worker.stop_and_await_connector(connector)
                self._start_connector(connector, callback)
                return
            self._require_leader("Only the leader can process restart requests.")
            raise NotAssignedException(
                "Cannot restart connector since it is not assigned to this member", self.member.connector_url(connector)
            )

        return self.add_request(restart, callback, delay_ms)

    def restart_task(self, task: ConnectorTaskId, callback: Callback) -> None:
        def restart() -> None:
            self._refuse_while_rebalancing()
            self._require(task.connector, "Unknown connector: {}")
            if self.config_state.raw_task_config(task) is None:
                raise NotFoundException(f"Unknown task: {task}")
            if self.assignment is not None and task in self.assignment.tasks:
                with self.in_stage(f"restarting task {task}"):
                    self.worker.stop_and_await_task(task)
                    if not self._start_task(task):
                        raise ConnectException(f"Failed to start task: {task}")
                callback(None, None)
                return
            text = "Cannot restart task since it is not assigned to this member"
            self._require_leader(text)
            raise NotAssignedException(text, self.member.task_url(task))

        self.add_request(restart, callback)

    def restart_connector_and_tasks(self, request: RestartRequest, callback: Callback) -> None:
        """Write a restart request for all workers (KIP-745); the callback gets the resulting `ConnectorStateInfo`."""

        def restart() -> None:
            self._refuse_while_rebalancing()
            self._require(request.connector, "Unknown connector: {}")
            self._require_leader("Only the leader can process restart requests.")
            with self.in_stage(f"writing restart request for connector {request.connector} to the config topic"):
                self.config_store.put_restart_request(request)
            plan = self.build_restart_plan(request)
            if plan is None:
                raise NotFoundException(f"Status for connector {request.connector} not found")
            callback(None, plan.info)

        self.add_request(restart, callback)

    def _process_restarts(self) -> None:
        with self._lock:
            requests = self._changes.take_restarts()
        for request in requests:
            try:
                with self.in_stage(f"handling restart request for connector {request.connector}"):
                    self._restart(request)
            except Exception as error:
                log.warning("Unexpected error while trying to process %s, which is skipped: %s", request, error)

    def _restart(self, request: RestartRequest) -> None:
        plan = self.build_restart_plan(request)
        assignment = self.assignment
        if plan is None or assignment is None:
            return
        log.info("Executing %s", plan)
        connector = request.connector
        owned = set(assignment.tasks)
        tasks = [task for task in plan.tasks_to_restart if task in owned]
        restarts_connector = plan.restarts_connector and connector in assignment.connectors
        if restarts_connector:
            self.worker.stop_and_await_connector(connector)
            self.connector_reports.on_restart(connector)
        if tasks:
            self.worker.stop_and_await_tasks(tasks)
            for task in tasks:
                self.task_reports.on_restart(task)
        if restarts_connector:
            self._try_start_connector(connector)
        for task in tasks:
            self._try_start_task(task)

    # -- offsets

    def _modify_offsets(self, connector: str, offsets: Any, callback: Callback) -> None:
        def modify() -> None:
            self._check_offsets_may_change(connector)
            config = self.config_state.connector_config(connector) or {}
            with self.in_stage(f"modifying offsets for connector {connector}"):
                self.worker.modify_connector_offsets(connector, config, offsets, callback)

        def fenced(error: BaseException | None, _: Any) -> None:
            if error is None:
                self.add_request(modify, callback)
                return
            wrapped = ConnectException(
                "Failed to perform zombie fencing for source connector prior to modifying offsets"
            )
            wrapped.__cause__ = error
            callback(wrapped, None)

        def begin() -> None:
            self._check_offsets_may_change(connector)
            type = self.connector_type(self.config_state.connector_config(connector))
            if type == SOURCE and self.settings.exactly_once_source:
                self._fence(connector, fenced)
            else:
                modify()

        self.add_request(begin, callback)

    def _check_offsets_may_change(self, connector: str) -> None:
        self._refuse_while_rebalancing()
        self._require_leader("Only the leader can process external offsets modification requests")
        if not self.refresh_configs(self.settings.worker_sync_timeout_ms):
            raise ConnectException("Failed to read to end of config topic before modifying connector offsets")
        self._require(connector, "Connector {} not found")
        self._require_stopped(self.config_state, connector)

    # -- validation

    def check_source(self, connector: Any, config: Config, values: dict[str, ConfigValue]) -> None:
        check_support(connector, config, values["exactly.once.support"], self.settings.exactly_once_source)
        check_boundary(connector, config, values["transaction.boundary"])

    def check_sink(self, config: Config, values: dict[str, ConfigValue]) -> None:
        super().check_sink(config, values)
        check_sink_group(config, values, self.settings.group_id)

    def source_uses_own_clients(self, type: str, config: Config) -> bool:
        own_topic = bool((config.get("offsets.storage.topic") or "").strip())
        return type == SOURCE and (self.settings.exactly_once_source or own_topic)

    # -- loggers

    def set_cluster_logger_level(self, namespace: str, level: str) -> None:
        self.config_store.put_logger_level(namespace, level)
