"""Partitions: more of them, their leaders and replicas, deleted records, offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafkapy.admin.core.router import Router, by_topic, error_class, raise_code, raise_first, topic_partitions
from kafkapy.admin.core.structs import as_dict
from kafkapy.admin.core.topics import TopicOperations
from kafkapy.admin.core.types import ElectionType
from kafkapy.clients.requests import VersionedRequest
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import (
    BrokerResponseError,
    IncompatibleBrokerVersion,
    UnknownTopicOrPartitionError,
    error_for,
    for_code,
)
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kafkapy.protocol.messages.create_partitions import CreatePartitionsRequest
from kafkapy.protocol.messages.delete_records import DeleteRecordsRequest
from kafkapy.protocol.messages.elect_leaders import ElectLeadersRequest
from kafkapy.protocol.messages.list_offsets import ListOffsetsRequest
from kafkapy.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from kafkapy.structs import IsolationLevel, OffsetAndTimestamp, OffsetSpec

Reassigned = dict[TopicPartition, type[BrokerResponseError] | None]

_SPECIAL_OFFSETS = {OffsetSpec.MAX_TIMESTAMP: 7, OffsetSpec.EARLIEST_LOCAL: 8, OffsetSpec.LATEST_TIERED: 9}
"""Offset spec -> the version of ListOffsets that knows it."""

_MOVED = {error.code for error in Errors if error.refresh_metadata} - {Errors.UNKNOWN_TOPIC_OR_PARTITION.code}


class PartitionOperations(TopicOperations):
    async def create_partitions(
        self,
        topic_partitions: Mapping[str, Any],
        timeout_ms: int | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
    ) -> Any:
        """More partitions: topic -> the count it shall have, a `NewPartitions`, or {count, assignments}. Gives the
        response; raises the first error, unless `raise_errors` is False."""
        request = CreatePartitionsRequest(
            topics=[_new_partitions(topic, wanted) for topic, wanted in topic_partitions.items()],
            timeout_ms=self._timeout(timeout_ms),
            validate_only=validate_only,
        )
        answer = await self._controller(request, lambda r: [t.error_code for t in r.results], timeout_ms)
        if raise_errors:
            raise_first((topic.error_code, topic.error_message) for topic in answer.response.results)
        return answer.response

    async def delete_records(
        self,
        records_to_delete: Mapping[TopicPartition, int],
        timeout_ms: int | None = None,
        partition_leader_id: int | None = None,
    ) -> dict[TopicPartition, dict[str, Any]]:
        """Delete what lies before the offsets (-1: all there is). Partition -> {partition_index, low_watermark,
        error_code}. Raises the partitions' errors. With `partition_leader_id` that broker is asked, and once."""
        wanted = topic_partitions(records_to_delete)
        timeout = self._timeout(timeout_ms)

        def make(partitions: list[TopicPartition]) -> DeleteRecordsRequest:
            message = DeleteRecordsRequest
            return message(
                topics=[
                    message.DeleteRecordsTopic(
                        name=topic,
                        partitions=[
                            message.DeleteRecordsPartition(
                                partition_index=number, offset=wanted[TopicPartition(topic, number)]
                            )
                            for number in numbers
                        ],
                    )
                    for topic, numbers in by_topic(partitions).items()
                ],
                timeout_ms=timeout,
            )

        results = await self._of_leaders(wanted, make, timeout_ms, partition_leader_id)
        failed = {tp: result.error_code for tp, (result, _) in results.items() if result.error_code}
        if len(failed) == 1:
            ((partition, code),) = failed.items()
            raise error_for(
                code, f"Error deleting records from topic {partition.topic} partition {partition.partition}"
            )
        if failed:
            reasons = ", ".join(f"{partition}: {for_code(code).__name__}" for partition, code in failed.items())
            raise BrokerResponseError(f"The following errors occurred when trying to delete records: {reasons}")
        return {partition: as_dict(result, version) for partition, (result, version) in results.items()}

    async def list_partition_offsets(
        self,
        topic_partition_specs: Mapping[TopicPartition, int],
        isolation_level: IsolationLevel | str | int = IsolationLevel.READ_UNCOMMITTED,
        timeout_ms: int | None = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        """Look up offsets by `OffsetSpec` or by time (ms). Raises the first partition's error."""
        wanted = topic_partitions(topic_partition_specs)
        for spec in wanted.values():
            if not isinstance(spec, int):
                raise TypeError(f"{spec!r} is neither an OffsetSpec nor a time in ms")
        level = _isolation_level(isolation_level)
        lowest = max(
            [2 if level else 1] + [_SPECIAL_OFFSETS.get(OffsetSpec(s), 1) for s in wanted.values() if -6 < s < 0]
        )

        def make(partitions: list[TopicPartition]) -> ListOffsetsRequest:
            message = ListOffsetsRequest
            return message(
                replica_id=-1,
                isolation_level=level,
                topics=[
                    message.ListOffsetsTopic(
                        name=topic,
                        partitions=[
                            message.ListOffsetsPartition(
                                partition_index=number, timestamp=int(wanted[TopicPartition(topic, number)])
                            )
                            for number in numbers
                        ],
                    )
                    for topic, numbers in by_topic(partitions).items()
                ],
            )

        found = {}
        for partition, (result, _) in (await self._of_leaders(wanted, make, timeout_ms, None, lowest)).items():
            raise_code(result.error_code, f"ListOffsets failed for {partition}")
            epoch = result.leader_epoch if result.leader_epoch >= 0 else None
            found[partition] = OffsetAndTimestamp(result.offset, result.timestamp, epoch)
        return found

    async def _of_leaders(
        self,
        partitions: Iterable[TopicPartition],
        make: Any,
        timeout_ms: int | None,
        node_id: int | None,
        min_version: int = 0,
    ) -> dict[TopicPartition, tuple[Any, int]]:
        """Each partition's part of its leader's response, with the version; asked again while a leader has moved."""
        results: dict[TopicPartition, tuple[Any, int]] = {}
        pending = list(partitions)
        unknown: UnknownTopicOrPartitionError | None = None

        async def attempt() -> None:
            nonlocal pending, unknown
            try:
                leaders = {node_id: pending} if node_id is not None else await self._leaders(pending)
            except UnknownTopicOrPartitionError as error:
                unknown = error  # what isn't there is not waited for
                return
            for leader, some in leaders.items():
                answer = await self._ask(leader, make(some), min_version=min_version)
                for topic in answer.response.topics:
                    for part in topic.partitions:
                        results[TopicPartition(topic.name, part.partition_index)] = part, answer.version
            if node_id is None:
                pending = [tp for tp in pending if tp not in results or results[tp][0].error_code in _MOVED]
                for partition in pending:
                    raise error_for(results[partition][0].error_code, f"{partition} has moved")

        if pending:
            await self.client.retry("partitions", attempt, timeout_ms)
        if unknown is not None:
            raise unknown
        return results

    async def elect_leaders(
        self,
        election_type: ElectionType | int,
        topic_partitions: Any = None,
        timeout_ms: int | None = None,
        raise_errors: bool = True,
    ) -> Any:
        """Elect leaders anew: {topic: [partitions]}, [topics] or None for all. Gives the response; raises the first
        error but ELECTION_NOT_NEEDED, unless `raise_errors` is False."""
        kind = ElectionType(election_type)
        timeout = self._timeout(timeout_ms)
        topics = await self._topic_partitions(topic_partitions)

        def build(version: int) -> ElectLeadersRequest:
            if version < 1 and kind is not ElectionType.PREFERRED:
                raise IncompatibleBrokerVersion("An unclean election needs a broker from 2.4 on")
            return ElectLeadersRequest(
                election_type=kind,
                topic_partitions=[
                    ElectLeadersRequest.TopicPartitions(topic=topic, partitions=list(numbers))
                    for topic, numbers in topics.items()
                ],
                timeout_ms=timeout,
            )

        def codes(response: Any) -> list[int]:
            results = response.replica_election_results
            return [response.error_code, *(p.error_code for topic in results for p in topic.partition_result)]

        answer = await self._controller(VersionedRequest(ElectLeadersRequest, build), codes, timeout_ms)
        if raise_errors:
            results = answer.response.replica_election_results
            errors = [(p.error_code, p.error_message) for topic in results for p in topic.partition_result]
            raise_first([(answer.response.error_code, None), *errors], ignored=[Errors.ELECTION_NOT_NEEDED.code])
        return answer.response

    async def _topic_partitions(self, given: Any) -> dict[str, list[int]]:
        """{topic: [partitions]} as it is; for names of topics, or None for all, what there is."""
        if isinstance(given, Mapping):
            return {topic: list(numbers) for topic, numbers in given.items()}
        described = await self.describe_topics(given)
        return {topic["name"]: [p["partition_index"] for p in topic["partitions"]] for topic in described}

    async def alter_partition_reassignments(
        self, reassignments: Mapping[TopicPartition, Iterable[int] | None], timeout_ms: int | None = None
    ) -> Reassigned:
        """Give partitions other replicas (broker ids; None: cancel). Partition -> error class, None for success."""
        message = AlterPartitionReassignmentsRequest
        wanted = topic_partitions(reassignments)
        for partition, replicas in wanted.items():
            if replicas is not None and (not list(replicas) or not all(isinstance(r, int) for r in replicas)):
                raise ValueError(f"{partition}: give broker ids, or None to cancel a reassignment; not {replicas!r}")

        def reassignable(topic: str, number: int) -> AlterPartitionReassignmentsRequest.ReassignablePartition:
            replicas = wanted[TopicPartition(topic, number)]
            return message.ReassignablePartition(
                partition_index=number, replicas=None if replicas is None else list(replicas)
            )

        request = message(
            timeout_ms=self._timeout(timeout_ms),
            topics=[
                message.ReassignableTopic(name=topic, partitions=[reassignable(topic, number) for number in numbers])
                for topic, numbers in by_topic(wanted).items()
            ],
        )
        response = (await self._controller(request, lambda r: [r.error_code], timeout_ms)).response
        raise_code(response.error_code, response.error_message)
        return {
            TopicPartition(topic.name, p.partition_index): error_class(p.error_code) if p.error_code else None
            for topic in response.responses
            for p in topic.partitions
        }

    async def list_partition_reassignments(
        self, topic_partitions: Any = None, timeout_ms: int | None = None
    ) -> dict[TopicPartition, dict[str, list[int]]]:
        """Reassignments that are under way: of {topic: [partitions]}, [TopicPartition] or None for all."""
        message = ListPartitionReassignmentsRequest
        topics = topic_partitions
        if topics is not None and not isinstance(topics, Mapping):
            topics = by_topic(topics)
        request = message(
            timeout_ms=self._timeout(timeout_ms),
            topics=None
            if topics is None
            else [
                message.ListPartitionReassignmentsTopics(name=topic, partition_indexes=list(numbers))
                for topic, numbers in topics.items()
            ],
        )
        response = (await self._controller(request, lambda r: [r.error_code], timeout_ms)).response
        raise_code(response.error_code, response.error_message)
        return {
            TopicPartition(topic.name, p.partition_index): {
                "replicas": list(p.replicas),
                "adding_replicas": list(p.adding_replicas),
                "removing_replicas": list(p.removing_replicas),
            }
            for topic in response.topics
            for p in topic.partitions
        }

    async def describe_topic_partitions(
        self, topics: Iterable[str], response_partition_limit: int = 2000, cursor: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Partitions page by page, with eligible leader replicas (KIP-966). Needs a KRaft broker from 3.7 on."""
        from kafkapy.admin.core.kraft import DescribeTopicPartitionsRequest as Request

        request = Request(
            topics=[Request.TopicRequest(name=topic) for topic in topics],
            response_partition_limit=response_partition_limit,
            cursor=None
            if cursor is None
            else Request.Cursor(topic_name=cursor["topic_name"], partition_index=cursor["partition_index"]),
        )
        answer = await self._any(request)
        described = as_dict(answer.response, answer.version)
        return {"topics": described["topics"], "next_cursor": described["next_cursor"]}


def _new_partitions(topic: str, wanted: Any) -> CreatePartitionsRequest.CreatePartitionsTopic:
    if isinstance(wanted, int):
        count, assignments = wanted, None
    elif isinstance(wanted, Mapping):
        count, assignments = wanted["count"], wanted.get("assignments")
    else:
        count, assignments = wanted.total_count, wanted.new_assignments
    made = CreatePartitionsRequest.CreatePartitionsAssignment
    return CreatePartitionsRequest.CreatePartitionsTopic(
        name=topic,
        count=count,
        assignments=None if assignments is None else [made(broker_ids=list(ids)) for ids in assignments],
    )


def _isolation_level(value: IsolationLevel | str | int) -> IsolationLevel:
    if isinstance(value, str):
        return IsolationLevel[value.upper()]
    return IsolationLevel(value)


__all__ = ["PartitionOperations", "Router"]
