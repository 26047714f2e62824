"""ElectLeaders (API key 43): partitions that need a leader election."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int8, int16, int32, string


class ElectLeadersRequest(Message, api=ApiKey.ELECT_LEADERS):
    election_type: int = int8("1+")
    topic_partitions: list[ElectLeadersRequest.TopicPartitions] | None = array("TopicPartitions", nullable=True)
    timeout_ms: int = int32(default=60000)

    class TopicPartitions(Struct):
        topic: str = string()
        partitions: list[int] = array("int32")


class ElectLeadersResponse(Message, api=ApiKey.ELECT_LEADERS):
    throttle_time_ms: int = int32()
    error_code: int = int16("1+")
    replica_election_results: list[ElectLeadersResponse.ReplicaElectionResult] = array("ReplicaElectionResult")

    class ReplicaElectionResult(Struct):
        topic: str = string()
        partition_result: list[ElectLeadersResponse.PartitionResult] = array("PartitionResult")

    class PartitionResult(Struct):
        partition_id: int = int32()
        error_code: int = int16()
        error_message: str | None = string(nullable=True)
