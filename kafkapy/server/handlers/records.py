"""Handles DeleteRecords and DescribeProducers."""

from __future__ import annotations

from dataclasses import dataclass

from kafkapy.common.acl_types import ACLOperation, ResourceType
from kafkapy.common.topic_names import INTERNAL_TOPICS, reason_invalid
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.network.request import Request
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from kafkapy.protocol.messages.describe_producers import DescribeProducersRequest, DescribeProducersResponse
from kafkapy.runtime.clock import Clock
from kafkapy.runtime.completion import Completion
from kafkapy.server.authorizer import Authorizer
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.server.purgatory.purgatory import DelayedOperation
from kafkapy.server.replication.replica_manager import ReplicaManager

PartitionResult = DeleteRecordsResponse.DeleteRecordsPartitionResult


class _DelayedDeleteRecords(DelayedOperation):
    """Waits until the low watermark of every partition has reached the requested offset (`DelayedDeleteRecords`)."""

    __slots__ = ("_done", "_pending", "_replica_manager")

    def __init__(
        self,
        delay_ms: int,
        replica_manager: ReplicaManager,
        pending: dict[TopicPartition, tuple[int, DeleteRecordsResponse.DeleteRecordsPartitionResult]],
        done: Completion[None],
    ) -> None:
        super().__init__(delay_ms)
        self._replica_manager = replica_manager
        self._pending = pending
        self._done = done

    def try_complete(self) -> bool:
        alive = self._replica_manager.metadata_cache.alive_broker_ids()
        for name, (wanted, result) in list(self._pending.items()):
            try:
                low = self._replica_manager.get_partition(name).low_watermark(alive)
            except KafkaError as error:
                result.error_code, result.low_watermark = error.error.code, -1
                del self._pending[name]
                continue
            if low >= wanted:
                result.error_code, result.low_watermark = 0, low
                del self._pending[name]
        return not self._pending and self.force_complete()

    def on_complete(self) -> None:
        self._done.set_result(None)


@dataclass(eq=False)
class RecordsHandler:
    """Changes and describes the logs of partitions led by this broker."""

    _metadata_cache: MetadataCache
    _replica_manager: ReplicaManager
    _authorizer: Authorizer
    _clock: Clock

    async def handle_delete_records(self, request: Request) -> DeleteRecordsResponse:
        """Increment log start offsets (KIP-107); respond when all replicas have done so, or after the time-out."""
        body: DeleteRecordsRequest = request.body
        response = DeleteRecordsResponse()
        pending: dict[TopicPartition, tuple[int, DeleteRecordsResponse.DeleteRecordsPartitionResult]] = {}
        for topic in body.topics:
            allowed = self._authorizer.authorize(request.context, ACLOperation.DELETE, ResourceType.TOPIC, topic.name)
            answer = DeleteRecordsResponse.DeleteRecordsTopicResult(name=topic.name)
            response.topics.append(answer)
            for wanted in topic.partitions:
                await self._clock.checkpoint()
                name = TopicPartition(topic.name, wanted.partition_index)
                result = PartitionResult(partition_index=name.partition, low_watermark=-1)
                answer.partitions.append(result)
                try:
                    if not allowed:
                        raise KafkaError(Errors.TOPIC_AUTHORIZATION_FAILED)
                    offset = self._delete_records(name, wanted.offset, result)
                except KafkaError as error:
                    result.error_code = error.error.code
                else:
                    if result.low_watermark < offset:
                        result.error_code = Errors.REQUEST_TIMED_OUT.code
                        pending[name] = (offset, result)
        if pending:
            done: Completion[None] = Completion()
            operation = _DelayedDeleteRecords(body.timeout_ms, self._replica_manager, pending, done)
            self._replica_manager.delete_records_purgatory.try_complete_else_watch(operation, list(pending))
            await done
        return response

    def _delete_records(
        self, name: TopicPartition, offset: int, result: DeleteRecordsResponse.DeleteRecordsPartitionResult
    ) -> int:
        """Increment the log start offset and return it; set the low watermark in `result`."""
        if not self._metadata_cache.contains(*name):
            raise KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION)
        if name.topic in INTERNAL_TOPICS:
            raise KafkaError(Errors.INVALID_TOPIC_EXCEPTION)
        partition = self._replica_manager.get_partition(name)
        log_start = partition.delete_records(offset)
        self._replica_manager.role_changed(name)  # notifies followers' fetches of the log start
        result.low_watermark = partition.low_watermark(self._metadata_cache.alive_broker_ids())
        return log_start

    async def handle_describe_producers(self, request: Request) -> DescribeProducersResponse:
        """Return the active producers of partitions (KIP-664)."""
        body: DescribeProducersRequest = request.body
        topics = []
        for topic in body.topics:
            await self._clock.checkpoint()
            partitions = []
            for index in topic.partition_indexes:
                await self._clock.checkpoint()
                answer = DescribeProducersResponse.PartitionResponse(partition_index=index)
                partitions.append(answer)
                try:
                    self._describe_producers(request, TopicPartition(topic.name, index), answer)
                except KafkaError as error:
                    answer.error_code, answer.error_message = error.error.code, error.message
            topics.append(DescribeProducersResponse.TopicResponse(name=topic.name, partitions=partitions))
        return DescribeProducersResponse(topics=topics)

    def _describe_producers(
        self, request: Request, name: TopicPartition, answer: DescribeProducersResponse.PartitionResponse
    ) -> None:
        if not self._authorizer.authorize(request.context, ACLOperation.READ, ResourceType.TOPIC, name.topic):
            raise KafkaError(Errors.TOPIC_AUTHORIZATION_FAILED)
        if reason := reason_invalid(name.topic):
            raise KafkaError(Errors.INVALID_TOPIC_EXCEPTION, reason)
        if not self._metadata_cache.contains_topic(name.topic):
            raise KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION)
        try:
            log = self._replica_manager.get_partition(name).leader_log()
        except KafkaError as error:
            answer.error_code = error.error.code  # as in Kafka, a partition's error has no message
            return
        for state in log.active_producers():
            answer.active_producers.append(
                DescribeProducersResponse.ProducerState(
                    producer_id=state.producer_id,
                    producer_epoch=state.producer_epoch,
                    last_sequence=state.last_seq,
                    last_timestamp=state.last_timestamp,
                    coordinator_epoch=state.coordinator_epoch,
                    current_txn_start_offset=-1
                    if state.current_txn_first_offset is None
                    else state.current_txn_first_offset,
                )
            )
