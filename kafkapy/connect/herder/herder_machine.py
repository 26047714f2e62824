"""The distributed herder's thread: membership, rebalances, changes of configs, requests (Kafka's `DistributedHerder.tick`).

All changes of the worker's connectors and tasks happen on this thread, one after the other.
"""

from __future__ import annotations

import logging
import threading
import time as system_time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, Protocol

from kafkapy.connect.errors import ConnectException, StartCancelled
from kafkapy.connect.group.assignment import ConnectAssignment
from kafkapy.connect.herder.abstract_herder import AbstractHerder
from kafkapy.connect.herder.callbacks import Callback, WorkStage
from kafkapy.connect.herder.infos import Config
from kafkapy.connect.herder.request_queue import HerderRequest, RequestQueue
from kafkapy.connect.herder.session_keys import key_bytes, new_key
from kafkapy.connect.herder.settings import HerderSettings
from kafkapy.connect.herder.zombie_fencing import ZombieFencing
from kafkapy.connect.storage import (
    EMPTY_CONFIG_STATE,
    ConnectorTaskId,
    RestartRequest,
    SessionKey,
    TargetState,
)

log = logging.getLogger("kafkapy.connect.herder")

_START_STOP_THREADS = 8
_SYNC_RETRIES = 5
_CLAIM_BACKOFF_MS = 250
_STOP_S = 60.0
_PRIVILEGED = "org.apache.kafka.connect.storage.PrivilegedWriteException"


class WorkerMembership(Protocol):
    """The membership's interface for the herder."""

    @property
    def member_id(self) -> str: ...
    @property
    def current_protocol_version(self) -> int: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def ensure_active(self) -> bool: ...
    def poll(self, timeout_ms: float | None) -> bool: ...
    def wakeup(self) -> None: ...
    def request_rejoin(self, reason: str = ...) -> None: ...
    def leave(self, reason: str) -> None: ...
    def connector_url(self, connector: str) -> str | None: ...
    def task_url(self, task: ConnectorTaskId) -> str | None: ...


class HerderMachine(AbstractHerder):
    """Invariant: `assignment` is the last one received, `_running` its part that was started; `_rebalance_resolved` is
    False from an assignment until its work was started. `config_state` is replaced on the herder's thread only.
    Changes reported by the store's thread are queued in `_connector_updates`, `_task_updates`, `_target_changes` and
    `_restarts`, under `_lock`.
    """

    def __init__(
        self,
        settings: HerderSettings,
        member: WorkerMembership,
        stopping: threading.Event | None = None,
        **common: Any,
    ) -> None:
        """
        Args:
            settings: The worker's.
            member: The membership; its listener must be this herder.
            stopping: Set by `request_stop`. Logs that are being read to their ends give up then. Default: its own.
            common: Arguments of `AbstractHerder`.
        """
        super().__init__(**common)
        self.settings = settings
        self.member = member
        self.assignment: ConnectAssignment | None = None
        self.config_state = EMPTY_CONFIG_STATE
        self._generation = -1
        self._requests = RequestQueue()
        self._lock = threading.RLock()
        self._pool = ThreadPoolExecutor(_START_STOP_THREADS, "connect-start-stop")
        self._stopping = stopping or threading.Event()
        self._thread: threading.Thread | None = None
        self.failure: BaseException | None = None
        """The error that has ended the herder's thread; None while it runs, and after `stop`."""
        self._stage: WorkStage | None = WorkStage("awaiting startup", self._now())
        self._running_connectors: set[str] = set()
        self._running_tasks: set[ConnectorTaskId] = set()
        self._tasks_to_restart: set[ConnectorTaskId] = set()
        self._rebalance_resolved = True
        self._can_read_configs = True
        self._needs_rebalance = False
        self._fenced = False
        self._scheduled_rebalance: int | None = None
        self._protocol_version = member.current_protocol_version
        self._retries = _SYNC_RETRIES
        self._connector_updates: dict[str, None] = {}
        self._target_changes: dict[str, None] = {}
        self._task_updates: dict[ConnectorTaskId, None] = {}
        self._restarts: dict[str, RestartRequest] = {}
        self._session_key: SessionKey | None = None
        self._key_expiration: int | None = None
        self._fencings: dict[str, ZombieFencing] = {}

    # -- life cycle

    def initialize(self) -> None:
        """Start worker and stores, and read the topics; on the herder's thread. Raises ConnectException, KafkaError."""
        with self._in_stage("initializing and reading to the end of internal topics"):
            self._start_services()
            self.member.start()

    def start(self, on_failure: Callable[[], None] = lambda: None) -> None:
        """Initialize and run on a thread of its own; returns immediately.

        Args:
            on_failure: Called on the herder's thread if an error ends it, after `failure` is set. Default: nothing.
        """
        self._thread = threading.Thread(target=self._live, args=(on_failure,), name="connect-herder", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the herder's thread, with all connectors and tasks, and wait for its end."""
        self.request_stop()
        if self._thread is not None:
            self._thread.join(_STOP_S)

    def _live(self, on_failure: Callable[[], None]) -> None:
        try:
            self.initialize()
            self.run()
        except StartCancelled as cancelled:
            log.info("The worker stops before it has started: %s", cancelled)
            self._stop_services()
        except Exception as error:
            log.exception("The herder has failed, and the worker cannot continue")
            self.failure = error
            on_failure()

    def run(self) -> None:
        """Run the herder's thread until `request_stop`. Raises errors after which the worker can't continue."""
        while not self._stopping.is_set():
            self.tick()
            self._ready = True
        self._halt()

    def request_stop(self) -> None:
        """Let `run` end soon. Thread-safe."""
        self._stopping.set()
        self.member.wakeup()

    def _halt(self) -> None:
        with self._in_stage("shutting down"):
            log.info("Stopping connectors and tasks that are still assigned to this worker")
            self.worker.stop_and_await_connectors()
            self.worker.stop_and_await_tasks()
            for request in self._requests.take_all():
                request.failed(ConnectException("Worker is shutting down"), None)
            for fencing in list(self._fencings.values()):
                fencing.finish(ConnectException("Worker is shutting down"))
            self.member.stop()
            self._stop_services()
            self._pool.shutdown(wait=False, cancel_futures=True)

    @property
    def generation(self) -> int:
        return self._generation

    @property
    def stage(self) -> WorkStage | None:
        return self._stage

    def _now(self) -> int:
        return int(self.time.milliseconds())

    @contextmanager
    def _in_stage(self, description: str) -> Iterator[None]:
        self._stage = WorkStage(description, self._now())
        try:
            yield
        finally:
            self._stage = self._stage.completed(self._now())

    # -- requests

    def add_request(self, action: Callable[[], None], failed: Callback, delay_ms: int = 0) -> HerderRequest:
        """Schedule `action` on the herder's thread.

        Args:
            action: The function to be called. failed: Called with the error that `action` raises. delay_ms: Delay from
                now, in ms.
        """
        request, first = self._requests.add(self._now() + delay_ms, action, failed)
        if first:
            self.member.wakeup()
        return request

    # -- one turn

    def tick(self) -> None:
        """Run one iteration: join if necessary, start assigned work, serve requests, apply changes, and wait for
        events."""
        if not self._can_read_configs:
            if not self._read_configs_to_end():
                return
            self._can_read_configs = True
        with self._in_stage("ensuring membership in the cluster"):
            active = self.member.ensure_active()
        if self._stopping.is_set() or not active or not self._handle_rebalance():
            return
        if not self._reclaim_writes() or not self._rotate_key():
            return
        self._run_requests()
        self._process_restarts()
        if not self._take_updates():
            return
        wait_ms = self._wait_ms()
        words = "" if wait_ms is None else f"for up to {wait_ms}ms or "
        with self._in_stage(f"polling the group coordinator {words}until interrupted"):
            polled = self.member.poll(wait_ms)
        if polled and not self._stopping.is_set():
            self._handle_rebalance()

    def _run_requests(self) -> None:
        now = self._now()
        while (request := self._requests.take_due(now)) is not None:
            request.run()

    def _wait_ms(self) -> int | None:
        """Return the ms until something is due; None: nothing is scheduled."""
        times = [self._requests.next_at_ms()]
        if self._scheduled_rebalance is not None:
            times.append(self._scheduled_rebalance)
            self._rebalance_resolved = False
        if self.is_leader and self.signs_requests:
            times.append(self._key_expiration)
        known = [at for at in times if at is not None]
        return max(0, min(known) - self._now()) if known else None

    @property
    def is_leader(self) -> bool:
        assignment = self.assignment
        return assignment is not None and bool(assignment.leader) and assignment.leader == self.member.member_id

    @property
    def leader_url(self) -> str | None:
        return None if self.assignment is None else self.assignment.leader_url

    # -- keys and privileges of the leader

    @property
    def signs_requests(self) -> bool:
        """Return whether the group's protocol requires signed requests."""
        return self.member.current_protocol_version >= 2

    @property
    def session_key(self) -> SessionKey | None:
        return self._session_key

    def _reclaim_writes(self) -> bool:
        if self._fenced and self.is_leader:
            try:
                with self._in_stage("reclaiming write privileges for the config topic"):
                    self.config_store.claim_write_privileges()
            except Exception as error:
                log.warning("Unable to claim write privileges for config topic: %s", error)
                self._back_off(_CLAIM_BACKOFF_MS)
                return False
        self._fenced = False
        return True

    def write_as_leader(self, description: str, write: Callable[[], None]) -> None:
        """Write configs. Raises ConnectException, also if another leader has fenced this worker."""
        try:
            with self._in_stage(description):
                write()
        except ConnectException as error:
            if error.java_class != _PRIVILEGED:
                raise
            self._fenced = True
            raise ConnectException(
                "Failed to write to config topic; this may be due to a transient error and the request can be safely retried"
            ) from error

    def _rotate_key(self) -> bool:
        if not self._key_is_due():
            return True
        self._key_expiration = None
        key = new_key(self.settings.key_algorithm, self.settings.key_size_bits, self._now())
        try:
            self.write_as_leader(
                "writing a new session key to the config topic", lambda: self.config_store.put_session_key(key)
            )
        except Exception as error:
            log.info("Failed to write new session key to config topic, which is read to its end first: %s", error)
            self._can_read_configs = False
            return False
        return True

    def _key_is_due(self) -> bool:
        with self._lock:
            if self._session_key is None and self.config_state.session_key is not None:
                self._session_key = self.config_state.session_key
                self._key_expiration = self._session_key.creation_timestamp + self.settings.key_ttl_ms
            key, expiration = self._session_key, self._key_expiration
        if not self.signs_requests or not self.is_leader:
            return False
        if key is None or (expiration is not None and expiration <= self._now()):
            return True
        size = key_bytes(self.settings.key_algorithm, self.settings.key_size_bits)
        return key.algorithm != self.settings.key_algorithm or len(key.key) != size

    # -- changes of configs

    def _take_updates(self) -> bool:
        """Apply changes that the store has reported; False: the group has to rebalance first."""
        eager = self.member.current_protocol_version == 0
        with self._lock:
            rebalance = self._needs_rebalance
            connectors, targets, tasks = self._connector_updates, self._target_changes, self._task_updates
            if not (rebalance or connectors or targets or (tasks and not eager)):
                return True
            self.config_state = self.config_store.snapshot()
            self._needs_rebalance = False
            self._connector_updates, self._target_changes, self._task_updates = {}, {}, {}
        if rebalance:
            self.member.request_rejoin()
            if eager:
                return False
        self._process_connector_updates(list(connectors))
        self._process_target_changes(list(targets))
        if not eager:
            self._stop_reconfigured_tasks({task.connector for task in tasks})
        return not rebalance

    def _process_connector_updates(self, connectors: Sequence[str]) -> None:
        owned = set() if self.assignment is None else set(self.assignment.connectors)
        starts: list[Callable[[], None]] = []
        for connector in connectors:
            if connector not in owned:
                continue
            remains = self.config_state.contains(connector)
            log.info(
                "The config of connector %s has changed: %s it", connector, "restarting" if remains else "stopping"
            )
            with self._in_stage(f"stopping connector {connector}"):
                self.worker.stop_and_await_connector(connector)
            if remains:
                starts.append(lambda connector=connector: self._try_start_connector(connector))  # type: ignore[misc]
        self._all_at_once(starts, f"restarting {len(starts)} reconfigured connectors")

    def _process_target_changes(self, connectors: Sequence[str]) -> None:
        for connector in connectors:
            state = self.config_state.target_state(connector)
            if state is None or not self.config_state.contains(connector):
                continue

            def changed(error: BaseException | None, new: Any, connector: str = connector) -> None:
                if error is not None:
                    log.error("Failed to transition connector %s to target state: %s", connector, error)
                elif new is TargetState.STARTED:
                    self.request_task_reconfiguration(connector)

            self.worker.set_target_state(connector, state, changed)

    def _stop_reconfigured_tasks(self, connectors: Collection[str]) -> None:
        owned = () if self.assignment is None else self.assignment.tasks
        stopped = [task for task in dict.fromkeys(owned) if task.connector in connectors]
        if stopped:
            log.info("Stopping the reconfigured tasks %s, which start again after the rebalance", stopped)
            with self._in_stage(f"stopping {len(stopped)} reconfigured tasks"):
                self.worker.stop_and_await_tasks(stopped)
            self._tasks_to_restart.update(stopped)

    # -- rebalances

    def _handle_rebalance(self) -> bool:
        """Start the assigned work; False: the worker must join again."""
        if self._rebalance_resolved:
            return True
        assignment = self.assignment
        assert assignment is not None
        behind = self.config_state.offset < assignment.offset
        read = behind or (assignment.failed and self.is_leader)
        rejoin = assignment.failed
        if self._scheduled_rebalance is not None and self._scheduled_rebalance <= self._now():
            self._scheduled_rebalance = None
            rejoin = True
        if read:
            self._can_read_configs = self._read_configs_to_end()
            rejoin = rejoin or not self._can_read_configs
        if rejoin or self.config_state.offset != assignment.offset:
            if not rejoin:
                log.info(
                    "The config offset %d is not the assignment's %d: joining again",
                    self.config_state.offset,
                    assignment.offset,
                )
            self.member.request_rejoin()
            return False
        self._start_work(assignment)
        self._rebalance_resolved = True
        if assignment.revoked_connectors or assignment.revoked_tasks:
            self.assignment = assignment.without_revoked()
            self.member.request_rejoin()
            return False
        return True

    def _start_work(self, assignment: ConnectAssignment) -> None:
        log.info("Starting connectors and tasks using config offset %d", assignment.offset)
        with self._lock:
            connectors = [name for name in dict.fromkeys(assignment.connectors) if name not in self._running_connectors]
            self._running_tasks -= self._tasks_to_restart
            self._tasks_to_restart.clear()
            tasks = [task for task in dict.fromkeys(assignment.tasks) if task not in self._running_tasks]
        starts: list[Callable[[], None]] = [
            *(lambda name=name: self._try_start_connector(name) for name in connectors),
            *(lambda task=task: self._try_start_task(task) for task in tasks),
        ]
        self._all_at_once(starts, f"starting {len(starts)} connector(s) and task(s) after a rebalance")
        eager = self.member.current_protocol_version == 0
        with self._lock:
            self._running_connectors = set() if eager else set(assignment.connectors)
            self._running_tasks = set() if eager else set(assignment.tasks)

    def _all_at_once(self, calls: Sequence[Callable[[], None]], description: str) -> None:
        if calls:
            with self._in_stage(description):
                wait([self._pool.submit(call) for call in calls])

    def _read_configs_to_end(self) -> bool:
        if self.refresh_configs(self.settings.worker_sync_timeout_ms):
            self._retries = _SYNC_RETRIES
            return True
        self.member.leave("taking too long to read the log")
        self._back_off(self.settings.worker_unsync_backoff_ms)
        return False

    def refresh_configs(self, timeout_ms: float) -> bool:
        """Read the configs topic to its end; False: timed out."""
        try:
            with self._in_stage("reading to the end of the config topic"):
                self.config_store.refresh(timeout_ms)
        except TimeoutError as error:
            log.warning("Didn't reach end of config log quickly enough: %s", error)
            self._can_read_configs = False
            return False
        self.config_state = self.config_store.snapshot()
        return True

    def _back_off(self, ms: int) -> None:
        """Wait; with the incremental protocols, a worker that fails to catch up finally revokes its own work."""
        if self._protocol_version == 0:
            self._sleep(ms)
        elif self._retries > 0:
            self._sleep(self.settings.scheduled_rebalance_max_delay_ms // 10 // self._retries)
            self._retries -= 1
        else:
            log.info("Revoking all connectors and tasks: after %d retries the worker still lags", _SYNC_RETRIES)
            self.on_revoked("", sorted(self._running_connectors), sorted(self._running_tasks))
            self._retries = _SYNC_RETRIES

    def _sleep(self, ms: int) -> None:
        with self._in_stage(f"sleeping for a backoff duration of {ms}ms"):
            end = system_time.monotonic() + ms / 1000
            while not self._stopping.wait(max(0.0, min(1.0, end - system_time.monotonic()))):
                if system_time.monotonic() >= end:
                    return

    # -- RebalanceListener

    def on_assigned(self, assignment: ConnectAssignment, generation: int) -> None:
        self._protocol_version = self.member.current_protocol_version
        log.info(
            "Joined group at generation %d with protocol version %d and got assignment %s",
            generation,
            self._protocol_version,
            assignment,
        )
        with self._lock:
            self.assignment = assignment
            self._generation = generation
            self._scheduled_rebalance = self._now() + assignment.delay if assignment.delay > 0 else None
            self._rebalance_resolved = False
        if self.is_leader:
            self._forget_deleted()
            try:
                self.config_store.claim_write_privileges()
            except Exception as error:
                self._fenced = True
                log.error("Unable to claim write privileges for config topic after being elected leader: %s", error)
        self.member.wakeup()

    def on_revoked(self, leader: str, connectors: Collection[str], tasks: Collection[ConnectorTaskId]) -> None:
        if not self._rebalance_resolved and self._protocol_version == 0:
            log.info("The work of the last rebalance was not started, so there is nothing to stop")
            return
        stops: list[Callable[[], None]] = [
            *(lambda name=name: self._try_stop_connector(name) for name in connectors),
            *(lambda task=task: self.worker.stop_and_await_task(task) for task in tasks),
        ]
        self._all_at_once(stops, f"stopping {len(connectors)} and {len(tasks)} tasks")
        with self._lock:
            self._running_connectors.difference_update(connectors)
            self._running_tasks.difference_update(tasks)
        if self.settings.topic_tracking:
            for connector in dict.fromkeys([*connectors, *(task.connector for task in tasks)]):
                if not self.config_state.contains(connector):
                    self.reset_active_topics(connector)
        with self._in_stage("flushing updates to the status topic"):
            self.status_store.flush()

    def on_poll_timeout_expiry(self) -> None:
        log.warning(
            "worker poll timeout has expired. The last known action being performed by the worker is: %s. One of the ways "
            "of addressing this can be increasing the rebalance.timeout.ms configuration value",
            "not known" if self._stage is None else self._stage.description,
        )

    def _forget_deleted(self) -> None:
        """Delete the statuses of removed connectors and tasks."""
        state = self.config_store.snapshot()
        for connector in self.status_store.connectors():
            if not state.contains(connector):
                self.connector_reports.on_deletion(connector)
        for connector in self.status_store.connectors():
            remaining = set(state.tasks(connector))
            for status in self.status_store.all_tasks(connector):
                if status.id not in remaining:
                    self.task_reports.on_deletion(status.id)

    # -- ConfigUpdateListener, on the store's thread

    def on_connector_config_remove(self, connector: str) -> None:
        with self._lock:
            if self.config_state.contains(connector):
                self._needs_rebalance = True
            else:
                self._connector_updates[connector] = None
        self.member.wakeup()

    def on_connector_config_update(self, connector: str) -> None:
        with self._lock:
            if self.config_state.contains(connector):
                self._connector_updates[connector] = None
            else:
                self._needs_rebalance = True
        self.member.wakeup()

    def on_task_config_update(self, tasks: Collection[ConnectorTaskId]) -> None:
        from kafkapy.connect.errors import ConnectRestException

        with self._lock:
            self._needs_rebalance = True
            self._task_updates.update(dict.fromkeys(tasks))
            fencings = [self._fencings.get(connector) for connector in {task.connector for task in tasks}]
        for fencing in fencings:
            if fencing is not None:
                text = "Failed to complete zombie fencing because a new set of task configs was generated"
                fencing.finish(ConnectRestException(409, text))
        self.member.wakeup()

    def on_connector_target_state_change(self, connector: str) -> None:
        with self._lock:
            self._target_changes[connector] = None
        self.member.wakeup()

    def on_session_key_update(self, session_key: SessionKey) -> None:
        with self._lock:
            self._session_key = session_key
            if self.settings.key_ttl_ms > 0:
                self._key_expiration = session_key.creation_timestamp + self.settings.key_ttl_ms

    def on_restart_request(self, request: RestartRequest) -> None:
        with self._lock:
            waiting = self._restarts.get(request.connector)
            if waiting is None or request.impact > waiting.impact:
                self._restarts[request.connector] = request
        self.member.wakeup()

    def on_logging_level_update(self, namespace: str, level: str) -> None:
        self.loggers.set_level(namespace, level)

    # -- for subclasses to define

    def _raw_config(self, connector: str) -> Config | None:
        return self.config_state.raw_connector_config(connector)

    def request_task_reconfiguration(self, connector: str) -> None:
        raise NotImplementedError

    def _process_restarts(self) -> None:
        raise NotImplementedError

    def _try_start_connector(self, connector: str) -> None:
        raise NotImplementedError

    def _try_start_task(self, task: ConnectorTaskId) -> None:
        raise NotImplementedError

    def _try_stop_connector(self, connector: str) -> None:
        try:
            self.worker.stop_and_await_connector(connector)
        except Exception as error:
            log.error("Failed to shut down connector %s: %s", connector, error)
