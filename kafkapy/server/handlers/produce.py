"""Produce (KIP-98 and before): from the request's bytes to the log. The first of the two hot paths."""

from __future__ import annotations

import logging
from struct import Struct
from typing import Final

from kafkapy.clients.metadata import Node
from kafkapy.common.limits import MAX_INT
from kafkapy.common.topic_names import INTERNAL_TOPICS
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log_validator import InvalidProduceRequest, RecordValidationError
from kafkapy.network.request import Request
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkapy.record.batches import batches
from kafkapy.record.record_batch import LOG_OVERHEAD, MIN_RECORD_SIZE, TRANSACTIONAL_MASK
from kafkapy.server.authorizer import Authorizer
from kafkapy.server.fetch.current_leader import current_leader
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.server.replication.delayed_produce import PendingAppend
from kafkapy.server.replication.replica_manager import ReplicaManager

log = logging.getLogger("kafkapy.server.KafkaApis")

PartitionResponse = ProduceResponse.PartitionProduceResponse
_produce_response: Final = ProduceResponse.maker
_topic_response: Final = ProduceResponse.TopicProduceResponse.maker
_partition_response: Final = PartitionResponse.maker
_VALID_ACKS: Final = (-1, 0, 1)
_ADMIN_CLIENT_ID: Final = "__admin_client"
_FIRST_WITH_CURRENT_LEADER: Final = 10
# length, magic, attributes; between them the base offset, the leader epoch and the CRC are left out.
_START_OF_BATCH: Final = Struct(">8xi4xb4xh").unpack_from
_START_OF_BATCH_SIZE: Final = 23
_LEAST_LENGTH: Final = MIN_RECORD_SIZE
_MOST_LENGTH: Final = MAX_INT - LOG_OVERHEAD
_ERRORS_OF_THE_PARTITION: Final = frozenset(
    (
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.MESSAGE_TOO_LARGE,
        Errors.RECORD_LIST_TOO_LARGE,
        Errors.CORRUPT_MESSAGE,
        Errors.KAFKA_STORAGE_ERROR,
    )
)


class ProduceHandler:
    """Appends what producers send; `handle` is on the hot path."""

    def __init__(
        self,
        replica_manager: ReplicaManager,
        authorizer: Authorizer,
        metadata_cache: MetadataCache,
    ) -> None:
        self._replica_manager = replica_manager
        self._authorizer = authorizer
        self._metadata_cache = metadata_cache

    def handle(self, request: Request) -> ProduceResponse | None:
        """Append each partition's records; answer now, or with acks=all when they are committed."""
        body: ProduceRequest = request.body
        acks = body.acks
        version = request.api_version
        if _has_transactional_records(body):
            self._check_transactional(request)
        replica_manager = self._replica_manager
        topics: list[ProduceResponse.TopicProduceResponse] = []
        written: list[TopicPartition] = []
        pending: list[tuple[PendingAppend, ProduceResponse.PartitionProduceResponse]] = []
        failed = False
        for topic_data in body.topic_data:
            topic = topic_data.name
            answers: list[ProduceResponse.PartitionProduceResponse] = []
            refusal = self._refusal(request, topic, acks)
            for data in topic_data.partition_data:
                partition = replica_manager.name_of(topic, data.index)
                if refusal is not None:
                    answers.append(self._refused(partition, refusal))
                    failed = True
                    continue
                try:
                    info = replica_manager.append_to_local_log(partition, data.records, acks, api_version=version)
                except Exception as error:
                    answers.append(self._failure(partition, error))
                    failed = True
                    continue
                answer: PartitionResponse = _partition_response(
                    data.index, 0, info.first_offset, info.log_append_time, info.log_start_offset
                )
                answers.append(answer)
                written.append(partition)
                if acks == -1 and not replica_manager.is_committed(partition, info.last_offset + 1):
                    pending.append((PendingAppend(partition, info.last_offset + 1), answer))
            topics.append(_topic_response(topic, answers))
        if pending:
            self._answer_when_committed(request, topics, pending)
        elif acks == 0:
            _finish_without_answer(request, failed)
        else:
            request.respond(self._response(request, topics, failed))
        replica_manager.appended(*written)
        return None

    def _check_transactional(self, request: Request) -> None:
        """The batches say that they are transactional, so the sender must be allowed to (CVE-2018-17196)."""
        transactional_id = request.body.transactional_id
        if transactional_id is None or not self._authorizer.authorize(
            request.context, "WRITE", "TRANSACTIONAL_ID", transactional_id
        ):
            raise KafkaError(Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        # No transaction coordinator serves yet, so no transaction can be open.
        raise KafkaError(Errors.INVALID_TXN_STATE)

    def _refusal(self, request: Request, topic: str, acks: int) -> Errors | None:
        """Why nothing may be written to the topic, for all its partitions."""
        if self._authorizer.enabled and not self._authorizer.authorize(request.context, "WRITE", "TOPIC", topic):
            return Errors.TOPIC_AUTHORIZATION_FAILED
        if acks not in _VALID_ACKS:
            return Errors.INVALID_REQUIRED_ACKS
        if topic in INTERNAL_TOPICS and request.context.client_id != _ADMIN_CLIENT_ID:
            return Errors.INVALID_TOPIC_EXCEPTION
        return None

    def _refused(self, partition: TopicPartition, refusal: Errors) -> ProduceResponse.PartitionProduceResponse:
        if refusal is not Errors.TOPIC_AUTHORIZATION_FAILED and not self._metadata_cache.contains(*partition):
            refusal = Errors.UNKNOWN_TOPIC_OR_PARTITION
        return PartitionResponse(
            index=partition.partition, error_code=refusal.code, base_offset=-1, log_start_offset=-1
        )

    def _failure(self, partition: TopicPartition, error: Exception) -> ProduceResponse.PartitionProduceResponse:
        """Only errors of single records are explained; only errors of records tell the log start offset, as in Kafka."""
        answer = PartitionResponse(
            index=partition.partition, error_code=Errors.UNKNOWN_SERVER_ERROR.code, base_offset=-1, log_start_offset=-1
        )
        stats = self._replica_manager.topic_stats.clients.known(partition.topic)
        if not isinstance(error, KafkaError):
            stats.failed_produces += 1
            log.exception("Error processing append operation on partition %s", partition, exc_info=error)
            return answer
        answer.error_code = error.error.code
        if error.error is Errors.INVALID_PRODUCER_EPOCH:
            log.info("Partition %s: a producer is fenced, its records are not written: %s", partition, error.message)
        if error.error in _ERRORS_OF_THE_PARTITION:
            stats.refused_produces += 1
        else:
            stats.failed_produces += 1
        if error.error not in _ERRORS_OF_THE_PARTITION and not isinstance(error, InvalidProduceRequest):
            local = self._replica_manager.partition(partition)
            if local is not None and local.log is not None:
                answer.log_start_offset = local.log.log_start_offset
        if isinstance(error, RecordValidationError):
            answer.error_message = error.message
            answer.record_errors = [
                ProduceResponse.BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=message)
                for index, message in error.record_errors
            ]
        return answer

    def _response(
        self, request: Request, topics: list[ProduceResponse.TopicProduceResponse], failed: bool
    ) -> ProduceResponse:
        response: ProduceResponse = _produce_response(topics)
        if failed:
            request.note_errors(response)
        if failed and request.api_version >= _FIRST_WITH_CURRENT_LEADER:
            nodes: set[Node] = set()
            for topic in topics:
                for answer in topic.partition_responses:
                    if answer.error_code == Errors.NOT_LEADER_OR_FOLLOWER.code:
                        partition = TopicPartition(topic.name, answer.index)
                        leader = current_leader(self._replica_manager, partition, request.context.listener_name)
                        if leader is not None:
                            answer.current_leader = ProduceResponse.LeaderIdAndEpoch(
                                leader_id=leader.id, leader_epoch=leader.epoch
                            )
                            nodes |= leader.nodes
            response.node_endpoints = [
                ProduceResponse.NodeEndpoint(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
                for node in sorted(nodes)
            ]
        return response

    def _answer_when_committed(
        self,
        request: Request,
        topics: list[ProduceResponse.TopicProduceResponse],
        pending: list[tuple[PendingAppend, ProduceResponse.PartitionProduceResponse]],
    ) -> None:
        def committed() -> None:
            request.hurry = None  # it refers to this: the two would live until the garbage collector comes
            for append, answer in pending:
                answer.error_code = append.error.code
            request.respond(self._response(request, topics, True))

        appends = [append for append, _ in pending]
        waiting = self._replica_manager.wait_for_commit(
            appends, request.body.timeout_ms, committed, request.leader_moved
        )
        if not waiting.completed:
            request.hurry = waiting.hurry


def _has_transactional_records(body: ProduceRequest) -> bool:
    """Looks at the first batch of each partition.

    KafkaError (CORRUPT_MESSAGE), for the whole request as in Kafka, if one of them has an impossible size or magic.
    """
    for topic in body.topic_data:
        for data in topic.partition_data:
            records = data.records
            if not records:
                continue
            if len(records) < _START_OF_BATCH_SIZE:
                next(batches(records), None)
                continue
            length, magic, attributes = _START_OF_BATCH(records)
            if magic != 2 or not _LEAST_LENGTH <= length <= _MOST_LENGTH:
                next(batches(records), None)
            elif attributes & TRANSACTIONAL_MASK:
                return True
    return False


def _finish_without_answer(request: Request, failed: bool) -> None:
    """acks=0: the client hears nothing, so an error shows as a closed connection and makes it refresh its metadata."""
    if failed:
        request.close_connection("produce request with acks=0 failed")
    else:
        request.no_response()
