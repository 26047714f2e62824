"""The distributed herder's turns: membership, rebalances and changes of configs (Kafka's `DistributedHerder.tick`)."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from kafkapy.connect.group.assignment import ConnectAssignment
from kafkapy.connect.herder.herder_thread import HerderThread
from kafkapy.connect.herder.pending_changes import PendingChanges
from kafkapy.connect.herder.running_work import RunningWork
from kafkapy.connect.herder.session_keys import SessionKeyRotation
from kafkapy.connect.herder.settings import HerderSettings
from kafkapy.connect.herder.worker_membership import WorkerMembership
from kafkapy.connect.storage import ConnectorTaskId, RestartRequest, SessionKey, TargetState

log = logging.getLogger("kafkapy.connect.herder")

_START_STOP_THREADS = 8
_SYNC_RETRIES = 5
_CLAIM_BACKOFF_MS = 250


class HerderMachine(HerderThread):
    """Invariant: `assignment` is the last one received, `_running` its part that was started; `_rebalance_resolved` is
    False from an assignment until its work was started. `_changes`, `_keys` and `_running` are used under `_lock`.
    """

    def __init__(self, settings: HerderSettings, member: WorkerMembership, **thread: Any) -> None:
        """
        Args:
            settings: The worker's.
            member: The membership; its listener must be this herder.
            thread: More arguments of `HerderThread`.
        """
        super().__init__(settings, member, **thread)
        self.assignment: ConnectAssignment | None = None
        self._generation = -1
        self._changes = PendingChanges()
        self._keys = SessionKeyRotation(settings.key_algorithm, settings.key_size_bits, settings.key_ttl_ms)
        self._running = RunningWork()
        self._rebalance_resolved = True
        self._scheduled_rebalance: int | None = None
        self._protocol_version = member.current_protocol_version
        self._retries = _SYNC_RETRIES
        self._pool = ThreadPoolExecutor(_START_STOP_THREADS, "connect-start-stop")

    # -- for subclasses to define

    @abstractmethod
    def request_task_reconfiguration(self, connector: str) -> None:
        """Have the connector compute its tasks' configs again. Thread-safe."""

    @abstractmethod
    def _process_restarts(self) -> None:
        """Restart what was asked for."""

    @abstractmethod
    def _try_start_connector(self, connector: str) -> None:
        """Start a connector, or report its failure."""

    @abstractmethod
    def _try_start_task(self, task: ConnectorTaskId) -> None:
        """Start a task, or report its failure."""

    # -- one turn

    def tick(self) -> None:
        """Run one iteration: join if necessary, start assigned work, serve requests, apply changes, and wait for
        events."""
        if not self._can_read_configs:
            if not self._read_configs_to_end():
                return
            self._can_read_configs = True
        with self.in_stage("ensuring membership in the cluster"):
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
        with self.in_stage(f"polling the group coordinator {words}until interrupted"):
            polled = self.member.poll(wait_ms)
        if polled and not self._stopping.is_set():
            self._handle_rebalance()

    def _wait_ms(self) -> int | None:
        """Return the ms until something is due; None: nothing is scheduled."""
        times = [self._requests.next_at_ms()]
        if self._scheduled_rebalance is not None:
            times.append(self._scheduled_rebalance)
            self._rebalance_resolved = False
        if self.is_leader and self.signs_requests:
            times.append(self._keys.expires_ms)
        known = [at for at in times if at is not None]
        return max(0, min(known) - self._now()) if known else None

    def _halt(self) -> None:
        super()._halt()
        self._pool.shutdown(wait=False, cancel_futures=True)

    # -- the group

    @property
    def generation(self) -> int:
        return self._generation

    @property
    def is_leader(self) -> bool:
        assignment = self.assignment
        return assignment is not None and bool(assignment.leader) and assignment.leader == self.member.member_id

    @property
    def leader_url(self) -> str | None:
        return None if self.assignment is None else self.assignment.leader_url

    @property
    def signs_requests(self) -> bool:
        """Return whether the group's protocol requires signed requests."""
        return self.member.current_protocol_version >= 2

    @property
    def session_key(self) -> SessionKey | None:
        return self._keys.current

    # -- keys and privileges of the leader

    def _reclaim_writes(self) -> bool:
        if self._fenced and self.is_leader:
            try:
                with self.in_stage("reclaiming write privileges for the config topic"):
                    self.config_store.claim_write_privileges()
            except Exception as error:
                log.warning("Unable to claim write privileges for config topic: %s", error)
                self._back_off(_CLAIM_BACKOFF_MS)
                return False
        self._fenced = False
        return True

    def _rotate_key(self) -> bool:
        with self._lock:
            if self._keys.current is None and self.config_state.session_key is not None:
                self._keys.replace_by(self.config_state.session_key)
            if not self.signs_requests or not self.is_leader or not self._keys.is_due(self._now()):
                return True
            key = self._keys.new_key(self._now())
        try:
            self.write_as_leader(
                "writing a new session key to the config topic", lambda: self.config_store.put_session_key(key)
            )
        except Exception as error:
            log.info("Failed to write new session key to config topic, which is read to its end first: %s", error)
            self._can_read_configs = False
            return False
        return True

    # -- changes of configs

    def _take_updates(self) -> bool:
        """Apply changes that the store has reported; False: the group has to rebalance first."""
        eager = self.member.current_protocol_version == 0
        with self._lock:
            changes = self._changes.take(eager)
            if changes is None:
                return True
            self.config_state = self.config_store.snapshot()
        if changes.rebalance:
            self.member.request_rejoin()
            if eager:
                return False
        self._process_connector_updates(changes.connectors)
        self._process_target_changes(changes.targets)
        if not eager:
            self._stop_reconfigured_tasks({task.connector for task in changes.tasks})
        return not changes.rebalance

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
            with self.in_stage(f"stopping connector {connector}"):
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
            with self.in_stage(f"stopping {len(stopped)} reconfigured tasks"):
                self.worker.stop_and_await_tasks(stopped)
            self._running.stopped_to_restart(stopped)

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
            connectors, tasks = self._running.missing(assignment)
        starts: list[Callable[[], None]] = [
            *(lambda name=name: self._try_start_connector(name) for name in connectors),
            *(lambda task=task: self._try_start_task(task) for task in tasks),
        ]
        self._all_at_once(starts, f"starting {len(starts)} connector(s) and task(s) after a rebalance")
        eager = self.member.current_protocol_version == 0
        with self._lock:
            self._running.started(None if eager else assignment)

    def _all_at_once(self, calls: Sequence[Callable[[], None]], description: str) -> None:
        if calls:
            with self.in_stage(description):
                wait([self._pool.submit(call) for call in calls])

    def _try_stop_connector(self, connector: str) -> None:
        try:
            self.worker.stop_and_await_connector(connector)
        except Exception as error:
            log.error("Failed to shut down connector %s: %s", connector, error)

    def _read_configs_to_end(self) -> bool:
        if self.refresh_configs(self.settings.worker_sync_timeout_ms):
            self._retries = _SYNC_RETRIES
            return True
        self.member.leave("taking too long to read the log")
        self._back_off(self.settings.worker_unsync_backoff_ms)
        return False

    def _back_off(self, ms: int) -> None:
        """Wait; with the incremental protocols, a worker that fails to catch up finally revokes its own work."""
        if self._protocol_version == 0:
            self._sleep(ms)
        elif self._retries > 0:
            self._sleep(self.settings.scheduled_rebalance_max_delay_ms // 10 // self._retries)
            self._retries -= 1
        else:
            log.info("Revoking all connectors and tasks: after %d retries the worker still lags", _SYNC_RETRIES)
            self.on_revoked("", sorted(self._running.connectors), sorted(self._running.tasks))
            self._retries = _SYNC_RETRIES

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
            self._running.stopped(connectors, tasks)
        if self.settings.topic_tracking:
            for connector in dict.fromkeys([*connectors, *(task.connector for task in tasks)]):
                if not self.config_state.contains(connector):
                    self.reset_active_topics(connector)
        with self.in_stage("flushing updates to the status topic"):
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
            self._changes.connector_removed(connector, self.config_state.contains(connector))
        self.member.wakeup()

    def on_connector_config_update(self, connector: str) -> None:
        with self._lock:
            self._changes.connector_updated(connector, self.config_state.contains(connector))
        self.member.wakeup()

    def on_task_config_update(self, tasks: Collection[ConnectorTaskId]) -> None:
        with self._lock:
            self._changes.tasks_updated(tasks)
        self.member.wakeup()

    def on_connector_target_state_change(self, connector: str) -> None:
        with self._lock:
            self._changes.target_changed(connector)
        self.member.wakeup()

    def on_restart_request(self, request: RestartRequest) -> None:
        with self._lock:
            self._changes.restart_requested(request)
        self.member.wakeup()

    def on_session_key_update(self, session_key: SessionKey) -> None:
        with self._lock:
            self._keys.replace_by(session_key)

    def on_logging_level_update(self, namespace: str, level: str) -> None:
        self.loggers.set_level(namespace, level)
