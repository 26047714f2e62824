"""Objects that the parts of the controller share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.controller.channel_manager import ControllerChannelManager
from kafkapy.controller.controller_config import ControllerConfig
from kafkapy.controller.controller_context import ControllerContext
from kafkapy.controller.event_manager import ControllerEvent, ControllerEventManager
from kafkapy.controller.partition_state_machine import PartitionStateMachine
from kafkapy.controller.replica_state_machine import ReplicaStateMachine
from kafkapy.controller.request_batch import ControllerBrokerRequestBatch
from kafkapy.controller.topic_deletion_manager import TopicDeletionManager
from kafkapy.zk.kafka_zk_client import KafkaZkClient

NO_CONTROLLER = -1


@dataclass(eq=False)
class ControllerCore:
    """The objects that all parts use; a part's own state is in the part.

    Only the controller thread accesses it, except for `active_controller_id` and `put`.
    """

    config: ControllerConfig
    context: ControllerContext
    zk_client: KafkaZkClient
    events: ControllerEventManager
    channel_manager: ControllerChannelManager
    new_batch: Callable[[], ControllerBrokerRequestBatch]
    partition_state_machine: PartitionStateMachine
    replica_state_machine: ReplicaStateMachine
    topic_deletion: TopicDeletionManager
    active_controller_id: int = NO_CONTROLLER

    @property
    def is_active(self) -> bool:
        return self.active_controller_id == self.config.broker_id

    def put(self, name: str, process: Callable[[], object]) -> None:
        """Queue an event for the active controller; it is ignored if this broker is not the controller then."""
        self.events.put(ControllerEvent(name, lambda: process() if self.is_active else None))

    def send_update_metadata(self, broker_ids: Iterable[int], partitions: Iterable[TopicPartition] = ()) -> None:
        """Send these brokers an UpdateMetadata with the live brokers and these partitions."""
        batch = self.new_batch()
        batch.add_update_metadata_request_for_brokers(broker_ids, partitions)
        batch.send_requests_to_brokers()

    def send_update_metadata_to_all(self, partitions: Iterable[TopicPartition] = ()) -> None:
        self.send_update_metadata(self.context.live_or_shutting_down_broker_ids, partitions)
