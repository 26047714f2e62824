"""The committed offsets of groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafkapy.admin.results import Answer, Results, failure_of, raise_failure, value_of
from kafkapy.admin.router import Call, Router
from kafkapy.clients.requests import VersionedRequest
from kafkapy.common.partitions_by_topic import indexes_by_topic
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.offset_commit import OffsetCommitRequest
from kafkapy.protocol.messages.offset_delete import OffsetDeleteRequest
from kafkapy.protocol.messages.offset_fetch import OffsetFetchRequest
from kafkapy.structs import OffsetAndMetadata

Offsets = Mapping[TopicPartition, OffsetAndMetadata]
Wanted = Mapping[str, Iterable[TopicPartition] | None]
"""Group -> partitions; None: all with a committed offset."""


class GroupOffsetOperations(Router):
    async def list_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        require_stable: bool = False,
        timeout_ms: int | None = None,
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return the committed offsets of these partitions (None: no commit), or of all.

        As in Kafka, a partition with an error is omitted.
        """
        call = self.call("listGroupOffsets", timeout_ms)
        answer = value_of((await self.fetch_offsets(call, {group_id: partitions}, require_stable))[group_id])
        raise_failure(answer.response)
        return {
            TopicPartition(topic.name, p.partition_index): OffsetAndMetadata(
                p.committed_offset, p.metadata or "", p.committed_leader_epoch
            )
            if p.committed_offset >= 0
            else None
            for topic in answer.response.topics
            for p in topic.partitions
            if p.error_code == 0
        }

    async def fetch_offsets(
        self, call: Call, wanted: Wanted, require_stable: bool = False
    ) -> Results[str, Answer[Any]]:
        """Send OffsetFetch; before 3.0 a request can only have one group (KIP-709)."""
        topics_of = {group: None if some is None else indexes_by_topic(some) for group, some in wanted.items()}
        message = OffsetFetchRequest

        def build(version: int, groups: list[str]) -> OffsetFetchRequest:
            struct = message.OffsetFetchRequestTopics if version >= 8 else message.OffsetFetchRequestTopic
            topics: list[Any] = []
            for group in groups:
                some = topics_of[group]
                named = None if some is None else [struct(name=t, partition_indexes=p) for t, p in some.items()]
                topics.append(named)
            stable = require_stable and version >= 7
            if version < 8:
                return message(group_id=groups[0], topics=topics[0], require_stable=stable)
            requests = [
                message.OffsetFetchRequestGroup(group_id=group, topics=named)
                for group, named in zip(groups, topics, strict=True)
            ]
            return message(groups=requests, require_stable=stable)

        return await self.on_coordinators(
            call,
            wanted,
            lambda groups: VersionedRequest(message, lambda version: build(version, groups)),
            lambda groups, r: {g.group_id: g for g in r.groups} or {groups[0]: r},
            one_by_one_below=8,
            min_version=2 if None in topics_of.values() else 0,
        )

    async def alter_group_offsets(
        self, group_id: str, offsets: Offsets, timeout_ms: int | None = None
    ) -> Results[TopicPartition, None]:
        """Commit these offsets for a group without members. Raises errors of the group as a whole."""
        results = await self.commit(self.call("alterGroupOffsets", timeout_ms), group_id, offsets)
        for error in results.values():
            if isinstance(error, KafkaError) and error.error is Errors.REBALANCE_IN_PROGRESS:
                raise error
        return results

    async def commit(
        self, call: Call, group_id: str, offsets: Offsets, node_id: int | None = None, **versions: int
    ) -> Results[TopicPartition, None]:
        message = OffsetCommitRequest

        def committed(topic: str, index: int) -> OffsetCommitRequest.OffsetCommitRequestPartition:
            given = offsets[TopicPartition(topic, index)]
            return message.OffsetCommitRequestPartition(
                partition_index=index,
                committed_offset=given.offset,
                committed_leader_epoch=-1 if given.leader_epoch is None else given.leader_epoch,
                committed_metadata=given.metadata,
            )

        request = message(
            group_id=group_id,
            generation_id_or_member_epoch=-1,
            topics=[
                message.OffsetCommitRequestTopic(name=topic, partitions=[committed(topic, index) for index in indexes])
                for topic, indexes in indexes_by_topic(offsets).items()
            ],
        )
        answer = await self.on_coordinator(
            call,
            group_id,
            request,
            lambda r: [p.error_code for topic in r.topics for p in topic.partitions],
            node_id=node_id,
            **versions,
        )
        return _failures(answer.response)

    async def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> Results[TopicPartition, None]:
        """Delete committed offsets. Raises errors of the group as a whole (GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP
        ...)."""
        return await self.forget(self.call("deleteGroupOffsets", timeout_ms), group_id, partitions)

    async def forget(
        self, call: Call, group_id: str, partitions: Iterable[TopicPartition], node_id: int | None = None
    ) -> Results[TopicPartition, None]:
        message = OffsetDeleteRequest
        request = message(
            group_id=group_id,
            topics=[
                message.OffsetDeleteRequestTopic(
                    name=topic,
                    partitions=[message.OffsetDeleteRequestPartition(partition_index=index) for index in indexes],
                )
                for topic, indexes in indexes_by_topic(partitions).items()
            ],
        )
        answer = await self.on_coordinator(call, group_id, request, node_id=node_id)
        raise_failure(answer.response)
        return _failures(answer.response)


def _failures(response: Any) -> Results[TopicPartition, None]:
    return {
        TopicPartition(topic.name, p.partition_index): failure_of(p)
        for topic in response.topics
        for p in topic.partitions
    }
