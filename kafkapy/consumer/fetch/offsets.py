"""Looks up offsets: by timestamp, at the log's ends, to reset positions, and to validate positions at a new leader
(Kafka's `OffsetFetcher`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from kafkapy.clients.network_client import NetworkClient
from kafkapy.common.timestamps import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.config import ConsumerConfig
from kafkapy.consumer.subscription_state import FetchPosition, SubscriptionState
from kafkapy.errors import (
    LogTruncationError,
    TopicAuthorizationFailedError,
    as_client_error,
    error_for,
)
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkapy.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse
from kafkapy.runtime.completion import CancelledError, spawn
from kafkapy.structs import OffsetAndMetadata, OffsetAndTimestamp, OffsetResetStrategy

T = TypeVar("T")

_log = logging.getLogger("kafkapy.consumer")

_UNKNOWN_OFFSET = -1
_ENDS = frozenset((EARLIEST_TIMESTAMP, LATEST_TIMESTAMP))
_FIRST_EXACT_VERSION = 1
"""First ListOffsets version that finds the exact offset for a timestamp; older ones return that of a segment."""
_FIRST_VALIDATING_VERSION = 3
"""First OffsetForLeaderEpoch version that needs only DESCRIBE of the topic; older ones need CLUSTER_ACTION."""


class OffsetFetcher:
    """Requests offsets from the partition leaders. Runs on the driver's thread."""

    def __init__(
        self,
        client: NetworkClient,
        subscriptions: SubscriptionState,
        config: ConsumerConfig,
        on_progress: Callable[[], object],
        on_error: Callable[[KafkaError], object],
    ) -> None:
        """`on_progress`: called when positions became valid or may be retried. `on_error`: gets errors for the
        user."""
        self._client = client
        self._subscriptions = subscriptions
        self._config = config
        self._on_progress = on_progress
        self._on_error = on_error

    # --- for the user

    async def list_offsets(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return each partition's first record with at least this timestamp (ms), None if there is none; -1 means the
        end, -2 the beginning.

        Retries; raises KafkaTimeoutError, TopicAuthorizationFailedError, UnsupportedVersionError.
        """
        found: dict[TopicPartition, OffsetAndTimestamp | None] = {}

        async def attempt() -> None:
            await self._know_topics(timestamps)
            left = {partition: time for partition, time in timestamps.items() if partition not in found}
            by_leader, leaderless = self._by_leader(left)
            failure = next(reversed(leaderless.values()), None)
            for asked in [spawn(self._ask_leader(node, part)) for node, part in by_leader.items()]:
                try:
                    answers, error = await asked
                except KafkaError as lost:
                    failure = as_client_error(lost)
                    if not failure.retriable:
                        raise failure from None
                    continue
                found.update(answers)
                failure = error or failure
            if failure is not None:
                raise failure

        await self._client.retry("Looking up offsets", attempt, timeout_ms)
        return {partition: found[partition] for partition in timestamps}

    # --- resets

    def reset_if_needed(self) -> None:
        """Begin the resets that are due; the outcomes go into the subscription state."""
        now = self._client.driver.time.monotonic_ms()
        by_leader, leaderless = self._by_leader(self._subscriptions.partitions_needing_reset(now))
        if leaderless:
            self._try_later(leaderless)
        for node_id, wanted in by_leader.items():
            self._subscriptions.retry_later(wanted, now + self._config.request_timeout_ms)
            spawn(self._reset(node_id, wanted))

    async def _reset(self, node_id: int, wanted: dict[TopicPartition, OffsetResetStrategy]) -> None:
        try:
            answers, failure = await self._ask_leader(node_id, {p: int(s) for p, s in wanted.items()})
        except KafkaError as error:
            answers, failure = {}, as_client_error(error)
        except CancelledError:
            return
        for partition, answer in answers.items():
            if answer is None:
                continue
            if answer.leader_epoch is not None:
                self._client.metadata.record_epoch(partition, answer.leader_epoch)
            leader = self._client.metadata.leader_of(partition)
            position = FetchPosition(answer.offset, leader_epoch=-1 if leader is None else leader.epoch)
            if self._subscriptions.complete_reset(partition, wanted[partition], position):
                _log.info("Resetting offset for partition %s to offset %d", partition, answer.offset)
        missing = [partition for partition in wanted if answers.get(partition) is None]
        if failure is not None and not failure.retriable:
            self._on_error(failure)
        if missing:
            self._try_later(missing)
        if answers:
            self._on_progress()

    # --- validation (KIP-320)

    def validate_if_needed(self) -> None:
        """Begin to validate positions that are older than their leader; the outcomes go into the subscription
        state."""
        now = self._client.driver.time.monotonic_ms()
        awaiting = {
            partition: position
            for partition in self._subscriptions.partitions_needing_validation(now)
            if (position := self._subscriptions.state(partition).position) is not None
        }
        by_leader, leaderless = self._by_leader(awaiting)
        if leaderless:
            self._try_later(leaderless)
        for node_id, positions in by_leader.items():
            if self._can_validate(node_id):
                self._subscriptions.retry_later(positions, now + self._config.request_timeout_ms)
                spawn(self._validate(node_id, positions))
            else:
                for partition in positions:
                    self._subscriptions.state(partition).complete_validation()

    def _can_validate(self, node_id: int) -> bool:
        versions = self._client.versions_of(node_id)
        if versions is None:
            return True  # not connected yet: an old broker will reject the request
        served = versions.ranges.get(ApiKey.OFFSET_FOR_LEADER_EPOCH)
        return served is not None and served[1] >= _FIRST_VALIDATING_VERSION

    async def _validate(self, node_id: int, positions: dict[TopicPartition, FetchPosition]) -> None:
        request = _epoch_request(positions)
        try:
            response: OffsetForLeaderEpochResponse = await self._client.send(
                node_id, request, min_version=_FIRST_VALIDATING_VERSION
            )
        except KafkaError as failure:
            if as_client_error(failure).error is Errors.UNSUPPORTED_VERSION:
                for partition, position in positions.items():
                    self._confirm(partition, position)
                self._on_progress()
            else:
                self._try_later(positions)
            return
        except CancelledError:
            return
        truncated: dict[TopicPartition, OffsetAndMetadata | None] = {}
        left = set(positions)
        for topic in response.topics:
            for answer in topic.partitions:
                partition = TopicPartition(topic.topic, answer.partition)
                if partition not in left:
                    continue
                error = Errors.for_code(answer.error_code)
                if error is Errors.NONE:
                    left.discard(partition)
                    self._compare(partition, positions[partition], answer, truncated)
                elif error is Errors.TOPIC_AUTHORIZATION_FAILED:
                    self._on_error(TopicAuthorizationFailedError({partition.topic}))
                else:
                    _log.debug("Validating the position of %s failed: %s", partition, error.name)
        if truncated:
            self._on_error(LogTruncationError(truncated))
        if left:
            self._try_later(left)
        self._on_progress()

    def _compare(
        self,
        partition: TopicPartition,
        position: FetchPosition,
        answer: OffsetForLeaderEpochResponse.EpochEndOffset,
        truncated: dict[TopicPartition, OffsetAndMetadata | None],
    ) -> None:
        """Detect truncation: compare the position with the leader's end of the epoch
        (`SubscriptionState.maybeCompleteValidation`)."""
        state = self._subscriptions.assignment.get(partition)
        if state is None or state.position != position:
            return  # the position jumped meanwhile
        has_policy = self._subscriptions.default_reset is not OffsetResetStrategy.NONE
        if answer.end_offset < 0 or answer.leader_epoch < 0:
            if has_policy:
                _log.info("Truncation detected for partition %s at offset %s: resetting it", partition, position)
                self._subscriptions.request_offset_reset(partition)
            else:
                truncated[partition] = None
                state.complete_validation()
        elif answer.end_offset < position.offset:
            if has_policy:
                _log.info(
                    "Truncation detected for partition %s at offset %s: going back to %d",
                    partition,
                    position,
                    answer.end_offset,
                )
                state.seek(FetchPosition(answer.end_offset, answer.leader_epoch, position.leader_epoch))
            else:
                truncated[partition] = OffsetAndMetadata(answer.end_offset, "", answer.leader_epoch)
                state.complete_validation()
        else:
            state.complete_validation()

    def _confirm(self, partition: TopicPartition, position: FetchPosition) -> None:
        state = self._subscriptions.assignment.get(partition)
        if state is not None and state.position == position:
            state.complete_validation()

    # --- inside

    async def _know_topics(self, partitions: Iterable[TopicPartition]) -> None:
        news = self._client.metadata.add_topics({partition.topic for partition in partitions})
        if news is not None:
            await news

    def _by_leader(
        self, wanted: Mapping[TopicPartition, T]
    ) -> tuple[dict[int, dict[TopicPartition, T]], dict[TopicPartition, KafkaError]]:
        """Group the partitions by leader; return also the errors of those without one."""
        by_leader: dict[int, dict[TopicPartition, T]] = {}
        leaderless: dict[TopicPartition, KafkaError] = {}
        for partition, what in wanted.items():
            leader = self._client.metadata.leader_or_error(partition)
            if isinstance(leader, KafkaError):
                leaderless[partition] = leader
            else:
                by_leader.setdefault(leader, {})[partition] = what
        return by_leader, leaderless

    async def _ask_leader(
        self, node_id: int, timestamps: Mapping[TopicPartition, int]
    ) -> tuple[dict[TopicPartition, OffsetAndTimestamp | None], KafkaError | None]:
        """Return (offsets found, errors of the other partitions). Raises the connection's error."""
        topics: dict[str, ListOffsetsRequest.ListOffsetsTopic] = {}
        for partition, time in timestamps.items():
            topic = topics.get(partition.topic)
            if topic is None:
                topic = ListOffsetsRequest.ListOffsetsTopic(name=partition.topic, partitions=[])
                topics[partition.topic] = topic
            leader = self._client.metadata.leader_of(partition)
            topic.partitions.append(
                ListOffsetsRequest.ListOffsetsPartition(
                    partition_index=partition.partition,
                    current_leader_epoch=-1 if leader is None else leader.epoch,
                    timestamp=time,
                )
            )
        request = ListOffsetsRequest(
            replica_id=-1, isolation_level=self._config.isolation, topics=list(topics.values())
        )
        lowest = 0 if _ENDS.issuperset(timestamps.values()) else _FIRST_EXACT_VERSION
        response = await self._client.send(node_id, request, min_version=2 if self._config.isolation else lowest)
        return _read_offsets(response)

    def _try_later(self, partitions: Iterable[TopicPartition]) -> None:
        """Retry after the back-off, with fresh metadata."""
        driver = self._client.driver
        backoff = self._config.retry_backoff_ms
        self._subscriptions.retry_later(partitions, driver.time.monotonic_ms() + backoff)
        self._client.metadata.request_update()
        driver.call_later(backoff + 1, self._on_progress)


def _read_offsets(
    response: ListOffsetsResponse,
) -> tuple[dict[TopicPartition, OffsetAndTimestamp | None], KafkaError | None]:
    found: dict[TopicPartition, OffsetAndTimestamp | None] = {}
    failure: KafkaError | None = None
    unauthorized = set()
    for topic in response.topics:
        for answer in topic.partitions:
            partition = TopicPartition(topic.name, answer.partition_index)
            error = Errors.for_code(answer.error_code)
            if error is Errors.NONE:
                # Version 0, which brokers before 0.10.1 stop at, has a list of offsets instead.
                offset = answer.old_style_offsets[0] if answer.old_style_offsets else answer.offset
                known = offset != _UNKNOWN_OFFSET
                found[partition] = OffsetAndTimestamp(offset, answer.timestamp, answer.leader_epoch) if known else None
            elif error is Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT:
                found[partition] = None  # messages without timestamps: there is no such record
            elif error is Errors.TOPIC_AUTHORIZATION_FAILED:
                unauthorized.add(topic.name)
            else:
                retriable = error if error.retriable else Errors.UNKNOWN_TOPIC_OR_PARTITION
                failure = error_for(retriable, f"Looking up an offset of {partition} failed: {error.name}")
    if unauthorized:
        return found, TopicAuthorizationFailedError(unauthorized)
    return found, failure


def _epoch_request(positions: Mapping[TopicPartition, FetchPosition]) -> OffsetForLeaderEpochRequest:
    topics: dict[str, OffsetForLeaderEpochRequest.OffsetForLeaderTopic] = {}
    for partition, position in positions.items():
        topic = topics.get(partition.topic)
        if topic is None:
            topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=partition.topic, partitions=[])
            topics[partition.topic] = topic
        topic.partitions.append(
            OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
                partition=partition.partition,
                current_leader_epoch=position.leader_epoch,
                leader_epoch=position.offset_epoch,
            )
        )
    return OffsetForLeaderEpochRequest(replica_id=-1, topics=list(topics.values()))
