"""Processes LeaderAndIsr and StopReplica (Kafka's `ReplicaManager.becomeLeaderOrFollower`, `stopReplicas`)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from kafkapy.cluster.partition import Partition
from kafkapy.common.leader_and_isr import NO_EPOCH
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.log.log import Log
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from kafkapy.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from kafkapy.server.replication.high_watermarks import HighWatermarkCheckpoints
from kafkapy.server.replication.replica_fetcher_manager import InitialFetch
from kafkapy.server.replication.replica_manager import ReplicaManager

log = logging.getLogger("kafkapy.state.change")


PartitionState = LeaderAndIsrRequest.LeaderAndIsrPartitionState


class Fetchers(Protocol):
    """The part of `ReplicaFetcherManager` used here."""

    def add(self, partitions: Mapping[TopicPartition, InitialFetch]) -> None: ...

    def remove(self, partitions: Iterable[TopicPartition]) -> None: ...

    def stop_idle_fetchers(self) -> None: ...

    def work_on(self, partition: TopicPartition) -> Awaitable[None] | None: ...


class LogDirMoves(Protocol):
    """The part of `ReplicaAlterLogDirsManager` used here."""

    def resume(self, partitions: Iterable[Partition]) -> None: ...

    def remove(self, partitions: Iterable[TopicPartition]) -> None: ...

    def give_up(self, name: TopicPartition) -> None: ...


class PartitionListener(Protocol):
    """A listener of changes of this broker's partitions."""

    def roles_changed(self, leaders: list[Partition], followers: list[Partition]) -> None:
        """Called with the partitions that this broker now leads, and those that it now follows."""
        ...

    def replicas_removed(self, partitions: list[TopicPartition]) -> None:
        """Called when this broker has no replica of them any more."""
        ...

    def partitions_deleted(self, partitions: list[TopicPartition]) -> None:
        """Called when they are deleted from the cluster, even if they had no replica on this broker."""
        ...


class _ControllerRequest(Protocol):
    """LeaderAndIsr, StopReplica, UpdateMetadata."""

    @property
    def controller_id(self) -> int: ...

    @property
    def controller_epoch(self) -> int: ...


class PartitionOrder(NamedTuple):
    """One partition of a LeaderAndIsr request."""

    partition: TopicPartition
    topic_id: bytes
    state: PartitionState


class StopOrder(NamedTuple):
    """One partition of a StopReplica request."""

    partition: TopicPartition
    leader_epoch: int
    delete: bool


def is_of_old_controller(request: _ControllerRequest, known_epoch: int) -> bool:
    """Return whether the request's sender is not the controller any more. Such requests are fenced."""
    if request.controller_epoch >= known_epoch:
        return False
    log.warning(
        "%s of controller %d is fenced, because its epoch %d is older than %d, which is known here: another controller has taken "
        "over. Nothing changes.", type(request).__name__, request.controller_id, request.controller_epoch, known_epoch,
    )  # fmt: skip
    return True


@dataclass
class _Accepted:
    """The partitions that one LeaderAndIsr request changes, with their topic ids."""

    leaders: list[tuple[Partition, PartitionState, bytes]] = field(default_factory=list)
    followers: list[tuple[Partition, PartitionState, bytes]] = field(default_factory=list)


@dataclass(eq=False)
class Leadership:
    """Applies LeaderAndIsr and StopReplica to the replica manager. A request with thousands of partitions is applied
    in pieces, like several requests.

    Invariant: requests of an older controller epoch than `replica_manager.controller_epoch` change nothing; a
    partition changes only at a leader epoch newer than its own. A partition is fetched exactly while it follows a
    leader.
    """

    _replicas: ReplicaManager
    _high_watermarks: HighWatermarkCheckpoints
    _listeners: Sequence[PartitionListener]
    _fetchers: Fetchers
    _log_dir_moves: LogDirMoves
    _truncates_on_fetch: bool = True

    # ------------------------------------------------------------------------------------------------ lead and follow

    def become_leader_or_follower(
        self, request: LeaderAndIsrRequest, orders: Iterable[PartitionOrder], errors: dict[TopicPartition, Errors]
    ) -> Errors:
        """Apply some partitions of the request; return the error of the whole request. `errors` gets that of each partition."""
        replicas = self._replicas
        if is_of_old_controller(request, replicas.controller_epoch):
            return Errors.STALE_CONTROLLER_EPOCH
        replicas.controller_epoch = request.controller_epoch
        accepted = _Accepted()
        for order in orders:
            self._sort_in(order, errors, accepted)
        # Stop fetching first, so that no records of the old leader are appended.
        self._fetchers.remove(
            [partition.topic_partition for partition, _, _ in accepted.leaders]
            + [
                partition.topic_partition
                for partition, state, _ in accepted.followers
                if state.leader_epoch > partition.leader_epoch
            ]
        )
        leaders = self._apply(accepted.leaders, Partition.make_leader, errors)
        followers = self._apply(accepted.followers, Partition.make_follower, errors)
        self._fetchers.add(self._to_fetch(followers))
        self._fetchers.stop_idle_fetchers()
        self._log_dir_moves.resume(partition for partition, _, _ in accepted.leaders + accepted.followers)
        for partition, _, _ in accepted.leaders + accepted.followers:
            # A partition that this broker already led may have a new ISR, and so a higher high watermark.
            replicas.role_changed(partition.topic_partition)
        if leaders or followers:
            for listener in self._listeners:
                listener.roles_changed(leaders, followers)
        return Errors.NONE

    async def let_fetchers_finish(self, orders: Iterable[PartitionOrder | StopOrder]) -> None:
        """Wait for fetchers' work on the logs of these partitions in threads."""
        for order in orders:
            while (work := self._fetchers.work_on(order.partition)) is not None:
                await work

    def partitions_deleted(self, partitions: list[TopicPartition]) -> None:
        """Notify the listeners of partitions that the controller's UpdateMetadata has deleted."""
        for listener in self._listeners:
            listener.partitions_deleted(partitions)

    def _to_fetch(self, followers: list[Partition]) -> dict[TopicPartition, InitialFetch]:
        wanted: dict[TopicPartition, InitialFetch] = {}
        for partition in followers:
            partition_log = partition.log
            if partition_log is None or partition.leader_id < 0 or partition.leader_id == self._replicas.broker_id:
                continue
            # With epochs the leader decides where to truncate; without, only committed records are known to agree with
            # its log.
            start = partition_log.high_watermark
            if self._truncates_on_fetch and partition_log.latest_epoch is not None:
                start = partition_log.log_end_offset
            wanted[partition.topic_partition] = InitialFetch(
                partition.topic_id, partition.leader_id, partition.leader_epoch, start
            )
        return wanted

    def _sort_in(self, order: PartitionOrder, errors: dict[TopicPartition, Errors], accepted: _Accepted) -> None:
        name, topic_id, state = order
        replicas = self._replicas
        if name in replicas.offline:
            errors[name] = Errors.KAFKA_STORAGE_ERROR
            return
        known = replicas.partition(name)
        current_epoch = NO_EPOCH if known is None else known.leader_epoch
        if known is not None and ZERO_UUID not in (topic_id, known.topic_id) and topic_id != known.topic_id:
            log.error("Topic id of %s in a LeaderAndIsr request is not the one this broker holds", name)
            errors[name] = Errors.INCONSISTENT_TOPIC_ID
        elif state.leader_epoch < current_epoch:
            log.info(
                "Partition %s: an order to have broker %d lead it is fenced, because its leader epoch %d is older than %d, which "
                "is known here; nothing changes", name, state.leader, state.leader_epoch, current_epoch,
            )  # fmt: skip
            errors[name] = Errors.STALE_CONTROLLER_EPOCH
        elif state.leader_epoch == current_epoch and known is not None:
            errors[name] = self._same_epoch(known, topic_id)
        elif replicas.broker_id not in state.replicas:
            log.warning("Ignoring LeaderAndIsr for %s: this broker is not among its replicas %s", name, state.replicas)
            errors[name] = Errors.UNKNOWN_TOPIC_OR_PARTITION
        else:
            errors[name] = Errors.NONE
            partition = replicas.get_or_create_partition(name)
            role = accepted.leaders if state.leader == replicas.broker_id else accepted.followers
            role.append((partition, state, topic_id))

    def _same_epoch(self, known: Partition, topic_id: bytes) -> Errors:
        """Process an unchanged leader epoch. Only a topic id may be new: a controller adds ids after its upgrade."""
        if known.topic_id != ZERO_UUID or topic_id == ZERO_UUID or known.log is None:
            return Errors.STALE_CONTROLLER_EPOCH
        try:
            known.log.assign_topic_id(topic_id)
        except KafkaError as error:
            log.error("Can't give %s its topic id: %s", known.topic_partition, error)
            return error.error
        known.topic_id = topic_id
        return Errors.NONE

    def _apply(
        self,
        orders: list[tuple[Partition, PartitionState, bytes]],
        make: Callable[[Partition, PartitionState, bytes, Callable[[TopicPartition, bytes, bool], Log]], bool],
        errors: dict[TopicPartition, Errors],
    ) -> list[Partition]:
        changed: list[Partition] = []
        for partition, state, topic_id in orders:
            name = partition.topic_partition
            try:
                if make(partition, state, topic_id, self._create_log):
                    changed.append(partition)
                log.debug("%s: leader %d, epoch %d, isr %s", name, state.leader, state.leader_epoch, state.isr)
            except KafkaError as error:
                log.error("Can't take over %s: %s", name, error)
                errors[name] = error.error
            except OSError as error:
                log.error("Can't take over %s: its log could not be opened: %s", name, error)
                errors[name] = Errors.KAFKA_STORAGE_ERROR
        return changed

    def _create_log(self, name: TopicPartition, topic_id: bytes, is_new: bool) -> Log:
        created = self._replicas.log_manager.get_or_create_log(
            name, None if topic_id == ZERO_UUID else topic_id, is_new
        )
        created.update_high_watermark(self._high_watermarks.take(created, name))
        return created

    # ------------------------------------------------------------------------------------------------ stop

    def stop_replicas(
        self, request: StopReplicaRequest, orders: Iterable[StopOrder], errors: dict[TopicPartition, Errors]
    ) -> Errors:
        """Delete replicas. Ones that are only stopped keep their logs: the controller may start them again.

        As `become_leader_or_follower`.
        """
        replicas = self._replicas
        if is_of_old_controller(request, replicas.controller_epoch):
            return Errors.STALE_CONTROLLER_EPOCH
        replicas.controller_epoch = request.controller_epoch
        deleted: list[TopicPartition] = []
        stopped: list[TopicPartition] = []
        for name, leader_epoch, delete in orders:
            partition = replicas.partition(name)
            if name in replicas.offline:
                errors[name] = Errors.KAFKA_STORAGE_ERROR
                continue
            # EPOCH_DURING_DELETE and NO_EPOCH are negative: no check.
            if partition is not None and 0 <= leader_epoch < partition.leader_epoch:
                log.info(
                    "Partition %s: an order to stop is fenced, because its leader epoch %d is older than %d, which is known "
                    "here; nothing changes", name, leader_epoch, partition.leader_epoch,
                )  # fmt: skip
                errors[name] = Errors.FENCED_LEADER_EPOCH
                continue
            self._fetchers.remove([name])
            self._log_dir_moves.remove([name])
            stopped.append(name)
            errors[name] = self._delete(name, partition) if delete else Errors.NONE
            replicas.role_changed(name)
            if delete and errors[name] is Errors.NONE:
                deleted.append(name)
        self._fetchers.stop_idle_fetchers()
        if stopped:
            log.info(
                "Replicas of %d partitions stopped on the controller's order, %d of them deleted: %s",
                len(stopped),
                len(deleted),
                ", ".join(str(name) for name in stopped[:10]) + (" ..." if len(stopped) > 10 else ""),
            )
        if deleted:
            for listener in self._listeners:
                listener.replicas_removed(deleted)
        return Errors.NONE

    def _delete(self, name: TopicPartition, partition: Partition | None) -> Errors:
        """Delete the log, even of an unknown partition: it may have been deleted while this broker was down."""
        replicas = self._replicas
        try:
            self._log_dir_moves.give_up(name)
        except KafkaError as error:
            log.warning("Can't delete the future log of %s: %s", name, error)
        if partition is not None:
            replicas.remove_partition(name)
            partition.delete()
        try:
            if replicas.log_manager.get_log(name) is not None:
                replicas.log_manager.async_delete(name)
                self._high_watermarks.forget(name)
        except (KafkaError, OSError) as error:
            log.error("Can't delete the log of %s: %s", name, error)
            return Errors.KAFKA_STORAGE_ERROR
        return Errors.NONE


def orders_of(request: LeaderAndIsrRequest) -> Iterator[PartitionOrder]:
    """Whatever the version's shape."""
    for topic in request.topic_states:
        for state in topic.partition_states:
            yield PartitionOrder(TopicPartition(topic.topic_name, state.partition_index), topic.topic_id, state)
    for state in request.ungrouped_partition_states:
        yield PartitionOrder(TopicPartition(state.topic_name, state.partition_index), ZERO_UUID, state)


def stop_orders_of(request: StopReplicaRequest, version: int) -> Iterator[StopOrder]:
    """Whatever the version's shape."""
    if version == 0:
        for old in request.ungrouped_partitions:
            yield StopOrder(TopicPartition(old.topic_name, old.partition_index), NO_EPOCH, request.delete_partitions)
    elif version < 3:
        for group in request.topics:
            for index in group.partition_indexes:
                yield StopOrder(TopicPartition(group.name, index), NO_EPOCH, request.delete_partitions)
    else:
        for topic in request.topic_states:
            for state in topic.partition_states:
                name = TopicPartition(topic.topic_name, state.partition_index)
                yield StopOrder(name, state.leader_epoch, state.delete_partition)


def leader_and_isr_response(
    request: LeaderAndIsrRequest, version: int, errors: dict[TopicPartition, Errors]
) -> LeaderAndIsrResponse:
    """Grouped by topic id from v5 on, a flat list before."""
    response = LeaderAndIsrResponse()
    if version < 5:
        response.partition_errors = [
            LeaderAndIsrResponse.LeaderAndIsrPartitionError(
                topic_name=name.topic, partition_index=name.partition, error_code=problem.code
            )
            for name, problem in errors.items()
        ]
        return response
    for topic in request.topic_states:
        answers = [
            LeaderAndIsrResponse.LeaderAndIsrPartitionError(
                partition_index=state.partition_index,
                error_code=errors[TopicPartition(topic.topic_name, state.partition_index)].code,
            )
            for state in topic.partition_states
        ]
        response.topics.append(
            LeaderAndIsrResponse.LeaderAndIsrTopicError(topic_id=topic.topic_id, partition_errors=answers)
        )
    return response


def stop_replica_response(error: Errors, errors: dict[TopicPartition, Errors]) -> StopReplicaResponse:
    return StopReplicaResponse(
        error_code=error.code,
        partition_errors=[
            StopReplicaResponse.StopReplicaPartitionError(
                topic_name=name.topic, partition_index=name.partition, error_code=problem.code
            )
            for name, problem in errors.items()
        ],
    )
