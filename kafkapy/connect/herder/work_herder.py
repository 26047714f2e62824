"""The distributed herder's work: starting connectors and tasks, and storing the configs of tasks."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Protocol
from urllib.parse import quote

from kafkapy.connect.errors import (
    BadRequestException,
    ConnectException,
    ConnectRestException,
    NotFoundException,
    NotLeaderException,
)
from kafkapy.connect.herder.callbacks import Callback, FutureCallback
from kafkapy.connect.herder.connector_context import HerderConnectorContext
from kafkapy.connect.herder.herder_machine import HerderMachine
from kafkapy.connect.herder.infos import SINK, SOURCE, Config
from kafkapy.connect.herder.source_fencings import SourceFencings
from kafkapy.connect.herder.task_configs import reverse_transform, task_configs_changed
from kafkapy.connect.herder.task_requests import ExactlyOnceChecks, TaskRequest
from kafkapy.connect.storage import ConnectorTaskId, TargetState

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


class WorkHerder(HerderMachine):
    """Starts what is assigned, on its thread pool, and has the leader store what connectors compute.

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
        self._fencings = SourceFencings(self)

    def _halt(self) -> None:
        self._leader_requests.shutdown(wait=False, cancel_futures=True)
        self._fencings.end(ConnectException("Worker is shutting down"))
        super()._halt()

    # -- checks, on the herder's thread

    def _require(self, connector: str, text: str) -> None:
        if not self.config_state.contains(connector):
            raise NotFoundException(text.format(connector))

    def _require_leader(self, text: str) -> None:
        if not self.is_leader:
            raise NotLeaderException(text, self.leader_url)

    # -- connectors

    def _try_start_connector(self, connector: str) -> None:
        try:
            self._start_connector(connector, logged(f"Starting connector {connector}"))
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

    # -- configs of tasks

    def request_task_reconfiguration(self, connector: str) -> None:
        now = self._now()
        self.add_request(
            lambda: self._reconfigure_with_retry(connector, now, 0), logged(f"Task reconfiguration for {connector}")
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
                logged(f"Task reconfiguration for {connector}"),
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
        with self.in_stage(f"generating task configs for connector {connector}"):
            made = self.worker.connector_task_configs(connector, config)
        configs = reverse_transform(connector, state, made)
        if not task_configs_changed(state, connector, configs):
            return
        if self.is_leader:
            self._write_task_configs(connector, configs)
            callback(None, None)
        else:
            self._to_leader(f"connectors/{quote(connector, safe='')}/tasks", "POST", configs, callback)

    def _write_task_configs(self, connector: str, configs: Sequence[Config]) -> None:
        if configs and self.config_state.target_state(connector) is TargetState.STOPPED:
            raise BadRequestException(f"Cannot submit non-empty set of task configs for stopped connector {connector}")
        self.write_as_leader(
            f"writing {len(configs)} task configs for connector {connector} to the config topic",
            lambda: self.config_store.put_task_configs(connector, configs),
        )

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

    def on_task_config_update(self, tasks: Collection[ConnectorTaskId]) -> None:
        super().on_task_config_update(tasks)
        text = "Failed to complete zombie fencing because a new set of task configs was generated"
        self._fencings.end(ConnectRestException(409, text), {task.connector for task in tasks})

    # -- tasks

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
        request = TaskRequest(task, state, connector_config, config, self.task_reports, target)
        if type == SINK:
            return self.worker.start_sink_task(request)
        if not self.settings.exactly_once_source:
            return self.worker.start_source_task(request)
        generation = state.task_config_generation(task.connector)
        checks = ExactlyOnceChecks(lambda: self._fence_before(task), lambda: self._verify_ownership(task, generation))
        return self.worker.start_exactly_once_source_task(replace(request, checks=checks))

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

    def _fence(self, connector: str, callback: Callback) -> None:
        self._require_leader("Only the leader may perform zombie fencing.")
        self._require(connector, "Connector {} not found")
        config = self.config_state.connector_config(connector) or {}
        if self.connector_type(config) != SOURCE:
            raise BadRequestException(f"Connector {connector} is not a source connector")
        self._fencings.begin(connector, config, callback)


def logged(what: str) -> Callback:
    """Return a callback that logs errors."""

    def told(error: BaseException | None, _: Any) -> None:
        if error is not None:
            cause = f": {error.__cause__}" if error.__cause__ else ""
            log.error("%s failed: %s%s", what, error, cause)

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
