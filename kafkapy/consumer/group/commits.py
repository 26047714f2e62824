"""Commits offsets, reads committed ones, and commits automatically at intervals."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kafkapy.clients.driver import wait_for
from kafkapy.clients.network_client import NetworkClient
from kafkapy.common.partitions_by_topic import indexes_by_topic
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.config import ConsumerConfig
from kafkapy.errors import (
    CommitFailedError,
    KafkaTimeoutError,
    NoResponseError,
    RebalanceInProgressError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
    UnstableOffsetCommitError,
    error_for,
)
from kafkapy.group_member.group_member import GroupMember
from kafkapy.group_member.membership import NO_GENERATION, Generation, MembershipState
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafkapy.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.structs import OffsetAndMetadata

Offsets = Mapping[TopicPartition, OffsetAndMetadata]
CommitCallback = Callable[[dict[TopicPartition, OffsetAndMetadata], OffsetCommitResponse | Exception | None], object]
"""Called with the offsets, and with the response or the error; None if there was nothing to commit."""

_log = logging.getLogger("kafkapy.consumer")
_ASK_ANOTHER = (Errors.COORDINATOR_NOT_AVAILABLE, Errors.NOT_COORDINATOR, Errors.REQUEST_TIMED_OUT)
_NOT_REPEATED = (RebalanceInProgressError, UnknownTopicOrPartitionError)
"""Not retried: only a poll completes a rebalance, and a missing topic or partition is reported immediately."""
_THROWN_OUT = (Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION)


class OffsetCommits:
    """The offsets of one group.

    Commits go out in the order of the calls, over one connection. `auto_assigned` says whether the member commits with
    its generation, which the coordinator checks, or as a simple consumer that only stores offsets.
    """

    def __init__(
        self,
        client: NetworkClient,
        config: ConsumerConfig,
        member: GroupMember,
        auto_assigned: Callable[[], bool],
    ) -> None:
        self._driver = client.driver
        self._config = config
        self._coordinator = member.lookup
        self._membership = member.membership
        self._auto_assigned = auto_assigned
        self._under_way: set[Completion[Any]] = set()
        self.next_auto_commit_ms: float = 0
        self.postpone_auto_commit()

    # -- writing

    async def commit(self, offsets: Offsets, timeout_ms: float | None = None) -> None:
        """Commit after all earlier commits have completed; retry retriable errors.

        Raises CommitFailedError (no longer a member of the group), RebalanceInProgressError (poll, then try again),
        UnknownTopicOrPartitionError, KafkaTimeoutError, and the broker's other errors.
        """
        if timeout_ms is None:
            return await self._commit_with_retries(offsets)
        failures: list[KafkaError] = []
        task = spawn(self._commit_with_retries(offsets, failures))
        try:
            return await wait_for(self._driver, task, timeout_ms)
        except KafkaTimeoutError:
            last = f": {failures[-1]}" if failures else ": the coordinator did not answer"
            raise NoResponseError(f"The commit timed out after {timeout_ms:g} ms{last}") from None
        finally:
            if not task.done:
                task.cancel()

    def commit_async(self, offsets: Offsets) -> Completion[OffsetCommitResponse | None]:
        """Commit without a retry. Completes with the response (None if there was nothing to commit)."""
        return self._spawn(self._commit_once(offsets))

    async def settle(self) -> None:
        """Wait for the commits in flight."""
        while self._under_way:
            await _done(next(iter(self._under_way)))

    async def _commit_with_retries(self, offsets: Offsets, failures: list[KafkaError] | None = None) -> None:
        """Commit, and append each retried error to `failures`."""
        attempts = 0
        while True:
            try:
                await self._spawn(self._commit_once(offsets))
                return await self.settle()
            except KafkaError as error:
                if not getattr(error, "retriable", False) or isinstance(error, _NOT_REPEATED):
                    raise
                if failures is not None:
                    failures.append(error)
                _log.debug("A commit of group %s failed and is repeated: %s", self._config.group_id, error)
            await self._driver.sleep(self._coordinator.backoff_ms(attempts))
            attempts += 1

    async def _commit_once(self, offsets: Offsets) -> OffsetCommitResponse | None:
        if not offsets:
            return None
        generation = self._generation()
        request = OffsetCommitRequest(
            group_id=self._config.group_id or "",
            generation_id_or_member_epoch=generation.id,
            member_id=generation.member_id,
            group_instance_id=self._config.group_instance_id if self._auto_assigned() else None,
            topics=_commit_topics(offsets),
        )
        response = await self._coordinator.send(request)
        self._check(response, generation)
        return response  # type: ignore[no-any-return]

    def _generation(self) -> Generation:
        if not self._auto_assigned():
            return NO_GENERATION
        if self._membership.state is MembershipState.STABLE:
            return self._membership.generation
        if self._membership.state in (MembershipState.JOINING, MembershipState.SYNCING):
            raise RebalanceInProgressError(
                "Offset commit cannot be completed since the consumer is undergoing a rebalance for auto partition"
                " assignment. You can try completing the rebalance by calling poll() and then retry the operation."
            )
        raise CommitFailedError(
            "Offset commit cannot be completed since the consumer is not part of an active group for auto partition"
            " assignment; it is likely that the consumer was kicked out of the group."
        )

    def _check(self, response: OffsetCommitResponse, sent: Generation) -> None:
        unauthorized: set[str] = set()
        for topic in response.topics:
            for partition in topic.partitions:
                error = Errors.for_code(partition.error_code)
                if error is Errors.TOPIC_AUTHORIZATION_FAILED:
                    unauthorized.add(topic.name)
                elif error is Errors.UNKNOWN_TOPIC_OR_PARTITION:
                    missing = TopicPartition(topic.name, partition.partition_index)
                    raise UnknownTopicOrPartitionError(f"Topic or partition {missing} does not exist")
                elif error is not Errors.NONE:
                    raise self._failure(error, sent)
        if unauthorized:
            raise TopicAuthorizationFailedError(unauthorized)

    def _failure(self, error: Errors, sent: Generation) -> KafkaError:
        """Notify the member of a rejected commit, and return the error to raise."""
        stale = sent != self._membership.generation
        joining = self._membership.state is MembershipState.JOINING
        if error in _ASK_ANOTHER:
            self._coordinator.forget(self._coordinator.node_id, error.name)
        elif error is Errors.REBALANCE_IN_PROGRESS:
            self._membership.request_rejoin("offset commit failed since group is already rebalancing")
        elif error in _THROWN_OUT or (error is Errors.FENCED_INSTANCE_ID and stale):
            if not stale:
                keep_member_id = error is Errors.ILLEGAL_GENERATION
                self._membership.reset(f"encountered {error.name} from OffsetCommit response", keep_member_id)
            elif joining:
                return RebalanceInProgressError(
                    "The member's generation is stale: it takes part in another rebalance already. Call poll() to"
                    " complete it, then retry."
                )
            return CommitFailedError()
        return error_for(error)

    # -- auto-commit

    def postpone_auto_commit(self, delay_ms: float | None = None) -> None:
        """Make the next auto-commit due after `delay_ms` (None: the interval)."""
        delay = self._config.auto_commit_interval_ms if delay_ms is None else delay_ms
        self.next_auto_commit_ms = self._driver.time.monotonic_ms() + delay

    @property
    def auto_commit_due(self) -> bool:
        return self._config.enable_auto_commit and self._driver.time.monotonic_ms() >= self.next_auto_commit_ms

    def auto_commit(self, offsets: Offsets) -> Completion[Any]:
        """Commit in the background; a failure is logged, and retried soon if it is retriable."""
        self.postpone_auto_commit()
        commit = self.commit_async(offsets)
        commit.add_callback(self._auto_committed)
        return commit

    async def auto_commit_before_rebalance(self, offsets: Offsets) -> None:
        """Commit before the partitions are revoked; wait at most as long as a rebalance may take. Failures are
        logged."""
        try:
            await self.commit(offsets, self._config.max_poll_interval_ms)
        except KafkaError as error:
            _log.warning("Auto-commit of group %s before the rebalance failed: %s", self._config.group_id, error)

    def _auto_committed(self, commit: Completion[Any]) -> None:
        error = commit.exception()
        if isinstance(error, KafkaError) and getattr(error, "retriable", False):
            _log.debug("Auto-commit of group %s failed and is repeated: %s", self._config.group_id, error)
            self.postpone_auto_commit(self._config.retry_backoff_ms)
        elif isinstance(error, Exception):
            _log.warning("Auto-commit of group %s failed: %s", self._config.group_id, error)

    # -- reading

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the committed offsets, without an entry for partitions that have none. Waits while transactions are
        undecided (KIP-447).

        Raises KafkaTimeoutError, and the broker's errors.
        """
        task = spawn(self._committed(frozenset(partitions)))
        try:
            return await wait_for(self._driver, task, timeout_ms)
        finally:
            if not task.done:
                task.cancel()

    async def _committed(self, partitions: frozenset[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
        attempts = 0
        while partitions:
            try:
                response = await self._coordinator.send(_FetchRequest(self._config.group_id or "", partitions))
                return self._offsets_of(response)
            except KafkaError as error:
                if not getattr(error, "retriable", False):
                    raise
                _log.debug("Offsets of group %s could not be fetched yet: %s", self._config.group_id, error)
            await self._driver.sleep(self._coordinator.backoff_ms(attempts))
            attempts += 1
        return {}

    def _offsets_of(self, response: OffsetFetchResponse) -> dict[TopicPartition, OffsetAndMetadata]:
        group: Any = response.groups[0] if response.groups else response
        error = Errors.for_code(group.error_code)
        if error in (Errors.COORDINATOR_NOT_AVAILABLE, Errors.NOT_COORDINATOR):
            self._coordinator.forget(self._coordinator.node_id, error.name)
        if error is not Errors.NONE:
            raise error_for(error)
        offsets: dict[TopicPartition, OffsetAndMetadata] = {}
        unauthorized: set[str] = set()
        for topic in group.topics:
            for partition in topic.partitions:
                error = Errors.for_code(partition.error_code)
                if error is Errors.TOPIC_AUTHORIZATION_FAILED:
                    unauthorized.add(topic.name)
                elif error is Errors.UNSTABLE_OFFSET_COMMIT:
                    raise UnstableOffsetCommitError("There are unstable offsets for the requested topic partitions")
                elif error in (Errors.NOT_COORDINATOR, Errors.COORDINATOR_NOT_AVAILABLE):  # in versions 0 and 1
                    self._coordinator.forget(self._coordinator.node_id, error.name)
                    raise error_for(error)
                elif error is not Errors.NONE:
                    raise error_for(error)
                elif partition.committed_offset >= 0:
                    offsets[TopicPartition(topic.name, partition.partition_index)] = OffsetAndMetadata(
                        partition.committed_offset, partition.metadata or "", partition.committed_leader_epoch
                    )
        if unauthorized:
            raise TopicAuthorizationFailedError(unauthorized)
        return offsets

    # -- inside

    def _spawn(self, attempt: Any) -> Completion[Any]:
        task = spawn(attempt)
        if not task.done:
            self._under_way.add(task)
            task.add_callback(self._under_way.discard)
        return task


class _FetchRequest:
    """Builds OffsetFetch: with a list of groups from version 8 on, `require_stable` from version 7 on."""

    API_KEY = OffsetFetchRequest.API_KEY

    def __init__(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        self._group_id = group_id
        self._topics = indexes_by_topic(sorted(partitions))

    def build(self, version: int) -> OffsetFetchRequest:
        if version < 8:
            old = OffsetFetchRequest.OffsetFetchRequestTopic
            topics = [old(name=topic, partition_indexes=numbers) for topic, numbers in self._topics.items()]
            return OffsetFetchRequest(group_id=self._group_id, topics=topics, require_stable=version >= 7)
        new = OffsetFetchRequest.OffsetFetchRequestTopics
        group = OffsetFetchRequest.OffsetFetchRequestGroup(
            group_id=self._group_id,
            topics=[new(name=topic, partition_indexes=numbers) for topic, numbers in self._topics.items()],
        )
        return OffsetFetchRequest(groups=[group], require_stable=True)


def _commit_topics(offsets: Offsets) -> list[OffsetCommitRequest.OffsetCommitRequestTopic]:
    topics: dict[str, list[OffsetCommitRequest.OffsetCommitRequestPartition]] = {}
    for (topic, number), offset in offsets.items():
        partition = OffsetCommitRequest.OffsetCommitRequestPartition(
            partition_index=number,
            committed_offset=offset.offset,
            committed_leader_epoch=-1 if offset.leader_epoch is None else offset.leader_epoch,
            committed_metadata=offset.metadata or "",
        )
        topics.setdefault(topic, []).append(partition)
    entry = OffsetCommitRequest.OffsetCommitRequestTopic
    return [entry(name=topic, partitions=partitions) for topic, partitions in topics.items()]


async def _done(completion: Completion[Any]) -> None:
    """Wait until the completion is done; ignore its outcome."""
    end: Completion[None] = Completion()
    completion.add_callback(lambda _: end.set_result(None))
    await end
