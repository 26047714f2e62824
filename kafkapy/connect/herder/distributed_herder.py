"""The herder of a distributed worker (Kafka's `DistributedHerder`): requests of users and workers, and starting
work."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol
from urllib.parse import quote

from kafkapy.connect.config.config_def import ConfigValue
from kafkapy.connect.errors import (
    AlreadyExistsException,
    BadRequestException,
    ConnectException,
    ConnectRestException,
    NotAssignedException,
    NotFoundException,
    NotLeaderException,
    RebalanceNeededException,
)
from kafkapy.connect.herder.callbacks import Callback, FutureCallback
from kafkapy.connect.herder.config_patch import patched
from kafkapy.connect.herder.connector_context import HerderConnectorContext
from kafkapy.connect.herder.exactly_once_checks import check_boundary, check_support
from kafkapy.connect.herder.herder_machine import HerderMachine
from kafkapy.connect.herder.infos import SINK, SOURCE, Config, ConnectorInfo, Created
from kafkapy.connect.herder.session_keys import RequestSignature
from kafkapy.connect.herder.sink_checks import check_sink_group
from kafkapy.connect.herder.task_configs import reverse_transform, task_configs_changed
from kafkapy.connect.herder.zombie_fencing import ZombieFencing
from kafkapy.connect.storage import ConnectorTaskId, RestartRequest, TargetState

log = logging.getLogger("kafkapy.connect.herder")

_RECONFIGURE_BACKOFF_MS = 250
_RECONFIGURE_BACKOFF_MAX_MS = 60_000
_KEY_GRACE_MS = 60_000
_FENCE_PATIENCE_MS = 60_000
_NEVER_MS = 365 * 86_400_000


class WorkerClient(Protocol):
    """Sends signed requests to other workers."""

    def send_signed(self, url: str, method: str, body: Any, key: bytes | None, algorithm: str) -> None:
        """Raises ConnectRestException."""
        ...


class DistributedHerder(HerderMachine):
    """Serves requests on the herder's thread, where it checks again whether this worker is responsible.

    Invariant: `_leader_requests` has one thread, so that requests to the leader remain in order.
    """

    def __init__(self, client: WorkerClient, **machine: Any) -> None:
        """
        Args:
            client: Sends requests to other workers.
            machine: Arguments of `HerderMachine`.
        """
        super().__init__(**machine)
        self._client = client
        self._leader_requests = ThreadPoolExecutor(1, "connect-forward")

    def _halt(self) -> None:
        self._leader_requests.shutdown(wait=False, cancel_futures=True)
        super()._halt()

    # -- reading

    def health_check(self, callback: Callback) -> None:
        self.add_request(lambda: callback(None, None), callback)

    def connectors(self, callback: Callback) -> None:
        self._read(callback, lambda: self.config_state.connectors)

    def connector_info(self, connector: str, callback: Callback) -> None:
        self._read(callback, lambda: self.connector_info_now(connector), connector)

    def connector_config(self, connector: str, callback: Callback) -> None:
        self.connector_info(connector, lambda error, info: callback(error, None if info is None else info.config))

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

    # -- checks, on the herder's thread

    def _refuse_while_rebalancing(self) -> None:
        if self._needs_rebalance:
            raise RebalanceNeededException("Request cannot be completed because a rebalance is expected")

    def _require(self, connector: str, text: str) -> None:
        if not self.config_state.contains(connector):
            raise NotFoundException(text.format(connector))

    def _require_leader(self, text: str) -> None:
        if not self.is_leader:
            raise NotLeaderException(text, self.leader_url)

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
            with self._in_stage(f"writing the STOPPED target stage for connector {connector} to the config topic"):
                self.config_store.put_target_state(connector, TargetState.STOPPED)
            self.refresh_configs(self.settings.worker_sync_timeout_ms)
            callback(None, None)

        self.add_request(stop, callback)

    # -- configs of tasks

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

    def _write_task_configs(self, connector: str, configs: Sequence[Config]) -> None:
        if configs and self.config_state.target_state(connector) is TargetState.STOPPED:
            raise BadRequestException(f"Cannot submit non-empty set of task configs for stopped connector {connector}")
        self.write_as_leader(
            f"writing {len(configs)} task configs for connector {connector} to the config topic",
            lambda: self.config_store.put_task_configs(connector, configs),
        )

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

    def request_task_reconfiguration(self, connector: str) -> None:
        """Have the connector compute its tasks' configs again. Thread-safe."""
        now = self._now()
        self.add_request(
            lambda: self._reconfigure_with_retry(connector, now, 0), _logged(f"Task reconfiguration for {connector}")
        )

    def _reconfigure_with_retry(self, connector: str, asked_ms: int, attempt: int) -> None:
        def done(error: BaseException | None, _: Any) -> None:
            if error is None:
                return
            if str(getattr(error, "java_class", "")).endswith(".TooManyTasksException"):
                return
            expired = isinstance(error, ConnectRestException) and error.status == 403
            if not (expired and asked_ms + _KEY_GRACE_MS >= self._now()):
                log.error("Failed to reconfigure connector's tasks (%s), retrying after backoff: %s", connector, error)
            self.add_request(
                lambda: self._reconfigure_with_retry(connector, asked_ms, attempt + 1),
                _logged(f"Task reconfiguration for {connector}"),
                min(_RECONFIGURE_BACKOFF_MS * 2 ** min(attempt, 16), _RECONFIGURE_BACKOFF_MAX_MS),
            )

        try:
            self._reconfigure(connector, done)
        except Exception as error:
            done(error, None)

    def _reconfigure(self, connector: str, callback: Callback) -> None:
        state = self.config_state
        config = state.connector_config(connector)
        runs = self.worker.is_running(connector)
        if config is None or not runs or state.target_state(connector) is not TargetState.STARTED:
            log.info("Skipping reconfiguration of connector %s since it is not running", connector)
            return
        with self._in_stage(f"generating task configs for connector {connector}"):
            made = self.worker.connector_task_configs(connector, config)
        configs = reverse_transform(connector, state, made)
        if not task_configs_changed(state, connector, configs):
            return
        if self.is_leader:
            self._write_task_configs(connector, configs)
            callback(None, None)
        else:
            self._to_leader(f"connectors/{quote(connector, safe='')}/tasks", "POST", configs, callback)

    def _to_leader(self, path: str, method: str, body: Any, callback: Callback) -> None:
        """Send a signed request to the leader, on the thread for leader requests."""
        url, key = self.leader_url, self.session_key

        def send() -> None:
            try:
                if not url:
                    raise ConnectException("The URL of the leader's REST interface is empty")
                self._client.send_signed(
                    url.rstrip("/") + "/" + path,
                    method,
                    body,
                    None if key is None else key.key,
                    self.settings.signature_algorithm,
                )
            except Exception as error:
                log.error("Request to the leader failed: %s", error)
                callback(error, None)
            else:
                callback(None, None)

        try:
            self._leader_requests.submit(send)
        except RuntimeError:
            callback(ConnectException("Worker is shutting down"), None)

    # -- starting work, on its thread pool

    def _try_start_connector(self, connector: str) -> None:
        try:
            self._start_connector(connector, _logged(f"Starting connector {connector}"))
        except Exception as error:
            log.error("Unexpected error while trying to start connector %s: %s", connector, error)
            self.connector_reports.on_failure(connector, error)

    def _start_connector(self, connector: str, callback: Callback) -> None:
        state = self.config_state
        config = state.connector_config(connector)
        if config is None:
            raise NotFoundException(f"Connector {connector} not found")
        context = HerderConnectorContext(
            connector, self.request_task_reconfiguration, self.connector_reports.on_failure
        )

        def reached(error: BaseException | None, new: Any) -> None:
            if error is not None:
                wrapped = ConnectException(f"Failed to start connector: {connector}")
                wrapped.__cause__ = error
                callback(wrapped, None)
            elif new is TargetState.STARTED:
                self.add_request(reconfigure, callback)
            else:
                callback(None, None)

        def reconfigure() -> None:
            self._reconfigure_with_retry(connector, self._now(), 0)
            callback(None, None)

        target = state.target_state(connector) or TargetState.STARTED
        self.worker.start_connector(connector, config, context, self.connector_reports, target, reached)

    def _try_start_task(self, task: ConnectorTaskId) -> None:
        try:
            self._start_task(task)
        except Exception as error:
            log.error("Couldn't instantiate task %s, which does not run until it is reconfigured: %s", task, error)
            self.task_reports.on_failure(task, error)

    def _start_task(self, task: ConnectorTaskId) -> bool:
        state = self.config_state
        connector_config, config = state.connector_config(task.connector), state.task_config(task)
        target = state.target_state(task.connector) or TargetState.STARTED
        type = self.connector_type(connector_config)
        if connector_config is None or config is None or type not in (SINK, SOURCE):
            raise ConnectException(f"Failed to start task {task} since it is not a recognizable type (source or sink)")
        common = (task, state, connector_config, config, self.task_reports, target)
        if type == SINK:
            return self.worker.start_sink_task(*common)
        if not self.settings.exactly_once_source:
            return self.worker.start_source_task(*common)
        generation = state.task_config_generation(task.connector)
        return self.worker.start_exactly_once_source_task(
            *common, lambda: self._fence_before(task), lambda: self._verify_ownership(task, generation)
        )

    # -- exactly once

    def _fence_before(self, task: ConnectorTaskId) -> None:
        """Wait, on the task's thread, until earlier tasks are fenced. Raises ConnectException."""
        fenced: FutureCallback[None] = FutureCallback()
        self._fence_with_retry(task, fenced, self._now(), 0)
        _result(fenced, "Failed to perform round of zombie fencing")

    def _fence_with_retry(self, task: ConnectorTaskId, fenced: Callback, asked_ms: int, attempt: int) -> None:
        """Have the leader fence earlier tasks. It may be starting, or be another one soon: then ask again for a while."""

        def done(error: BaseException | None, _: Any) -> None:
            owned = self.assignment is not None and task in self.assignment.tasks
            if not (owned and _is_of_a_changing_leader(error) and self._now() < asked_ms + _FENCE_PATIENCE_MS):
                fenced(error, None)
                return
            self.add_request(
                lambda: self._fence_with_retry(task, fenced, asked_ms, attempt + 1),
                fenced,
                _RECONFIGURE_BACKOFF_MS * 2 ** min(attempt, 4),
            )

        def tried(error: BaseException | None, _: Any) -> None:
            if isinstance(error, NotLeaderException):
                self._to_leader(f"connectors/{quote(task.connector, safe='')}/fence", "PUT", None, done)
            else:
                done(error, None)

        self.add_request(lambda: self._fence(task.connector, tried), tried)

    def _verify_ownership(self, task: ConnectorTaskId, generation: int | None) -> None:
        """Check, on the task's thread, that this worker still owns the task. Raises ConnectException."""
        self.config_store.refresh(_NEVER_MS)
        verified: FutureCallback[None] = FutureCallback()

        def verify() -> None:
            self.config_state = self.config_store.snapshot()
            if self.config_state.task_config_generation(task.connector) != generation:
                raise ConnectException(
                    f"Cannot start source task {task} with exactly-once support as the connector has already generated a "
                    "new set of task configs"
                )
            if self.assignment is None or task not in self.assignment.tasks:
                raise ConnectException(
                    f"Cannot start source task {task} as it has already been revoked from this worker"
                )
            verified(None, None)

        self.add_request(verify, verified)
        _result(verified, f"Failed to perform preflight check for task {task}")

    def fence_zombie_source_tasks(self, connector: str, callback: Callback, signature: RequestSignature | None) -> None:
        """Fence the earlier tasks of a connector, for other workers."""
        if not self._refuse_unsigned(signature, callback):
            self.add_request(lambda: self._fence(connector, callback), callback)

    def _fence(self, connector: str, callback: Callback) -> None:
        self._require_leader("Only the leader may perform zombie fencing.")
        self._require(connector, "Connector {} not found")
        config = self.config_state.connector_config(connector) or {}
        if self.connector_type(config) != SOURCE:
            raise BadRequestException(f"Connector {connector} is not a source connector")
        if not self.refresh_configs(self.settings.worker_sync_timeout_ms):
            raise ConnectException("Failed to read to end of config topic before performing zombie fencing")
        state = self.config_state
        tasks, recorded = state.task_count(connector), state.task_count_record(connector)
        if not state.pending_fencing(connector):
            callback(None, None)
        elif recorded is None or (recorded == 1 and tasks == 1):
            self._record_task_count(connector, tasks)
            callback(None, None)
        else:
            self._fence_round(connector, recorded, tasks, config, callback)

    def _fence_round(self, connector: str, recorded: int, tasks: int, config: Config, callback: Callback) -> None:
        generation = self.config_state.task_config_generation(connector) or 0
        with self._lock:
            fencing = self._fencings.get(connector)
            begins = fencing is None
            if fencing is None:
                fencing = ZombieFencing(
                    lambda: self.worker.fence_zombies(connector, recorded, config),
                    lambda: self._record_fencing(connector, tasks, generation),
                    self.add_request,
                    lambda: self._end_fencing(connector),
                )
                self._fencings[connector] = fencing
        fencing.add_callback(callback)
        if begins:
            try:
                with self._in_stage(f"initiating a round of zombie fencing for connector {connector}"):
                    fencing.start()
            except Exception as error:
                fencing.finish(error)

    def _end_fencing(self, connector: str) -> None:
        with self._lock:
            self._fencings.pop(connector, None)

    def _record_fencing(self, connector: str, tasks: int, generation: int) -> None:
        if not self.refresh_configs(self.settings.worker_sync_timeout_ms):
            raise ConnectException("Failed to read to end of config topic")
        if generation < (self.config_state.task_config_generation(connector) or 0):
            raise ConnectRestException(
                409, "Fencing failed because new task configurations were generated for the connector"
            )
        self._record_task_count(connector, tasks)

    def _record_task_count(self, connector: str, tasks: int) -> None:
        self.write_as_leader(
            f"writing a task count record for connector {connector} to the config topic",
            lambda: self.config_store.put_task_count_record(connector, tasks),
        )

    # -- restarts

    def restart_connector(self, connector: str, callback: Callback, delay_ms: int = 0) -> Any:
        def restart() -> None:
            self._refuse_while_rebalancing()
            self._require(connector, "Unknown connector: {}")
            if self.assignment is not None and connector in self.assignment.connectors:
                with self._in_stage(f"stopping restarted connector {connector}"):
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
                with self._in_stage(f"restarting task {task}"):
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
            with self._in_stage(f"writing restart request for connector {request.connector} to the config topic"):
                self.config_store.put_restart_request(request)
            plan = self.build_restart_plan(request)
            if plan is None:
                raise NotFoundException(f"Status for connector {request.connector} not found")
            callback(None, plan.info)

        self.add_request(restart, callback)

    def _process_restarts(self) -> None:
        with self._lock:
            requests, self._restarts = list(self._restarts.values()), {}
        for request in requests:
            try:
                with self._in_stage(f"handling restart request for connector {request.connector}"):
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
            with self._in_stage(f"modifying offsets for connector {connector}"):
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
        state = self.config_state
        if state.target_state(connector) is not TargetState.STOPPED or state.task_count(connector) != 0:
            raise BadRequestException(
                "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the "
                f"specified connector by issuing a 'PUT' request to the '/connectors/{connector}/stop' endpoint"
            )

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


def _logged(what: str) -> Callback:
    def told(error: BaseException | None, _: Any) -> None:
        if error is not None:
            log.error("%s failed: %s", what, error)

    return told


def _is_of_a_changing_leader(error: BaseException | None) -> bool:
    """Return whether the leader could not be reached, has no session key yet or another one, or is none any more."""
    if not isinstance(error, ConnectRestException):
        return False
    return error.status in (403, 409, 503) or isinstance(error.__cause__, OSError)


def _result(outcome: FutureCallback[None], text: str) -> None:
    try:
        outcome.result()
    except ConnectException:
        raise
    except Exception as error:
        raise ConnectException(text) from error
