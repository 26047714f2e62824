"""The controller's interface for the rest of the broker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from kafkapy.common.replica_assignment import ReplicaAssignment
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.wire_enums import ElectionType
from kafkapy.protocol.errors import KafkaError
from kafkapy.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from kafkapy.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from kafkapy.protocol.messages.update_features import UpdateFeaturesRequest


class Controller(Protocol):
    """The methods of `KafkaController` that handlers call.

    Those with a callback run on the controller's thread, which iterates over the arguments once and passes the result
    to the callback.
    """

    @property
    def is_active(self) -> bool: ...

    def is_topic_queued_for_deletion(self, topic: str) -> bool: ...

    def alter_partition(
        self, request: AlterPartitionRequest, version: int, callback: Callable[[AlterPartitionResponse], object]
    ) -> None: ...

    def controlled_shutdown(
        self, broker_id: int, broker_epoch: int, callback: Callable[[set[TopicPartition] | KafkaError], object]
    ) -> None: ...

    def elect_leaders(
        self,
        partitions: Iterable[TopicPartition],
        election_type: ElectionType,
        callback: Callable[[dict[TopicPartition, KafkaError | int] | KafkaError], object],
    ) -> None: ...

    def alter_partition_reassignments(
        self,
        reassignments: Iterable[tuple[TopicPartition, Sequence[int] | None]],
        callback: Callable[[dict[TopicPartition, KafkaError | None] | KafkaError], object],
    ) -> None: ...

    def list_partition_reassignments(
        self,
        partitions: Iterable[TopicPartition] | None,
        callback: Callable[[dict[TopicPartition, ReplicaAssignment] | KafkaError], object],
    ) -> None: ...

    def allocate_producer_ids(
        self, request: AllocateProducerIdsRequest, callback: Callable[[AllocateProducerIdsResponse], object]
    ) -> None: ...

    def update_features(
        self,
        request: UpdateFeaturesRequest,
        version: int,
        callback: Callable[[dict[str, KafkaError] | KafkaError], object],
    ) -> None: ...
