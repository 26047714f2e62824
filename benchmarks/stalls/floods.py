"""Each of the other APIs that take a list: a request with as many entries as a client may send, all of them for nothing.

Nothing of what is named exists or is allowed: what is measured is what it costs to read it, to refuse all of it, and to say so.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.brokers import Server
from benchmarks.stalls.client import MB, FrameClient, batch, fetch_request, values
from benchmarks.stalls.measure import Scenario
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kafkapy.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kafkapy.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kafkapy.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from kafkapy.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kafkapy.protocol.messages.create_partitions import CreatePartitionsRequest
from kafkapy.protocol.messages.create_topics import CreateTopicsRequest
from kafkapy.protocol.messages.delete_groups import DeleteGroupsRequest
from kafkapy.protocol.messages.delete_records import DeleteRecordsRequest
from kafkapy.protocol.messages.delete_topics import DeleteTopicsRequest
from kafkapy.protocol.messages.describe_configs import DescribeConfigsRequest
from kafkapy.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kafkapy.protocol.messages.describe_producers import DescribeProducersRequest
from kafkapy.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafkapy.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from kafkapy.protocol.messages.elect_leaders import ElectLeadersRequest
from kafkapy.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafkapy.protocol.messages.join_group import JoinGroupRequest
from kafkapy.protocol.messages.leave_group import LeaveGroupRequest
from kafkapy.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from kafkapy.protocol.messages.metadata import MetadataRequest
from kafkapy.protocol.messages.offset_delete import OffsetDeleteRequest
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.protocol.messages.sync_group import SyncGroupRequest
from kafkapy.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kafkapy.protocol.messages.write_txn_markers import WriteTxnMarkersRequest

MANY = 300_000
_FEWER = 100_000
"""Of what takes more bytes."""
_TOPIC = "unknown"
_TOPIC_TYPE = 2


class Flood(Scenario):
    """One request, and its answer: TimeoutError or ConnectionError if there is none."""

    broker = "floods"

    def __init__(self, name: str, version: int, make: Callable[[], Message]) -> None:
        self.name = name
        self._version = version
        self._make = make

    def load(self, server: Server) -> None:
        with FrameClient(server.port) as client:
            frame = client.frame(self._make(), self._version)
            client.socket.sendall(frame)
            client.receive()


def _indexes() -> list[int]:
    return list(range(MANY))


def _names(many: int = MANY) -> list[str]:
    return [f"unknown-{n}" for n in range(many)]


def _describe_configs() -> Message:
    resource = DescribeConfigsRequest.DescribeConfigsResource
    return DescribeConfigsRequest(
        resources=[
            resource(resource_type=_TOPIC_TYPE, resource_name=n, configuration_keys=None) for n in _names(_FEWER)
        ]
    )


def _alter_configs() -> Message:
    config = IncrementalAlterConfigsRequest.AlterableConfig(name="retention.ms", config_operation=0, value="1")
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    return IncrementalAlterConfigsRequest(
        resources=[resource(resource_type=_TOPIC_TYPE, resource_name=n, configs=[config]) for n in _names(_FEWER)]
    )


def _create_topics() -> Message:
    topic = CreateTopicsRequest.CreatableTopic
    return CreateTopicsRequest(
        topics=[topic(name=f"bad name {n}", num_partitions=1, replication_factor=1) for n in range(_FEWER)]
    )


def _create_one_topic() -> Message:
    assignment = CreateTopicsRequest.CreatableReplicaAssignment
    topic = CreateTopicsRequest.CreatableTopic(
        name="stalls-unassignable",
        num_partitions=-1,
        replication_factor=-1,
        assignments=[assignment(partition_index=n + 1, broker_ids=[0]) for n in range(_FEWER)],
    )
    return CreateTopicsRequest(topics=[topic])


def _create_partitions() -> Message:
    topic = CreatePartitionsRequest.CreatePartitionsTopic
    return CreatePartitionsRequest(
        topics=[topic(name=n, count=5, assignments=None) for n in _names(_FEWER)], timeout_ms=30_000
    )


def _txn_offset_commit() -> Message:
    partition = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition
    topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(
        name=_TOPIC, partitions=[partition(partition_index=n, committed_offset=1) for n in range(MANY)]
    )
    return TxnOffsetCommitRequest(
        transactional_id="stalls", group_id="stalls", producer_id=1, producer_epoch=0, topics=[topic]
    )


def _add_partitions() -> Message:
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="stalls",
        v3_and_below_topics=[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=_TOPIC, partitions=_indexes())],
    )


def _reassign() -> Message:
    partition = AlterPartitionReassignmentsRequest.ReassignablePartition
    topic = AlterPartitionReassignmentsRequest.ReassignableTopic(
        name=_TOPIC, partitions=[partition(partition_index=n, replicas=[0]) for n in range(MANY)]
    )
    return AlterPartitionReassignmentsRequest(topics=[topic])


def _alter_log_dirs() -> Message:
    topic = AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic(name=_TOPIC, partitions=_indexes())
    return AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDirsRequest.AlterReplicaLogDir(path="/x", topics=[topic])])


def _leave() -> Message:
    member = LeaveGroupRequest.MemberIdentity
    return LeaveGroupRequest(group_id="stalls", members=[member(member_id=name) for name in _names()])


def _delete_records() -> Message:
    partition = DeleteRecordsRequest.DeleteRecordsPartition
    topic = DeleteRecordsRequest.DeleteRecordsTopic(
        name=_TOPIC, partitions=[partition(partition_index=n, offset=1) for n in range(MANY)]
    )
    return DeleteRecordsRequest(topics=[topic], timeout_ms=30_000)


def _offset_delete() -> Message:
    partition = OffsetDeleteRequest.OffsetDeleteRequestPartition
    topic = OffsetDeleteRequest.OffsetDeleteRequestTopic(
        name=_TOPIC, partitions=[partition(partition_index=n) for n in range(MANY)]
    )
    return OffsetDeleteRequest(group_id="stalls", topics=[topic])


def _alter_quotas() -> Message:
    request = AlterClientQuotasRequest
    ops = [request.OpData(key="no_such_quota", value=1.0)]
    return request(
        entries=[
            request.EntryData(entity=[request.EntityData(entity_type="user", entity_name=n)], ops=ops)
            for n in _names(_FEWER)
        ]
    )


def _alter_scram() -> Message:
    deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion
    return AlterUserScramCredentialsRequest(deletions=[deletion(name=n, mechanism=9) for n in _names(_FEWER)])


def _describe_scram() -> Message:
    user = DescribeUserScramCredentialsRequest.UserName
    return DescribeUserScramCredentialsRequest(users=[user(name=n) for n in _names(_FEWER)])


def _markers() -> Message:
    topic = WriteTxnMarkersRequest.WritableTxnMarkerTopic(name=_TOPIC, partition_indexes=_indexes())
    return WriteTxnMarkersRequest(
        markers=[WriteTxnMarkersRequest.WritableTxnMarker(producer_id=1, producer_epoch=0, topics=[topic])]
    )


def _join() -> Message:
    protocol = JoinGroupRequest.JoinGroupRequestProtocol
    return JoinGroupRequest(
        group_id="stalls-protocols",
        session_timeout_ms=6_000,
        rebalance_timeout_ms=2_000,
        protocol_type="consumer",
        protocols=[protocol(name=n, metadata=b"m") for n in _names()],
    )


def _sync() -> Message:
    assignment = SyncGroupRequest.SyncGroupRequestAssignment
    return SyncGroupRequest(
        group_id="stalls", generation_id=1, assignments=[assignment(member_id=n, assignment=b"a") for n in _names()]
    )


def _produce() -> Message:
    one = batch(values(1, 10))
    data = [ProduceRequest.PartitionProduceData(index=n, records=one) for n in range(_FEWER)]
    return ProduceRequest(
        acks=1, timeout_ms=30_000, topic_data=[ProduceRequest.TopicProduceData(name=_TOPIC, partition_data=data)]
    )


def _metadata_by_id() -> Message:
    named = [MetadataRequest.MetadataRequestTopic(topic_id=n.to_bytes(16), name=None) for n in range(1, MANY)]
    return MetadataRequest(topics=named, allow_auto_topic_creation=False)


def _describe_producers() -> Message:
    return DescribeProducersRequest(
        topics=[DescribeProducersRequest.TopicRequest(name=_TOPIC, partition_indexes=_indexes())]
    )


def _list_reassignments() -> Message:
    topic = ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics(
        name=_TOPIC, partition_indexes=_indexes()
    )
    return ListPartitionReassignmentsRequest(topics=[topic])


def _elect() -> Message:
    topic = ElectLeadersRequest.TopicPartitions(topic=_TOPIC, partitions=_indexes())
    return ElectLeadersRequest(election_type=0, topic_partitions=[topic])


def _describe_log_dirs() -> Message:
    topic = DescribeLogDirsRequest.DescribableLogDirTopic(topic=_TOPIC, partitions=_indexes())
    return DescribeLogDirsRequest(topics=[topic])


def scenarios() -> list[Scenario]:
    return [
        Flood("Fetch of 300,000 unknown partitions", 11, lambda: fetch_request(_TOPIC, 0, MB, range(MANY))),
        Flood("Produce to 100,000 unknown partitions", 7, _produce),
        Flood("Metadata of 300,000 unknown ids", 12, _metadata_by_id),
        Flood("DescribeConfigs of 100,000 unknown topics", 1, _describe_configs),
        Flood("IncrementalAlterConfigs of 100,000 unknown topics", 0, _alter_configs),
        Flood("CreateTopics of 100,000 invalid names", 3, _create_topics),
        Flood("CreateTopics of a topic with 100,000 assignments", 3, _create_one_topic),
        Flood("CreatePartitions of 100,000 unknown topics", 1, _create_partitions),
        Flood(
            "DeleteTopics of 300,000 unknown names",
            4,
            lambda: DeleteTopicsRequest(topic_names=_names(), timeout_ms=30_000),
        ),
        Flood("DeleteRecords of 300,000 unknown partitions", 1, _delete_records),
        Flood("DescribeProducers of 300,000 unknown partitions", 0, _describe_producers),
        Flood(
            "DescribeTransactions of 300,000 unknown ids",
            0,
            lambda: DescribeTransactionsRequest(transactional_ids=_names()),
        ),
        Flood("AddPartitionsToTxn of 300,000 unknown partitions", 1, _add_partitions),
        Flood("TxnOffsetCommit of 300,000 unknown partitions", 2, _txn_offset_commit),
        Flood("WriteTxnMarkers of 300,000 unknown partitions", 0, _markers),
        Flood("AlterPartitionReassignments of 300,000 unknown partitions", 0, _reassign),
        Flood("ListPartitionReassignments of 300,000 unknown partitions", 0, _list_reassignments),
        Flood("ElectLeaders of 300,000 unknown partitions", 1, _elect),
        Flood("DescribeLogDirs of 300,000 unknown partitions", 1, _describe_log_dirs),
        Flood("AlterReplicaLogDirs of 300,000 unknown partitions", 1, _alter_log_dirs),
        Flood("OffsetDelete of 300,000 unknown partitions", 0, _offset_delete),
        Flood("LeaveGroup of 300,000 unknown members", 3, _leave),
        Flood("JoinGroup with 300,000 protocols", 3, _join),
        Flood("SyncGroup with 300,000 assignments", 2, _sync),
        Flood("DeleteGroups of 300,000 unknown groups", 1, lambda: DeleteGroupsRequest(groups_names=_names())),
        Flood("AlterClientQuotas of 100,000 users", 0, _alter_quotas),
        Flood("AlterUserScramCredentials of 100,000 users", 0, _alter_scram),
        Flood("DescribeUserScramCredentials of 100,000 users", 0, _describe_scram),
    ]
