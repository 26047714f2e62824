"""Single requests that a legal client may send, each with as many entries as it can have or nearly so."""

from __future__ import annotations

import threading
from collections.abc import Callable

from benchmarks.brokers import Server
from benchmarks.stalls.client import (
    FrameClient,
    batch,
    list_offsets_request,
    make_topic,
    metadata_request,
    produce_request,
    values,
)
from benchmarks.stalls.measure import PROBE_TOPIC, Scenario
from benchmarks.stalls.partitions import PARTITIONS, OfOneTopic, commit_offsets
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.api_versions import ApiVersionsRequest
from kafkapy.protocol.messages.delete_groups import DeleteGroupsRequest
from kafkapy.protocol.messages.delete_records import DeleteRecordsRequest
from kafkapy.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkapy.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kafkapy.protocol.messages.elect_leaders import ElectLeadersRequest
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkapy.protocol.messages.join_group import JoinGroupRequest
from kafkapy.protocol.messages.list_groups import ListGroupsRequest
from kafkapy.protocol.messages.offset_commit import OffsetCommitRequest
from kafkapy.protocol.messages.offset_delete import OffsetDeleteRequest
from kafkapy.protocol.messages.offset_fetch import OffsetFetchRequest
from kafkapy.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.record.compression import CompressionType
from kafkapy.record.records_builder import MemoryRecordsBuilder

_MANY = 300_000


class OneRequest(OfOneTopic):
    """Beside a topic of 5,000 partitions."""

    def __init__(self, name: str, version: int, make: Callable[[], Message], times: int = 1) -> None:
        self.name = name
        self._version = version
        self._make = make
        self._times = times

    def load(self, server: Server) -> None:
        with FrameClient(server.port) as client:
            frame = client.frame(self._make(), self._version)
            for _ in range(self._times):
                client.socket.sendall(frame)
                client.receive()


class Storm(Scenario):
    name = "10 clients with 20,000 ApiVersions each, not waiting for answers"
    clients = 10
    requests = 20_000

    def load(self, server: Server) -> None:
        threads = [threading.Thread(target=self._ask, args=(server.port,)) for _ in range(self.clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _ask(self, port: int) -> None:
        with FrameClient(port) as client:
            frames = client.frame(ApiVersionsRequest(), 0) * 100
            for _ in range(self.requests // 100):
                client.socket.sendall(frames)
                for _ in range(100):
                    client.receive()


class LargeGroup(Scenario):
    """Their leader is told the metadata of all."""

    name = "a group of 500 members with 10 KB of metadata each"
    members = 500

    def load(self, server: Server) -> None:
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=bytes(10_000))
        join = JoinGroupRequest(
            group_id="stalls-large-group",
            session_timeout_ms=6_000,
            rebalance_timeout_ms=2_000,
            member_id="",
            protocol_type="consumer",
            protocols=[protocol],
        )
        clients = [FrameClient(server.port) for _ in range(self.members)]
        for client in clients:
            client.socket.sendall(client.frame(join, 3))
        for client in clients:
            client.receive()
        for client in clients:
            client.socket.close()


def _names() -> list[str]:
    return [f"unknown-{n}" for n in range(_MANY)]


def _produce_everywhere() -> ProduceRequest:
    one = batch(values(1, 100))
    data = [ProduceRequest.PartitionProduceData(index=p, records=one) for p in range(PARTITIONS)]
    topic_data = [ProduceRequest.TopicProduceData(name=OfOneTopic.topic, partition_data=data)]
    return ProduceRequest(acks=1, timeout_ms=30_000, topic_data=topic_data)


def _bomb() -> ProduceRequest:
    """Under all default limits while it is compressed."""
    return produce_request(PROBE_TOPIC, batch([bytes(1_000_000)] * 1000, CompressionType.ZSTD))


def _old_messages() -> ProduceRequest:
    """Message format 1, each in a message of its own, as clients before 0.11 send it."""
    messages = []
    for value in values(9_000, 70):
        builder = MemoryRecordsBuilder(magic=1)
        builder.append(1_700_000_000_000, None, value)
        messages.append(builder.build())
    return produce_request(PROBE_TOPIC, b"".join(messages))


def _delete_records() -> DeleteRecordsRequest:
    wanted = [DeleteRecordsRequest.DeleteRecordsPartition(partition_index=p, offset=-1) for p in range(PARTITIONS)]
    topics = [DeleteRecordsRequest.DeleteRecordsTopic(name=OfOneTopic.topic, partitions=wanted)]
    return DeleteRecordsRequest(topics=topics, timeout_ms=30_000)


def _offset_fetch() -> OffsetFetchRequest:
    topic = OffsetFetchRequest.OffsetFetchRequestTopic(name="unknown", partition_indexes=list(range(_MANY)))
    return OffsetFetchRequest(group_id="stalls-0", topics=[topic], require_stable=False)


def _commit(topic: str, partitions: int) -> OffsetCommitRequest:
    wanted = [
        OffsetCommitRequest.OffsetCommitRequestPartition(
            partition_index=p, committed_offset=p, committed_leader_epoch=-1, committed_metadata="metadata"
        )
        for p in range(partitions)
    ]
    topics = [OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=wanted)]
    return OffsetCommitRequest(group_id="stalls-0", generation_id_or_member_epoch=-1, member_id="", topics=topics)


def _offset_delete() -> OffsetDeleteRequest:
    wanted = [OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=p) for p in range(PARTITIONS)]
    topics = [OffsetDeleteRequest.OffsetDeleteRequestTopic(name=OfOneTopic.topic, partitions=wanted)]
    return OffsetDeleteRequest(group_id="stalls-0", topics=topics)


def _ends_of_epochs() -> OffsetForLeaderEpochRequest:
    wanted = [
        OffsetForLeaderEpochRequest.OffsetForLeaderPartition(partition=p, current_leader_epoch=-1, leader_epoch=0)
        for p in range(_MANY)
    ]
    topics = [OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic="unknown", partitions=wanted)]
    return OffsetForLeaderEpochRequest(replica_id=-2, topics=topics)


class ManyGroups(Scenario):
    """They have one offset each."""

    name = "ListGroups and DeleteGroups of 20,000 groups"
    broker = "groups"
    groups = 20_000

    def prepare(self, server: Server) -> None:
        make_topic(server, PROBE_TOPIC, exists=True)
        commit_offsets(server, self.groups, PROBE_TOPIC, 1)

    def load(self, server: Server) -> None:
        with FrameClient(server.port) as client:
            client.ask(ListGroupsRequest(), 4)
            client.ask(DeleteGroupsRequest(groups_names=[f"stalls-{n}" for n in range(self.groups)]), 2)


def scenarios() -> list[Scenario]:
    return [
        Storm(),
        LargeGroup(),
        OneRequest("Produce of a record to each of 5,000 partitions", 7, _produce_everywhere, times=3),
        OneRequest("Produce of 1 GB of zeros in zstd, under all limits", 7, _bomb, times=3),
        OneRequest("Produce of 9,000 messages of format 1", 2, _old_messages, times=5),
        OneRequest("DeleteRecords of 5,000 partitions", 1, _delete_records),
        OneRequest("DescribeLogDirs of all, 3 times", 1, lambda: DescribeLogDirsRequest(topics=None), times=3),
        OneRequest(
            "ElectLeaders of all",
            1,
            lambda: ElectLeadersRequest(election_type=0, topic_partitions=None, timeout_ms=30_000),
        ),
        OneRequest("Metadata of 300,000 unknown topics", 4, lambda: metadata_request(_names())),
        OneRequest(
            "ListOffsets of 300,000 unknown partitions", 1, lambda: list_offsets_request("unknown", range(_MANY), 1)
        ),
        OneRequest(
            "OffsetCommit of 5,000 partitions, 5 times", 7, lambda: _commit(OfOneTopic.topic, PARTITIONS), times=5
        ),
        OneRequest("OffsetCommit of 300,000 unknown partitions", 7, lambda: _commit("unknown", _MANY)),
        OneRequest("OffsetDelete of 5,000 partitions", 0, _offset_delete),
        OneRequest("OffsetForLeaderEpoch of 300,000 unknown partitions", 3, _ends_of_epochs),
        ManyGroups(),
        OneRequest("OffsetFetch of 300,000 unknown partitions", 5, _offset_fetch),
        OneRequest(
            "DescribeGroups of 300,000 unknown groups",
            0,
            lambda: DescribeGroupsRequest(groups=_names(), include_authorized_operations=False),
        ),
        OneRequest(
            "FindCoordinator of 300,000 groups",
            4,
            lambda: FindCoordinatorRequest(key_type=0, coordinator_keys=_names()),
        ),
    ]
