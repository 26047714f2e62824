"""The controller's requests in the form of older versions, for an older `inter.broker.protocol.version`.

The newest form groups partitions by topic. Older ones have a flat list, each partition with its topic's name, and
StopReplica has one delete flag for all partitions (Kafka's builders of `LeaderAndIsrRequest`, `UpdateMetadataRequest` and
`StopReplicaRequest`).
"""

from __future__ import annotations

from typing import Final

from kafkapy.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafkapy.protocol.messages.stop_replica import StopReplicaRequest
from kafkapy.protocol.messages.update_metadata import UpdateMetadataRequest

_LEADER_AND_ISR_BY_TOPIC: Final = 2
_LEADER_AND_ISR_WITH_RECOVERY_STATE: Final = 6
_UPDATE_METADATA_WITH_END_POINTS: Final = 1
_UPDATE_METADATA_BY_TOPIC: Final = 5
_STOP_REPLICA_BY_TOPIC: Final = 1
STOP_REPLICA_DELETES_BY_PARTITION: Final = 3


def downgrade_leader_and_isr(request: LeaderAndIsrRequest, version: int) -> None:
    """Change the request, with its partition states, to what `version` can say."""
    for topic in request.topic_states:
        for state in topic.partition_states:
            if version < _LEADER_AND_ISR_WITH_RECOVERY_STATE:
                state.leader_recovery_state = 0
            if version < _LEADER_AND_ISR_BY_TOPIC:
                state.topic_name = topic.topic_name
                request.ungrouped_partition_states.append(state)
    if version < _LEADER_AND_ISR_BY_TOPIC:
        request.topic_states = []


def suit_update_metadata(request: UpdateMetadataRequest, version: int) -> None:
    """Change the request, with its partition states and brokers, to what `version` can say."""
    if version < _UPDATE_METADATA_BY_TOPIC:
        for topic in request.topic_states:
            for state in topic.partition_states:
                state.topic_name = topic.topic_name
                request.ungrouped_partition_states.append(state)
        request.topic_states = []
    if version < _UPDATE_METADATA_WITH_END_POINTS:
        for broker in request.live_brokers:
            for end_point in broker.endpoints:
                if end_point.listener == "PLAINTEXT":
                    broker.v0_host, broker.v0_port = end_point.host, end_point.port


def suited_stop_replica(request: StopReplicaRequest, version: int) -> list[StopReplicaRequest]:
    """Return the request in the format of `version`: two requests if one can't both stop and delete."""
    if version >= STOP_REPLICA_DELETES_BY_PARTITION:
        return [request]
    requests = (_stop_replica(request, version, delete) for delete in (True, False))
    return [suited for suited in requests if suited.topics or suited.ungrouped_partitions]


def _stop_replica(request: StopReplicaRequest, version: int, delete: bool) -> StopReplicaRequest:
    suited = StopReplicaRequest(
        controller_id=request.controller_id,
        controller_epoch=request.controller_epoch,
        broker_epoch=request.broker_epoch,
        delete_partitions=delete,
    )
    for topic in request.topic_states:
        indexes = [s.partition_index for s in topic.partition_states if s.delete_partition == delete]
        if version >= _STOP_REPLICA_BY_TOPIC:
            if indexes:
                suited.topics.append(
                    StopReplicaRequest.StopReplicaTopicV1(name=topic.topic_name, partition_indexes=indexes)
                )
        else:
            suited.ungrouped_partitions += [
                StopReplicaRequest.StopReplicaPartitionV0(topic_name=topic.topic_name, partition_index=index)
                for index in indexes
            ]
    return suited
