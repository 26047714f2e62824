"""AlterReplicaLogDirs (API key 34): replicas to move to another log directory."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int16, int32, string


class AlterReplicaLogDirsRequest(Message, api=ApiKey.ALTER_REPLICA_LOG_DIRS):
    dirs: list[AlterReplicaLogDirsRequest.AlterReplicaLogDir] = array("AlterReplicaLogDir")

    class AlterReplicaLogDir(Struct):
        path: str = string()
        topics: list[AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic] = array("AlterReplicaLogDirTopic")

    class AlterReplicaLogDirTopic(Struct):
        name: str = string()
        partitions: list[int] = array("int32")


class AlterReplicaLogDirsResponse(Message, api=ApiKey.ALTER_REPLICA_LOG_DIRS):
    throttle_time_ms: int = int32()
    results: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult] = array("AlterReplicaLogDirTopicResult")

    class AlterReplicaLogDirTopicResult(Struct):
        topic_name: str = string()
        partitions: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult] = array(
            "AlterReplicaLogDirPartitionResult"
        )

    class AlterReplicaLogDirPartitionResult(Struct):
        partition_index: int = int32()
        error_code: int = int16()
