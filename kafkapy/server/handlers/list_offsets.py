"""Handles ListOffsets and OffsetForLeaderEpoch. Spark's connector sends ListOffsets for every poll."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kafkapy.common.acl_types import ACLOperation, ResourceType
from kafkapy.common.stored_errors import raisable_copy
from kafkapy.common.timestamps import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
)
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log_types import TimestampAndOffset
from kafkapy.network.request import Request
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkapy.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse
from kafkapy.runtime.chunks import chunks
from kafkapy.runtime.clock import Clock, InThread
from kafkapy.runtime.yield_gil import yield_gil
from kafkapy.server.authorizer import CLUSTER_NAME, Authorizer
from kafkapy.server.replication.replica_manager import ReplicaManager

if TYPE_CHECKING:
    from kafkapy.log.log import Log

_CLUSTER_ACTION: Final = ACLOperation.CLUSTER_ACTION
_DESCRIBE: Final = ACLOperation.DESCRIBE
_CLUSTER: Final = ResourceType.CLUSTER
_TOPIC: Final = ResourceType.TOPIC

_FIRST_VERSION = {
    LATEST_TIMESTAMP: 0,
    EARLIEST_TIMESTAMP: 0,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL_TIMESTAMP: 8,
    LATEST_TIERED_TIMESTAMP: 9,
}
_IN_MEMORY = (LATEST_TIMESTAMP, EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP, LATEST_TIERED_TIMESTAMP)
_SEGMENT_ENDS = (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP, LATEST_TIERED_TIMESTAMP)
_CONSUMER = -1
_DEBUGGING_CONSUMER = -2
_READ_COMMITTED = 1
_UNAUTHORIZED = Errors.TOPIC_AUTHORIZATION_FAILED.code

_Search = tuple[TopicPartition, int]
"""A partition, and the timestamp to search for."""
_Found = TimestampAndOffset | KafkaError | None
_Twice = set[tuple[str, int]]
"""Partitions that a request names more than once."""

PartitionResponse = ListOffsetsResponse.ListOffsetsPartitionResponse


class OffsetsHandler:
    """Reads offsets from the logs of the partitions led by this broker."""

    def __init__(
        self,
        replica_manager: ReplicaManager,
        authorizer: Authorizer,
        cold_reads: InThread,
        clock: Clock,
    ) -> None:
        """`cold_reads`: threads that may wait for a disk."""
        self._cold_reads = cold_reads
        self._replica_manager = replica_manager
        self._authorizer = authorizer
        self._clock = clock

    async def handle_list_offsets(self, request: Request) -> ListOffsetsResponse:
        """Return the offsets. Timestamps are searched in threads, because this reads segments and perhaps a large
        batch."""
        body: ListOffsetsRequest = request.body
        found: dict[_Search, _Found] = {}
        if request.api_version > 0 and _is_any_searched(body):
            found = await self._search(request, body)
        topics: list[ListOffsetsResponse.ListOffsetsTopicResponse] = []
        asked: dict[str, set[int]] = {}
        twice: _Twice = set()
        for topic in body.topics:
            seen = asked.setdefault(topic.name, set())
            answer = ListOffsetsResponse.ListOffsetsTopicResponse(name=topic.name)
            topics.append(answer)
            allowed = self._authorizer.authorize(request.context, _DESCRIBE, _TOPIC, topic.name)
            for chunk in chunks(topic.partitions):
                await self._clock.checkpoint()
                self._add_offsets(answer, chunk, allowed, request, found, seen, twice)
        if twice and request.api_version > 0:
            await self._refuse(topics, twice)
        return ListOffsetsResponse(topics=topics)

    async def _search(self, request: Request, body: ListOffsetsRequest) -> dict[_Search, _Found]:
        searched: list[tuple[_Search, Log]] = []
        for topic in body.topics:
            # This decision is logged when the response is created.
            if self._authorizer.authorize(
                request.context, _DESCRIBE, _TOPIC, topic.name, log_if_allowed=False, log_if_denied=False
            ):
                for chunk in chunks(topic.partitions):
                    await self._clock.checkpoint()
                    for wanted in chunk:
                        partition = self._replica_manager.name_of(topic.name, wanted.partition_index)
                        local = self._replica_manager.partition(partition)
                        if wanted.timestamp not in _IN_MEMORY and local is not None and local.log is not None:
                            searched.append(((partition, wanted.timestamp), local.log))
        return await self._cold_reads(_search, searched)

    async def _refuse(self, topics: list[ListOffsetsResponse.ListOffsetsTopicResponse], twice: _Twice) -> None:
        """Replace the results of duplicate partitions with an error."""
        for topic in topics:
            for chunk in chunks(topic.partitions):
                await self._clock.checkpoint()
                for answer in chunk:
                    if (topic.name, answer.partition_index) in twice and answer.error_code != _UNAUTHORIZED:
                        answer.error_code = Errors.INVALID_REQUEST.code
                        answer.timestamp = answer.offset = answer.leader_epoch = -1

    def _add_offsets(
        self,
        answer: ListOffsetsResponse.ListOffsetsTopicResponse,
        partitions: Sequence[ListOffsetsRequest.ListOffsetsPartition],
        allowed: bool,
        request: Request,
        found: dict[_Search, _Found],
        seen: set[int],
        twice: _Twice,
    ) -> None:
        """Add the offsets; add the partitions to `seen`, and duplicate ones to `twice`."""
        body: ListOffsetsRequest = request.body
        for wanted in partitions:
            index = wanted.partition_index
            if index in seen:
                twice.add((answer.name, index))
            seen.add(index)
            partition = self._replica_manager.name_of(answer.name, index)
            try:
                if not allowed:
                    raise KafkaError(Errors.TOPIC_AUTHORIZATION_FAILED)
                answer.partitions.append(self._offset_of(partition, wanted, body, request.api_version, found))
            except KafkaError as error:
                answer.partitions.append(_error(index, error.error))

    def _offset_of(
        self,
        partition: TopicPartition,
        wanted: ListOffsetsRequest.ListOffsetsPartition,
        body: ListOffsetsRequest,
        version: int,
        searched: dict[_Search, _Found],
    ) -> PartitionResponse:
        if wanted.timestamp < 0 and version < _FIRST_VERSION.get(wanted.timestamp, 1 << 15):
            raise KafkaError(Errors.UNSUPPORTED_VERSION)
        if version == 0:
            return self._old_style(partition, wanted)
        return self._lookup(partition, wanted, body, version, searched)

    def _lookup(
        self,
        partition: TopicPartition,
        wanted: ListOffsetsRequest.ListOffsetsPartition,
        body: ListOffsetsRequest,
        version: int,
        searched: dict[_Search, _Found],
    ) -> ListOffsetsResponse.ListOffsetsPartitionResponse:
        timestamp = wanted.timestamp
        local = self._replica_manager.get_partition(partition)
        log = local.local_log(wanted.current_leader_epoch, body.replica_id != _DEBUGGING_CONSUMER)
        is_client = body.replica_id == _CONSUMER
        end = _last_fetchable_offset(log, is_client, body.isolation_level)
        behind = is_client and local.leader_epoch_start_offset > log.high_watermark
        if timestamp == LATEST_TIMESTAMP:
            if behind:
                # A new leader does not know yet what was committed before (KIP-207).
                raise KafkaError(Errors.OFFSET_NOT_AVAILABLE if version >= 5 else Errors.LEADER_NOT_AVAILABLE)
            return _found(partition, -1, end, local.leader_epoch, version)
        if timestamp in _IN_MEMORY:
            found = log.fetch_offset_by_timestamp(timestamp)
        else:
            # Missing: this broker became the leader after the search.
            of_search = searched.get((partition, timestamp), KafkaError(Errors.LEADER_NOT_AVAILABLE))
            if isinstance(of_search, KafkaError):
                raise raisable_copy(of_search)
            found = of_search
        if found is None or (timestamp not in _SEGMENT_ENDS and found.offset >= end):
            if behind:
                raise KafkaError(Errors.OFFSET_NOT_AVAILABLE if version >= 5 else Errors.LEADER_NOT_AVAILABLE)
            return PartitionResponse(partition_index=partition.partition, timestamp=-1, offset=-1)
        return _found(
            partition, found.timestamp, found.offset, -1 if found.leader_epoch is None else found.leader_epoch, version
        )

    def _old_style(
        self, partition: TopicPartition, wanted: ListOffsetsRequest.ListOffsetsPartition
    ) -> ListOffsetsResponse.ListOffsetsPartitionResponse:
        """Return v0's result: the base offsets of segments before a time, newest first, limited in number."""
        log = self._replica_manager.get_partition(partition).leader_log()
        offsets = log.legacy_fetch_offsets_before(wanted.timestamp, wanted.max_num_offsets)
        high_watermark = log.high_watermark
        if offsets and any(offset > high_watermark for offset in offsets):
            offsets = [high_watermark, *(offset for offset in offsets if offset <= high_watermark)][
                : wanted.max_num_offsets
            ]
        return PartitionResponse(partition_index=partition.partition, old_style_offsets=offsets)

    async def handle_offset_for_leader_epoch(self, request: Request) -> OffsetForLeaderEpochResponse:
        """Return the end offsets of leader epochs (KIP-101, KIP-320)."""
        body: OffsetForLeaderEpochRequest = request.body
        authorizer = self._authorizer
        as_broker = authorizer.enabled and authorizer.authorize(
            request.context, _CLUSTER_ACTION, _CLUSTER, CLUSTER_NAME, log_if_denied=False
        )
        name_of = self._replica_manager.name_of
        topics = []
        for topic in body.topics:
            allowed = as_broker or authorizer.authorize(request.context, _DESCRIBE, _TOPIC, topic.topic)
            answer = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult(topic=topic.topic)
            topics.append(answer)
            for chunk in chunks(topic.partitions):
                await self._clock.checkpoint()
                for wanted in chunk:
                    partition = name_of(topic.topic, wanted.partition)
                    answer.partitions.append(self._end_of_epoch(partition, wanted, allowed))
        return OffsetForLeaderEpochResponse(topics=topics)

    def _end_of_epoch(
        self,
        partition: TopicPartition,
        wanted: OffsetForLeaderEpochRequest.OffsetForLeaderPartition,
        allowed: bool,
    ) -> OffsetForLeaderEpochResponse.EpochEndOffset:
        answer = OffsetForLeaderEpochResponse.EpochEndOffset(partition=partition.partition)
        try:
            if not allowed:
                raise KafkaError(Errors.TOPIC_AUTHORIZATION_FAILED)
            local = self._replica_manager.get_partition(partition)
            log = local.local_log(wanted.current_leader_epoch, True)
            found = log.end_offset_for_epoch(wanted.leader_epoch)
            if found is not None:
                answer.leader_epoch, answer.end_offset = found
        except KafkaError as error:
            answer.error_code = error.error.code
        return answer


def _search(logs: list[tuple[_Search, Log]]) -> dict[_Search, _Found]:
    """Blocks."""
    found: dict[_Search, _Found] = {}
    for chunk in chunks(logs):
        for key, log in chunk:
            try:
                found[key] = log.fetch_offset_by_timestamp(key[1])
            except KafkaError as error:
                found[key] = error
        yield_gil()
    return found


def _is_any_searched(body: ListOffsetsRequest) -> bool:
    for topic in body.topics:
        for wanted in topic.partitions:  # (a generator would cost more than the loop)
            if wanted.timestamp not in _IN_MEMORY:
                return True
    return False


def _error(index: int, error: Errors) -> ListOffsetsResponse.ListOffsetsPartitionResponse:
    return PartitionResponse(partition_index=index, error_code=error.code, timestamp=-1, offset=-1)


def _found(
    partition: TopicPartition, timestamp: int, offset: int, leader_epoch: int, version: int
) -> ListOffsetsResponse.ListOffsetsPartitionResponse:
    answer = PartitionResponse(partition_index=partition.partition, timestamp=timestamp, offset=offset)
    if version >= 4:
        answer.leader_epoch = leader_epoch
    return answer


def _last_fetchable_offset(log: Log, is_client: bool, isolation_level: int) -> int:
    if not is_client:
        return log.log_end_offset
    return log.last_stable_offset if isolation_level == _READ_COMMITTED else log.high_watermark
