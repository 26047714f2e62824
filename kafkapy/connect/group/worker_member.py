"""A worker's membership in its group (Kafka's `WorkerGroupMember` and `WorkerCoordinator`).

The herder's thread polls; requests, heartbeats and the leader's assignment run on the driver's thread. A changed
assignment is delivered on the herder's thread during `poll`, so that the set of running tasks changes only there.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from kafkapy.clients.config import ClientConfig
from kafkapy.clients.network_client import NetworkClient
from kafkapy.clients.thread_driver import ThreadDriver
from kafkapy.common.time import Time
from kafkapy.connect.group.assignment import (
    CONFIG_MISMATCH,
    ConnectAssignment,
    ConnectProtocol,
    LeaderState,
    WorkerState,
)
from kafkapy.connect.group.eager_assignor import assign_eagerly
from kafkapy.connect.group.incremental_assignor import (
    ClusterAssignment,
    ConnectorsAndTasks,
    IncrementalCooperativeAssignor,
)
from kafkapy.connect.group.protocol import decode_assignment, decode_metadata, encode_assignment, metadata_of
from kafkapy.connect.runtime.worker_metrics import RebalanceMetrics
from kafkapy.connect.storage import ClusterConfigState, ConnectorTaskId
from kafkapy.group_member.group_member import GroupMember
from kafkapy.group_member.group_protocol import GroupRebalanceConfig, JoinedMember
from kafkapy.group_member.membership import NO_GENERATION_ID, Generation
from kafkapy.protocol.errors import KafkaError
from kafkapy.runtime.completion import CancelledError, Completion

log = logging.getLogger("kafkapy.connect.group")

_STEP_S = 1.0


class RebalanceListener(Protocol):
    """Receives assignments, on the thread that polls (Kafka's `WorkerRebalanceListener`)."""

    def on_assigned(self, assignment: ConnectAssignment, generation: int) -> None: ...
    def on_revoked(self, leader: str, connectors: Collection[str], tasks: Collection[ConnectorTaskId]) -> None: ...
    def on_poll_timeout_expiry(self) -> None: ...


class GroupShare:
    """Computes this worker's metadata and, as leader, the assignment. No I/O, no threads.

    Invariant: `assignment` has all connectors and tasks of this worker; None until the first assignment, and after the
    coordinator was unreachable.
    """

    def __init__(
        self,
        url: str,
        snapshot: Callable[[], ClusterConfigState],
        protocol: ConnectProtocol,
        time: Time,
        max_delay_ms: int,
    ) -> None:
        """
        Args:
            url: URL of this worker's REST interface.
            snapshot: Returns the configs that this worker has read. protocol: The newest protocol that the worker
                supports.
            time: The clock.
            max_delay_ms: The worker's `scheduled.rebalance.max.delay.ms`.
        """
        self.assignment: ConnectAssignment | None = None
        self.current_protocol = protocol
        self.last_completed_generation = NO_GENERATION_ID
        self.leader_state: LeaderState | None = None
        self._url = url
        self._snapshot = snapshot
        self._protocol = protocol
        self._assignor = IncrementalCooperativeAssignor(time, max_delay_ms)

    def metadata(self) -> list[tuple[str, bytes]]:
        return metadata_of(WorkerState(self._url, self._snapshot().offset, self.assignment), self._protocol)

    def assign(
        self, leader: str, protocol_name: str, generation: int, members: Mapping[str, bytes]
    ) -> dict[str, bytes]:
        """Compute the assignment of the whole group.

        Args:
            leader: This member's id.
            protocol_name: The group's protocol. generation: The new generation.
            members: Id of each member -> its metadata.

        Raises:
            ConnectProtocolError: A member's metadata is malformed.
            ValueError: The protocol is unknown.
        """
        states = {member: decode_metadata(metadata) for member, metadata in members.items()}
        version = ConnectProtocol(protocol_name).version
        newest = max(state.offset for state in states.values())
        config = self._snapshot()
        common = ConnectAssignment(version=version, leader=leader, leader_url=states[leader].url, offset=newest)
        if config.offset < newest:
            log.info("This leader has not read the latest configs yet: the members get no assignment, and join again")
            failed = encode_assignment(replace(common, error=CONFIG_MISMATCH), version)
            return dict.fromkeys(states, failed)
        common = replace(common, offset=max(newest, config.offset) if config.offset > newest else newest)
        made = self._make(config, version, generation, states)
        self.leader_state = LeaderState(
            {member: state.url for member, state in states.items()},
            {name: member for member, share in made.all_assigned.items() for name in share.connectors},
            {task: member for member, share in made.all_assigned.items() for task in share.tasks},
        )
        none = ConnectorsAndTasks()
        assignments = {}
        for member in states:
            assigned, revoked = made.assigned.get(member, none), made.revoked.get(member, none)
            assignment = replace(
                common,
                connectors=tuple(assigned.connectors),
                tasks=tuple(assigned.tasks),
                revoked_connectors=tuple(revoked.connectors),
                revoked_tasks=tuple(revoked.tasks),
                delay=self._assignor.delay if version > 0 else 0,
            )
            assignments[member] = encode_assignment(assignment, version)
        return assignments

    def _make(
        self, config: ClusterConfigState, version: int, generation: int, states: Mapping[str, WorkerState]
    ) -> ClusterAssignment:
        if version == 0:
            connectors, tasks = assign_eagerly(config, list(states))
            shares = {member: ConnectorsAndTasks.of(connectors[member], tasks[member]) for member in states}
            return ClusterAssignment(shares, {}, shares)
        owned = {
            member: ConnectorsAndTasks.of(state.assignment.connectors, state.assignment.tasks)
            if state.assignment is not None
            else ConnectorsAndTasks()
            for member, state in states.items()
        }
        return self._assignor.assign(config, self.last_completed_generation, generation, owned)

    def take(self, generation: int, protocol_name: str, assignment: ConnectAssignment) -> ConnectAssignment:
        """Apply the leader's assignment; return all connectors and tasks of the worker."""
        self.current_protocol = ConnectProtocol(protocol_name)
        if self.current_protocol is not ConnectProtocol.EAGER:
            assignment = assignment.added_to(self.assignment)
        self.assignment = assignment
        self.last_completed_generation = generation
        return assignment

    @property
    def needs_join(self) -> bool:
        return self.assignment is None or self.assignment.failed


class WorkerGroupMember:
    """A member of the group, for the herder.

    Invariant: `_share.assignment` changes on the polling thread only. `_tasks` are calls to be made there, each with
    the completion that the driver's thread awaits.
    """

    protocol_type = "connect"

    def __init__(
        self,
        config: ClientConfig,
        times: GroupRebalanceConfig,
        share: GroupShare,
        listener: RebalanceListener,
        metrics: RebalanceMetrics | None = None,
    ) -> None:
        """
        Args:
            config: The client's config.
            times: Id of the group, and its times.
            share: Computes metadata and assignments. listener: Receives assignments.
            metrics: Records rebalances. Default: not recorded.
        """
        self._metrics = metrics
        self._share = share
        self._listener = listener
        self._times = times
        self._driver = ThreadDriver("connect-group")
        self._config = config
        self._client: NetworkClient | None = None
        self._member: GroupMember | None = None
        self._changed = threading.Condition()
        self._tasks: deque[tuple[Callable[[], None], Completion[None]]] = deque()
        self._woken = False
        self._stirred = False
        self._rejoin_reason: str | None = None
        self._polling = False
        self._polled_ms = self._driver.time.monotonic_ms()
        self._lost_since_ms: float | None = None

    # -- for the herder's thread

    def start(self) -> None:
        self._driver.start()

        def make() -> GroupMember:
            self._client = NetworkClient(self._driver, self._config)
            return GroupMember(self._client, self._times, self, self, log)

        self._member = self._driver.call(make)

    def ensure_active(self) -> bool:
        """Join the group if necessary, and wait until it has joined; False: `wakeup` has ended the wait. Raises
        KafkaError."""
        return self._turn(None, until_joined=True)

    def poll(self, timeout_ms: float | None) -> bool:
        """Process group events for `timeout_ms`; False: `wakeup` has ended it earlier.

        Args:
            timeout_ms: How long; None: until `wakeup`.

        Raises:
            KafkaError: The group rejects the worker.
        """
        return self._turn(timeout_ms, until_joined=False)

    def wakeup(self) -> None:
        """End the running poll, or the next one. Thread-safe."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def request_rejoin(self, reason: str = "connect worker requested rejoin") -> None:
        self._rejoin_reason = reason

    def leave(self, reason: str) -> None:
        """Leave the group, if the coordinator is reachable; the next poll joins again."""
        if self._member is not None:
            try:
                self._driver.call(self._member.leave, reason, timeout_ms=5_000)
            except KafkaError as error:
                log.warning("Leaving the group failed: %s", error)

    def stop(self) -> None:
        if self._member is not None:
            for task in self._take_tasks():
                self._settle(task[1], CancelledError("The worker stops"))
            try:
                self._driver.call(self._member.close, "the worker is shutting down", 5_000, timeout_ms=10_000)
            except KafkaError as error:
                log.warning("Leaving the group failed: %s", error)
        client = self._client
        if client is not None:
            self._driver.call(client.close)
        self._driver.stop()

    @property
    def member_id(self) -> str:
        """Return the member id; empty while the worker is not in the group."""
        return "" if self._member is None else self._member.membership.stable_generation.member_id

    @property
    def current_protocol_version(self) -> int:
        return self._share.current_protocol.version

    def connector_url(self, connector: str) -> str | None:
        """Return the URL of the worker that owns the connector; only on the leader."""
        return self._leader_state.connector_url(connector)

    def task_url(self, task: ConnectorTaskId) -> str | None:
        return self._leader_state.task_url(task)

    @property
    def _leader_state(self) -> LeaderState:
        assignment, state = self._share.assignment, self._share.leader_state
        leads = assignment is not None and assignment.leader == self.member_id and not self._rejoin_needed
        return state if leads and state is not None else LeaderState()

    @property
    def _rejoin_needed(self) -> bool:
        assert self._member is not None
        member = self._member
        return member.membership.rejoin_needed or member.rebalancing or self.rejoin_reason() is not None

    # -- on the polling thread

    def _turn(self, timeout_ms: float | None, until_joined: bool) -> bool:
        now = self._driver.time.monotonic_ms
        deadline = None if timeout_ms is None else now() + timeout_ms
        self._polling = True
        try:
            while True:
                self._driver.call(self._step)
                self._revoke_if_cut_off()
                if self._run_tasks():
                    continue
                if until_joined and not self._rejoin_needed:
                    return True
                with self._changed:
                    if self._woken:
                        self._woken = False
                        return False
                    left_s = _STEP_S if deadline is None else min(_STEP_S, (deadline - now()) / 1000)
                    if left_s <= 0:
                        return True
                    if not self._tasks and not self._stirred:
                        self._changed.wait(left_s)
                    self._stirred = False
        finally:
            self._polling = False
            self._polled_ms = now()

    def _step(self) -> None:
        assert self._member is not None
        self._member.poll()

    def _run_tasks(self) -> bool:
        tasks = self._take_tasks()
        for run, done in tasks:
            try:
                run()
            except BaseException as error:
                self._settle(done, error)
                raise
            self._settle(done, None)
        return bool(tasks)

    def _take_tasks(self) -> list[tuple[Callable[[], None], Completion[None]]]:
        with self._changed:
            tasks = list(self._tasks)
            self._tasks.clear()
        return tasks

    def _settle(self, done: Completion[None], error: BaseException | None) -> None:
        if error is None:
            self._driver.call_soon_threadsafe(lambda: done.set_result(None))
        else:
            self._driver.call_soon_threadsafe(lambda: done.set_exception(error))

    def _revoke_if_cut_off(self) -> None:
        """Revoke all tasks if the coordinator is unreachable, because it may assign them to other workers."""
        assert self._member is not None
        assignment = self._share.assignment
        if self._member.lookup.node_id is not None or assignment is None:
            self._lost_since_ms = None
            return
        now = self._driver.time.monotonic_ms()
        if self._lost_since_ms is None:
            self._lost_since_ms = now
        elif now - self._lost_since_ms > self._times.heartbeat_interval_ms and not assignment.failed:
            log.info(
                "The coordinator has not been reached for %d ms: revoking %s", now - self._lost_since_ms, assignment
            )
            self._listener.on_revoked(assignment.leader or "", assignment.connectors, assignment.tasks)
            self._share.assignment = None

    def _on_polling_thread(self, run: Callable[[], None]) -> Completion[None]:
        done: Completion[None] = Completion()
        with self._changed:
            self._tasks.append((run, done))
            self._changed.notify_all()
        return done

    # -- GroupProtocol, on the driver's thread

    def metadata(self) -> Sequence[tuple[str, bytes]]:
        return self._share.metadata()

    def rejoin_reason(self) -> str | None:
        if self._rejoin_reason is None and self._share.needs_join:
            return "the worker has no assignment"
        return self._rejoin_reason

    async def on_join_prepare(self) -> None:
        log.info("Rebalance started")
        if self._metrics is not None:
            self._metrics.started()
        self._share.leader_state = None
        assignment = self._share.assignment
        if self._share.current_protocol is ConnectProtocol.EAGER and assignment is not None and not assignment.failed:
            leader, connectors, tasks = assignment.leader or "", assignment.connectors, assignment.tasks
            await self._on_polling_thread(lambda: self._listener.on_revoked(leader, connectors, tasks))

    async def perform_assignment(
        self, leader: str, protocol: str, members: Sequence[JoinedMember], skip: bool
    ) -> Mapping[str, bytes]:
        assert self._member is not None
        generation = self._member.membership.generation.id
        return self._share.assign(leader, protocol, generation, {each.member_id: each.metadata for each in members})

    async def on_join_complete(self, generation: Generation, assignment: bytes) -> None:
        given = decode_assignment(assignment)

        def take_over() -> None:
            self._rejoin_reason = None
            if ConnectProtocol(generation.protocol or "") is not ConnectProtocol.EAGER and (
                given.revoked_connectors or given.revoked_tasks
            ):
                self._listener.on_revoked(given.leader or "", given.revoked_connectors, given.revoked_tasks)
            taken = self._share.take(generation.id, generation.protocol or "", given)
            self._listener.on_assigned(taken, generation.id)
            if self._metrics is not None:
                self._metrics.completed(given.leader_url or "", generation.protocol or "", generation.id)

        await self._on_polling_thread(take_over)

    async def on_leave_prepare(self) -> None:
        """Do nothing: the herder stops the tasks."""

    def on_poll_timeout(self) -> str:
        self._listener.on_poll_timeout_expiry()
        return "worker poll timeout has expired."

    # -- GroupHost, on the driver's thread

    @property
    def last_poll_ms(self) -> float:
        return self._driver.time.monotonic_ms() if self._polling else self._polled_ms

    def gate(self) -> Completion[None]:
        return Completion.of(None)

    def wake(self) -> None:
        with self._changed:
            self._stirred = True
            self._changed.notify_all()
