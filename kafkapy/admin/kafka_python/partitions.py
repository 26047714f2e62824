"""Operations on partitions: leaders and replicas, deletion of records, offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafkapy.admin.kafka_python.base import (
    ErrorClass,
    error_class,
    first_error,
    raise_code,
    raise_first,
    topic_partitions,
)
from kafkapy.admin.kafka_python.topics import TopicMethods
from kafkapy.admin.replicas import failures_of_reassignment, log_dirs_request
from kafkapy.admin.structs import as_dict
from kafkapy.common.partitions_by_topic import indexes_by_topic
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.wire_enums import ElectionType
from kafkapy.errors import BrokerResponseError, error_for, for_code
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.elect_leaders import ElectLeadersResponse
from kafkapy.structs import IsolationLevel, OffsetAndTimestamp, OffsetSpec, TopicPartitionReplica

Chosen = Mapping[str, Iterable[int]] | Iterable[str] | None
"""{topic: [partitions]}, [topics], or None for all."""


def _has_moved(error: Errors) -> bool:
    """Return whether the leader has moved; an unknown partition is no reason to retry."""
    return error.refresh_metadata and error is not Errors.UNKNOWN_TOPIC_OR_PARTITION


class PartitionMethods(TopicMethods):
    async def delete_records(
        self,
        records_to_delete: Mapping[TopicPartition, int],
        timeout_ms: int | None = None,
        partition_leader_id: int | None = None,
    ) -> dict[TopicPartition, dict[str, Any]]:
        """Delete the records before the offsets (-1: all). Return partition -> {partition_index, low_watermark,
        error_code}.

        Raises the partitions' errors. With `partition_leader_id`, only that broker is asked, without retries.

        Args:
            records_to_delete: By partition, the offset of the first record that is kept.
            timeout_ms: The time that the brokers may take, in ms. None (default): `request_timeout_ms`.
            partition_leader_id: Broker that leads the partitions. None (default): leaders are looked up.
        """
        call = self._call("partitions", timeout_ms)
        answers = await self.core.delete_before(
            call,
            topic_partitions(records_to_delete),
            may_repeat=_has_moved,
            all_must_exist=True,
            node_id=partition_leader_id,
        )
        first_error(answers)
        results = {tp: answer for tp, answer in answers.items() if not isinstance(answer, Exception)}
        failed = {tp: answer.response.error_code for tp, answer in results.items() if answer.response.error_code}
        if len(failed) == 1:
            ((partition, code),) = failed.items()
            raise error_for(
                code, f"Error deleting records from topic {partition.topic} partition {partition.partition}"
            )
        if failed:
            reasons = ", ".join(f"{partition}: {for_code(code).__name__}" for partition, code in failed.items())
            raise BrokerResponseError(f"The following errors occurred when trying to delete records: {reasons}")
        return {partition: as_dict(answer.response, answer.version) for partition, answer in results.items()}

    async def list_partition_offsets(
        self,
        topic_partition_specs: Mapping[TopicPartition, int],
        isolation_level: IsolationLevel | str | int = IsolationLevel.READ_UNCOMMITTED,
        timeout_ms: int | None = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        """Look up offsets by `OffsetSpec` or by time (ms). Raises the first partition's error.

        Args:
            topic_partition_specs: `OffsetSpec` or time in ms since the epoch, by partition.
            isolation_level: With READ_COMMITTED, LATEST is the last stable offset. Default READ_UNCOMMITTED.
            timeout_ms: The time that the brokers may take, in ms. None (default): `request_timeout_ms`.
        """
        wanted = topic_partitions(topic_partition_specs)
        for spec in wanted.values():
            if not isinstance(spec, int):
                raise TypeError(f"{spec!r} is neither an OffsetSpec nor a time in ms")
            if spec < min(OffsetSpec):
                raise ValueError(f"A time is a number of ms since 1970, not {spec}")
        level = _isolation_level(isolation_level)
        call = self._call("partitions", timeout_ms)
        answers = await self.core.look_up_offsets(
            call, wanted, level, min_version=2 if level else 1, may_repeat=_has_moved, all_must_exist=True
        )
        first_error(answers)
        found = {}
        for partition, answer in answers.items():
            assert not isinstance(answer, Exception)
            part = answer.response
            raise_code(part.error_code, f"ListOffsets failed for {partition}")
            epoch = part.leader_epoch if part.leader_epoch >= 0 else None
            found[partition] = OffsetAndTimestamp(part.offset, part.timestamp, epoch)
        return found

    async def elect_leaders(
        self,
        election_type: ElectionType | int,
        topic_partitions: Chosen = None,
        timeout_ms: int | None = None,
        raise_errors: bool = True,
    ) -> ElectLeadersResponse:
        """Elect leaders of {topic: [partitions]}, [topics] or None for all; return the response.

        Raises the first error except ELECTION_NOT_NEEDED, unless `raise_errors` is False.

        Args:
            election_type: PREFERRED, or UNCLEAN, which may lose records (KIP-460).
            topic_partitions: Which partitions. None (default): all.
            timeout_ms: The time that the brokers may take, in ms. None (default): `request_timeout_ms`.
            raise_errors: Raise the first error. Default True; else errors are in the response.
        """
        topics = await self._topic_partitions(topic_partitions)
        call = self._controller_call("ElectLeaders", timeout_ms)
        response: ElectLeadersResponse = (await self.core.elect(call, ElectionType(election_type), topics)).response
        if raise_errors:
            results = response.replica_election_results
            errors = [(p.error_code, p.error_message) for topic in results for p in topic.partition_result]
            raise_first([(response.error_code, None), *errors], ignored=[Errors.ELECTION_NOT_NEEDED.code])
        return response

    async def _topic_partitions(self, given: Chosen) -> dict[str, list[int]]:
        """Return topic -> partitions; expand topic names, or None for all, by the cluster's metadata."""
        if isinstance(given, Mapping):
            return {topic: list(numbers) for topic, numbers in given.items()}
        described = await self.describe_topics(given)
        return {topic["name"]: [p["partition_index"] for p in topic["partitions"]] for topic in described}

    async def alter_partition_reassignments(
        self, reassignments: Mapping[TopicPartition, Sequence[int] | None], timeout_ms: int | None = None
    ) -> dict[TopicPartition, ErrorClass | None]:
        """Assign other replicas to partitions (broker ids; None: cancel). Return partition -> error class, None for
        success.

        Args:
            reassignments: Broker ids of the new replicas by partition, the preferred leader first; None cancels (KIP-455).
            timeout_ms: The time that the brokers may take, in ms. None (default): `request_timeout_ms`.
        """
        wanted = topic_partitions(reassignments)
        for partition, replicas in wanted.items():
            if replicas is not None and (not list(replicas) or not all(isinstance(r, int) for r in replicas)):
                raise ValueError(f"{partition}: give broker ids, or None to cancel a reassignment; not {replicas!r}")
        call = self._controller_call("AlterPartitionReassignments", timeout_ms)
        response = (await self.core.reassign(call, wanted)).response
        raise_code(response.error_code, response.error_message)
        return {
            partition: None if failure is None else error_class(failure)
            for partition, failure in failures_of_reassignment(response).items()
        }

    async def list_partition_reassignments(
        self,
        topic_partitions: Mapping[str, Iterable[int]] | Iterable[TopicPartition] | None = None,
        timeout_ms: int | None = None,
    ) -> dict[TopicPartition, dict[str, list[int]]]:
        """Return the ongoing reassignments of {topic: [partitions]}, [TopicPartition] or None for all.

        Args:
            topic_partitions: Which partitions. None (default): all.
            timeout_ms: The time that the brokers may take, in ms. None (default): `request_timeout_ms`.
        """
        topics = topic_partitions
        if topics is not None and not isinstance(topics, Mapping):
            topics = indexes_by_topic(topics)
        call = self._controller_call("ListPartitionReassignments", timeout_ms)
        found = await self.core.reassignments(call, topics)
        return {
            partition: {field: list(ids) for field, ids in reassignment._asdict().items()}
            for partition, reassignment in found.items()
        }

    async def describe_topic_partitions(
        self, topics: Iterable[str], response_partition_limit: int = 2000, cursor: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return a page of partitions, with eligible leader replicas (KIP-966). Needs a KRaft broker from 3.7 on.

        Args:
            topics: Names of the topics.
            response_partition_limit: The most partitions of a page. Default 2000.
            cursor: Where the page begins: `next_cursor` of the page before. None (default): the first page.
        """
        from kafkapy.admin.kraft import DescribeTopicPartitionsRequest as Request

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

    # --- log directories

    async def describe_log_dirs(
        self, topic_partitions: Chosen = None, brokers: Iterable[int] | None = None
    ) -> list[dict[str, Any]]:
        """Return the sizes of replicas of {topic: [partitions]}, [topics] or None for all, on these brokers, else on
        all.

        Args:
            topic_partitions: Which replicas. None (default): all.
            brokers: Ids of the brokers to ask. None (default): all.
        """
        request = log_dirs_request(await self._topic_partitions(topic_partitions))
        described = []
        for node_id in await self._broker_ids() if brokers is None else brokers:
            answer = await self._node(node_id, request)
            raise_code(answer.response.error_code)
            dirs = [as_dict(result, answer.version) for result in answer.response.results]
            described.append({"broker": node_id, "log_dirs": dirs})
        return described

    async def alter_replica_log_dirs(
        self, replica_assignments: Mapping[TopicPartitionReplica, str]
    ) -> dict[TopicPartitionReplica, ErrorClass]:
        """Move replicas to other directories of their brokers; return replica -> error class, `NoError` for success.

        Args:
            replica_assignments: Absolute paths of directories in `log.dirs`, by replica.
        """
        wanted = {TopicPartitionReplica(*replica): path for replica, path in replica_assignments.items()}
        answers = await self.core.move_replicas(self._call("AlterReplicaLogDirs"), wanted)
        first_error(answers)
        return {
            replica: error_class(answer.response.error_code)
            for replica, answer in answers.items()
            if not isinstance(answer, Exception)
        }


def _isolation_level(value: IsolationLevel | str | int) -> IsolationLevel:
    if isinstance(value, str) and value.upper() in IsolationLevel.__members__:
        return IsolationLevel[value.upper()]
    if value in tuple(IsolationLevel):
        return IsolationLevel(value)
    raise ValueError(f"isolation_level must be 'read_uncommitted' or 'read_committed'; it is {value!r}")
