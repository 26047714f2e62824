"""Collects the requests to brokers for one state change (Kafka's `ControllerBrokerRequestBatch`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Protocol

from kafkapy.common import metadata_version
from kafkapy.common.broker import Broker
from kafkapy.common.leader_and_isr import LEADER_DURING_DELETE, LeaderIsrAndControllerEpoch
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.controller import old_requests
from kafkapy.controller.controller_config import ControllerConfig
from kafkapy.controller.controller_context import ControllerContext
from kafkapy.controller.states import PartitionAndReplica
from kafkapy.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from kafkapy.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from kafkapy.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse

log = logging.getLogger("kafkapy.controller")

SECURITY_PROTOCOL_IDS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}


class RequestSender(Protocol):
    """`ControllerChannelManager.send_request`."""

    def __call__(self, broker_id: int, request: Any, version: int, callback: Callable[[Any, int], object]) -> None: ...


class ResponseHandler(Protocol):
    """The handler of responses. It is called on the sender's thread, so it only enqueues events."""

    def leader_and_isr_response_received(self, response: LeaderAndIsrResponse, broker_id: int) -> None: ...

    def update_metadata_response_received(self, response: UpdateMetadataResponse, broker_id: int) -> None: ...

    def stop_replica_response_received(
        self, response: StopReplicaResponse, broker_id: int, to_delete: frozenset[TopicPartition]
    ) -> None:
        """`to_delete`: the partitions that the request asked to delete, not only to stop."""
        ...


class ControllerBrokerRequestBatch:
    """The requests of one state change: at most one of each kind for each broker.

    It is created, filled and sent within one step of the controller. The order is LeaderAndIsr, UpdateMetadata,
    StopReplica: a broker knows its role before clients do, and stops replicas last.

    The versions are those of `inter.broker.protocol.version`: the controller does not query brokers' versions, so
    during a rolling upgrade every broker gets this version.
    """

    def __init__(
        self,
        config: ControllerConfig,
        context: ControllerContext,
        send_request: RequestSender,
        handler: ResponseHandler,
    ) -> None:
        self._config = config
        self._context = context
        self._send_request = send_request
        self._handler = handler
        self._leader_and_isr: dict[int, dict[TopicPartition, LeaderAndIsrRequest.LeaderAndIsrPartitionState]] = {}
        self._stop_replica: dict[int, dict[TopicPartition, StopReplicaRequest.StopReplicaPartitionState]] = {}
        self._update_metadata_brokers: set[int] = set()
        self._update_metadata: dict[TopicPartition, UpdateMetadataRequest.UpdateMetadataPartitionState] = {}

    # --- filling --------------------------------------------------------------------------------------------------

    def add_leader_and_isr_request_for_brokers(
        self, broker_ids: Iterable[int], partition: TopicPartition, state: LeaderIsrAndControllerEpoch, is_new: bool
    ) -> None:
        """Send the partition's state to the brokers, and its metadata to all live brokers.

        `is_new`: a broker may create the replica in any live log directory, even if another one, which might have it,
        is offline.
        """
        assignment = self._context.replica_assignment(partition)
        leader_and_isr = state.leader_and_isr
        for broker_id in broker_ids:
            if broker_id < 0:
                continue
            states = self._leader_and_isr.setdefault(broker_id, {})
            known = states.get(partition)
            states[partition] = LeaderAndIsrRequest.LeaderAndIsrPartitionState(
                partition_index=partition.partition,
                controller_epoch=state.controller_epoch,
                leader=leader_and_isr.leader,
                leader_epoch=leader_and_isr.leader_epoch,
                isr=list(leader_and_isr.isr),
                partition_epoch=leader_and_isr.partition_epoch,
                replicas=list(assignment.replicas),
                adding_replicas=list(assignment.adding_replicas),
                removing_replicas=list(assignment.removing_replicas),
                is_new=is_new or (known is not None and known.is_new),
                leader_recovery_state=int(leader_and_isr.leader_recovery_state),
            )
        self.add_update_metadata_request_for_brokers(self._context.live_or_shutting_down_broker_ids, (partition,))

    def add_stop_replica_request(self, replica: PartitionAndReplica, delete: bool) -> None:
        if replica.replica < 0:
            return
        partition = replica.topic_partition
        states = self._stop_replica.setdefault(replica.replica, {})
        known = states.get(partition)
        states[partition] = StopReplicaRequest.StopReplicaPartitionState(
            partition_index=partition.partition,
            leader_epoch=self._context.leader_epoch(partition),
            delete_partition=delete or (known is not None and known.delete_partition),
        )

    def add_update_metadata_request_for_brokers(
        self, broker_ids: Iterable[int], partitions: Iterable[TopicPartition] = ()
    ) -> None:
        """Send the brokers the live brokers, and the current state of these partitions."""
        self._update_metadata_brokers.update(broker_ids)
        context = self._context
        for partition in partitions:
            state = context.leadership.get(partition)
            if state is None:
                log.info("Partition %s has no leader yet: no UpdateMetadata for it", partition)
                continue
            leader_and_isr = state.leader_and_isr
            deleted = partition.topic in context.topics_to_be_deleted
            replicas = context.replica_assignment(partition).replicas
            self._update_metadata[partition] = UpdateMetadataRequest.UpdateMetadataPartitionState(
                partition_index=partition.partition,
                controller_epoch=state.controller_epoch,
                leader=LEADER_DURING_DELETE if deleted else leader_and_isr.leader,
                leader_epoch=0 if deleted else leader_and_isr.leader_epoch,
                isr=list(leader_and_isr.isr),
                zk_version=0 if deleted else leader_and_isr.partition_epoch,
                replicas=list(replicas),
                offline_replicas=[r for r in replicas if not context.is_replica_online(r, partition)],
            )

    # --- sending --------------------------------------------------------------------------------------------------

    def send_requests_to_brokers(self) -> None:
        """Queue all requests. Brokers that are not alive get none."""
        self._send_leader_and_isr_requests()
        self._send_update_metadata_requests()
        self._send_stop_replica_requests()

    def _send_leader_and_isr_requests(self) -> None:
        for broker_id, states in self._leader_and_isr.items():
            epoch = self._context.live_broker_epochs.get(broker_id)
            if epoch is None:
                continue
            leaders = {state.leader for state in states.values()}
            become_leader = sum(state.leader == broker_id for state in states.values())
            log.info(
                "Sending LeaderAndIsr request to broker %d with %d become-leader and %d become-follower partitions",
                broker_id,
                become_leader,
                len(states) - become_leader,
            )
            request = LeaderAndIsrRequest(
                controller_id=self._config.broker_id,
                controller_epoch=self._context.epoch,
                broker_epoch=epoch,
                topic_states=[
                    LeaderAndIsrRequest.LeaderAndIsrTopicState(
                        topic_name=topic,
                        topic_id=self._context.topic_ids.get(topic, ZERO_UUID),
                        partition_states=topic_states,
                    )
                    for topic, topic_states in _by_topic(states).items()
                ],
                live_leaders=[
                    self._live_leader(broker)
                    for broker in self._context.live_or_shutting_down_brokers
                    if broker.id in leaders
                ],
            )
            version = metadata_version.leader_and_isr_version(self._config.inter_broker_protocol_version)
            old_requests.downgrade_leader_and_isr(request, version)
            self._send_request(broker_id, request, version, self._handler.leader_and_isr_response_received)

    def _live_leader(self, broker: Broker) -> LeaderAndIsrRequest.LeaderAndIsrLiveLeader:
        end_point = broker.end_point(self._config.inter_broker_listener_name)
        if end_point is None:
            return LeaderAndIsrRequest.LeaderAndIsrLiveLeader(broker_id=broker.id, host_name="", port=-1)
        return LeaderAndIsrRequest.LeaderAndIsrLiveLeader(
            broker_id=broker.id, host_name=end_point.host or "", port=end_point.port
        )

    def _send_update_metadata_requests(self) -> None:
        brokers = [b for b in self._context.live_or_shutting_down_broker_ids if b in self._update_metadata_brokers]
        if not brokers:
            return
        log.info("Sending UpdateMetadata request to brokers %s for %d partitions", brokers, len(self._update_metadata))
        topic_states = [
            UpdateMetadataRequest.UpdateMetadataTopicState(
                topic_name=topic,
                topic_id=self._context.topic_ids.get(topic, ZERO_UUID),
                partition_states=partition_states,
            )
            for topic, partition_states in _by_topic(self._update_metadata).items()
        ]
        live_brokers = [_live_broker(broker) for broker in self._context.live_or_shutting_down_brokers]
        version = metadata_version.update_metadata_version(self._config.inter_broker_protocol_version)
        for broker_id in brokers:
            request = UpdateMetadataRequest(
                controller_id=self._config.broker_id,
                controller_epoch=self._context.epoch,
                broker_epoch=self._context.live_broker_epochs[broker_id],
                topic_states=topic_states,
                live_brokers=live_brokers,
            )
            old_requests.suit_update_metadata(request, version)
            self._send_request(broker_id, request, version, self._handler.update_metadata_response_received)

    def _send_stop_replica_requests(self) -> None:
        for broker_id, states in self._stop_replica.items():
            epoch = self._context.live_broker_epochs.get(broker_id)
            if epoch is None:
                continue
            to_delete = frozenset(partition for partition, state in states.items() if state.delete_partition)
            log.info(
                "Sending StopReplica request to broker %d for %d replicas, %d of them to be deleted",
                broker_id,
                len(states),
                len(to_delete),
            )
            request = StopReplicaRequest(
                controller_id=self._config.broker_id,
                controller_epoch=self._context.epoch,
                broker_epoch=epoch,
                topic_states=[
                    StopReplicaRequest.StopReplicaTopicState(topic_name=topic, partition_states=topic_states)
                    for topic, topic_states in _by_topic(states).items()
                ],
            )
            version = metadata_version.stop_replica_version(self._config.inter_broker_protocol_version)
            for suited in old_requests.suited_stop_replica(request, version):
                deletes = suited.delete_partitions or version >= old_requests.STOP_REPLICA_DELETES_BY_PARTITION
                callback = partial(
                    self._handler.stop_replica_response_received, to_delete=to_delete if deletes else frozenset()
                )
                self._send_request(broker_id, suited, version, callback)


def _by_topic(states: dict[TopicPartition, Any]) -> dict[str, list[Any]]:
    topics: dict[str, list[Any]] = {}
    for partition, state in states.items():
        topics.setdefault(partition.topic, []).append(state)
    return topics


def _live_broker(broker: Broker) -> UpdateMetadataRequest.UpdateMetadataBroker:
    return UpdateMetadataRequest.UpdateMetadataBroker(
        id=broker.id,
        endpoints=[
            UpdateMetadataRequest.UpdateMetadataEndpoint(
                port=end_point.port,
                host=end_point.host or "",
                listener=end_point.listener_name,
                security_protocol=SECURITY_PROTOCOL_IDS[end_point.security_protocol],
            )
            for end_point in broker.end_points
        ],
        rack=broker.rack,
    )
