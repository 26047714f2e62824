"""Handles Produce: appends the request's records to logs. One of the two hot paths."""

from __future__ import annotations

import logging
from collections.abc import Coroutine, Iterator, Mapping
from functools import partial
from struct import Struct
from typing import Any, Final, NamedTuple, TypeAlias

from kafkapy.common.acl_types import ACLOperation, ResourceType
from kafkapy.common.limits import MAX_INT
from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.common.topic_names import INTERNAL_TOPICS
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log_types import LogAppendInfo, WouldBlock
from kafkapy.log.validation_result import InvalidProduceRequest, RecordValidationError
from kafkapy.network.request import Request
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkapy.record.batches import batches
from kafkapy.record.record_batch import LOG_OVERHEAD, MIN_RECORD_SIZE, RECORD_BATCH_OVERHEAD, TRANSACTIONAL_MASK
from kafkapy.runtime.clock import Clock
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.server.authorizer import Authorizer
from kafkapy.server.coordinators.txn_verifier import TxnVerifier
from kafkapy.server.fetch.current_leader import add_current_leaders
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.server.replication.delayed_produce import PendingAppend
from kafkapy.server.replication.log_threads import BackgroundAppends
from kafkapy.server.replication.replica_manager import ReplicaManager

_WRITE: Final = ACLOperation.WRITE
_TOPIC: Final = ResourceType.TOPIC
_TRANSACTIONAL_ID: Final = ResourceType.TRANSACTIONAL_ID

log = logging.getLogger("kafkapy.server.KafkaApis")

PartitionResponse = ProduceResponse.PartitionProduceResponse
Answer: TypeAlias = ProduceResponse | Coroutine[Any, Any, ProduceResponse | None] | None
"""The response, or a coroutine that returns it; None with acks=0."""

_produce_response: Final = ProduceResponse.maker
_topic_response: Final = ProduceResponse.TopicProduceResponse.maker
_partition_response: Final = PartitionResponse.maker
_VALID_ACKS: Final = (-1, 0, 1)
_NO_RECORDS: Final = memoryview(b"")
_ADMIN_CLIENT_ID: Final = "__admin_client"
_FIRST_WITH_CURRENT_LEADER: Final = 10
# length, magic, attributes; base offset, leader epoch and CRC are skipped.
_START_OF_BATCH: Final = Struct(">8xi4xb4xh").unpack_from
_START_OF_BATCH_SIZE: Final = 23
_LEAST_LENGTH: Final = MIN_RECORD_SIZE
_MOST_LENGTH: Final = MAX_INT - LOG_OVERHEAD
_PRODUCER: Final = Struct(">16xb4xh20xqhi").unpack_from
_FIRST_WITH_ABORTABLE: Final = 11
_NOBODY: Final[Mapping[TopicPartition, KafkaError]] = {}
_TRY_AGAIN: Final = frozenset(
    (
        Errors.NETWORK_EXCEPTION,
        Errors.COORDINATOR_LOAD_IN_PROGRESS,
        Errors.COORDINATOR_NOT_AVAILABLE,
        Errors.NOT_COORDINATOR,
        Errors.CONCURRENT_TRANSACTIONS,
    )
)
LEAST_PARTITIONS: Final = 16
"""Minimum number of partitions that a request appends to before it yields: as many as most requests have, 0.3 ms."""
_LATE_SECONDS: Final = 0.0015
"""How long a request may exceed the time slice: a Produce to 100 partitions is complete by then, and a yield would
delay its connection."""
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


class RefusalToBegin(KafkaError):
    """A transaction may not start in a partition; the response has the error."""


class Produce:
    """A request, and the state of its partitions."""

    __slots__ = (
        "acks",
        "failed",
        "large",
        "next_partition",
        "next_topic",
        "pending",
        "request",
        "timeout_ms",
        "topics",
        "unsynced",
        "unverified",
        "version",
        "written",
    )

    def __init__(self, request: Request, unverified: Mapping[TopicPartition, KafkaError]) -> None:
        body: ProduceRequest = request.body
        self.request = request
        self.unverified = unverified
        self.version = request.api_version
        self.acks = body.acks
        self.timeout_ms = body.timeout_ms
        self.topics: list[ProduceResponse.TopicProduceResponse] = []
        self.failed = False
        self.written: list[TopicPartition] = []
        """Partitions whose waiting fetches have not been notified yet."""
        self.pending: list[tuple[PendingAppend, ProduceResponse.PartitionProduceResponse]] = []
        """acks=all: appends that are not committed yet."""
        self.unsynced: list[tuple[TopicPartition, int, ProduceResponse.PartitionProduceResponse]] = []
        """acks=1: offsets up to which the log must be synced before the response, because of `flush.messages`."""
        self.large: list[LargeAppend] = []
        """Appends that are left to a thread."""
        self.next_topic = 0
        """Indexes of the topic and partition that are appended to next."""
        self.next_partition = 0


class LargeAppend(NamedTuple):
    """A partition whose records a thread will append, and the position of its response."""

    partition: TopicPartition
    data: ProduceRequest.PartitionProduceData
    answers: list[ProduceResponse.PartitionProduceResponse]
    position: int


class ProduceHandler:
    """Appends producers' records; `handle` is on the hot path."""

    def __init__(
        self,
        replica_manager: ReplicaManager,
        authorizer: Authorizer,
        metadata_cache: MetadataCache,
        large_appends: BackgroundAppends,
        clock: Clock,
        verifier: TxnVerifier,
    ) -> None:
        self._verifier = verifier
        self._replica_manager = replica_manager
        self._authorizer = authorizer
        self._metadata_cache = metadata_cache
        self._large_appends = large_appends
        self._clock = clock

    def handle(self, request: Request) -> Answer:
        """Append each partition's records; respond at once, or with acks=all when they are committed. Slow appends run
        in threads."""
        if _has_transactional_records(request.body):
            return self._handle_transactional(request)
        return self._append(Produce(request, _NOBODY))

    def _handle_transactional(self, request: Request) -> Answer:
        """Handle a request with transactional batches: the sender must be authorized for the transactional id
        (CVE-2018-17196). Partitions where the transaction has not started yet are verified with the coordinator
        (KIP-890)."""
        body: ProduceRequest = request.body
        transactional_id = body.transactional_id
        if transactional_id is None or not self._authorizer.authorize(
            request.context, _WRITE, _TRANSACTIONAL_ID, transactional_id
        ):
            raise KafkaError(Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        refused = self._verify_here(transactional_id, body, request.api_version)
        if refused is not None:
            return self._append(Produce(request, refused))
        verified = spawn(self._verify(transactional_id, body, request.api_version))
        request.hold(data for topic in body.topic_data for data in topic.partition_data)
        return self._append_verified(request, verified)

    async def _append_verified(
        self, request: Request, verified: Completion[dict[TopicPartition, KafkaError]]
    ) -> ProduceResponse | None:
        return await self._append_rest(Produce(request, await verified))

    def _verify_here(
        self, transactional_id: str, body: ProduceRequest, version: int
    ) -> dict[TopicPartition, KafkaError] | None:
        """As `_verify`, but synchronous; None if the coordinator is another broker."""
        refused: dict[TopicPartition, KafkaError] = {}
        for producer, names in _transactional_partitions(body).items():
            errors = self._verifier.verify_here(transactional_id, producer, names)
            if errors is None:
                return None
            for name, error in errors.items():
                refused[name] = _refusal_to_begin(error, version)
        return refused

    async def _verify(
        self, transactional_id: str, body: ProduceRequest, version: int
    ) -> dict[TopicPartition, KafkaError]:
        """Return the partitions in which the transaction may not start, and the errors."""
        refused: dict[TopicPartition, KafkaError] = {}
        for producer, names in _transactional_partitions(body).items():
            errors = await self._verifier.verify(transactional_id, producer, names)
            refused.update((name, _refusal_to_begin(error, version)) for name, error in errors.items())
        return refused

    def _append(self, produce: Produce) -> Answer:
        if self._append_turn(produce) and not produce.large:
            return self._answer(produce)
        produce.request.hold(_not_appended(produce))
        return self._append_rest(produce)

    def _append_turn(self, produce: Produce) -> bool:
        """Continue appending to the partitions; return False if the time slice is used up before the rest."""
        request, acks, unverified = produce.request, produce.acks, produce.unverified
        topics = request.body.topic_data
        replica_manager = self._replica_manager
        left = LEAST_PARTITIONS
        for number in range(produce.next_topic, len(topics)):
            topic = topics[number].name
            partitions = topics[number].partition_data
            if number == len(produce.topics):
                produce.topics.append(_topic_response(topic, []))
            answers: list[ProduceResponse.PartitionProduceResponse] = produce.topics[number].partition_responses
            refusal = self._refusal(request, topic, acks)
            for index in range(produce.next_partition, len(partitions)):
                left -= 1
                if left < 0 and self._clock.should_yield(_LATE_SECONDS):
                    produce.next_topic, produce.next_partition = number, index
                    return False
                data = partitions[index]
                partition = replica_manager.name_of(topic, data.index)
                if refusal is not None:
                    answers.append(self._refused(partition, refusal))
                    produce.failed = True
                elif unverified and partition in unverified:
                    answers.append(self._unverified(produce, partition, unverified[partition]))
                else:
                    try:
                        info = replica_manager.append_to_local_log(
                            partition, data.records, acks, api_version=produce.version
                        )
                    except WouldBlock:
                        produce.large.append(LargeAppend(partition, data, answers, len(answers)))
                        answers.append(PartitionResponse(index=data.index))
                    except Exception as error:
                        answers.append(self._failure(produce, partition, error))
                    else:
                        answers.append(self._success(produce, partition, info))
            produce.next_partition = 0
        produce.next_topic = len(topics)
        return True

    async def _append_rest(self, produce: Produce) -> ProduceResponse | None:
        """Append the rest in further time slices, and slow appends in threads. Until then the connection's next
        request waits."""
        request = produce.request
        self._tell_written(produce)
        await self._clock.checkpoint()
        while not self._append_turn(produce):
            self._tell_written(produce)
            await self._clock.yield_now()
        for large in produce.large:
            self._tell_written(produce)
            records, large.data.records = large.data.records, _NO_RECORDS
            try:
                info = await self._large_appends.append(large.partition, records, produce.acks, produce.version)
            except Exception as error:
                large.answers[large.position] = self._failure(produce, large.partition, error)
            else:
                large.answers[large.position] = self._success(produce, large.partition, info)
        request.written()
        answer = self._answer(produce)
        return answer if answer is None or isinstance(answer, ProduceResponse) else await answer

    def _tell_written(self, produce: Produce) -> None:
        written, produce.written = produce.written, []
        self._replica_manager.appended(*written)

    def _success(
        self, produce: Produce, partition: TopicPartition, info: LogAppendInfo
    ) -> ProduceResponse.PartitionProduceResponse:
        """Return a partition's response after the append, and register what the request has to wait for."""
        answer: PartitionResponse = _partition_response(
            partition.partition, 0, info.first_offset, info.log_append_time, info.log_start_offset
        )
        produce.written.append(partition)
        if produce.acks == -1:
            if not self._replica_manager.is_committed(partition, info.last_offset + 1):
                produce.pending.append((PendingAppend(partition, info.last_offset + 1), answer))
        elif info.flush_due and produce.acks == 1:
            produce.unsynced.append((partition, info.last_offset + 1, answer))
        return answer

    def _answer(self, produce: Produce) -> Answer:
        """Return the response; all appends are done or have failed."""
        if produce.pending:
            return self._answer_when_committed(produce)
        if produce.unsynced:
            return self._answer_when_synced(produce)
        if produce.written:
            produce.request.on_sent = partial(self._tell_written, produce)
        if produce.acks != 0:
            return self._response(produce)
        if produce.failed:
            # There is no response, so the closed connection indicates the error, and the client refreshes its
            # metadata.
            produce.request.close_connection("produce request with acks=0 failed")
        return None

    def _refusal(self, request: Request, topic: str, acks: int) -> Errors | None:
        """Return the error for all partitions of the topic, if it may not be written to."""
        if self._authorizer.enabled and not self._authorizer.authorize(request.context, _WRITE, _TOPIC, topic):
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

    def _unverified(
        self, produce: Produce, partition: TopicPartition, error: KafkaError
    ) -> ProduceResponse.PartitionProduceResponse:
        """As in Kafka, the response has no offsets, because the log was not accessed."""
        answer = self._failure(produce, partition, error)
        answer.log_start_offset = -1
        return answer

    def _failure(
        self, produce: Produce, partition: TopicPartition, error: Exception
    ) -> ProduceResponse.PartitionProduceResponse:
        """As in Kafka, only errors of single records have a message, and only errors of records have the log start
        offset."""
        produce.failed = True
        answer = PartitionResponse(
            index=partition.partition, error_code=Errors.UNKNOWN_SERVER_ERROR.code, base_offset=-1, log_start_offset=-1
        )
        stats = self._replica_manager.topic_stats.clients.existing_or_others(partition.topic)
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
        if isinstance(error, RecordValidationError | RefusalToBegin):
            answer.error_message = error.message
        if isinstance(error, RecordValidationError):
            answer.record_errors = [
                ProduceResponse.BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=message)
                for index, message in error.record_errors
            ]
        return answer

    def _response(self, produce: Produce) -> ProduceResponse:
        response: ProduceResponse = _produce_response(produce.topics)
        if produce.failed:
            request = produce.request
            request.failed = True
            if request.api_version >= _FIRST_WITH_CURRENT_LEADER:
                add_current_leaders(
                    self._replica_manager,
                    request.context.listener_name,
                    response,
                    (
                        (TopicPartition(topic.name, answer.index), answer)
                        for topic in produce.topics
                        for answer in topic.partition_responses
                        if answer.error_code == Errors.NOT_LEADER_OR_FOLLOWER.code
                    ),
                )
        return response

    async def _answer_when_committed(self, produce: Produce) -> ProduceResponse:
        request = produce.request
        committed: Completion[None] = Completion()
        appends = [append for append, _ in produce.pending]
        waiting = self._replica_manager.wait_for_commit(
            appends, produce.timeout_ms, lambda: committed.set_result(None), request.leader_moved
        )
        if not waiting.completed:
            request.answer_now = waiting.answer_now
        self._tell_written(produce)
        await committed
        request.answer_now = None
        for append, answer in produce.pending:
            answer.error_code = append.error.code
            produce.failed |= append.error is not Errors.NONE
        return self._response(produce)

    async def _answer_when_synced(self, produce: Produce) -> ProduceResponse:
        outcomes: list[Completion[Errors]] = []
        for partition, offset, _ in produce.unsynced:
            synced: Completion[Errors] = Completion()
            self._replica_manager.when_synced(partition, offset, synced.set_result)
            outcomes.append(synced)
        self._tell_written(produce)
        for (_, _, answer), outcome in zip(produce.unsynced, outcomes, strict=True):
            error = await outcome
            if error is not Errors.NONE:
                answer.error_code = error.code
                produce.failed = True
        return self._response(produce)


def _not_appended(produce: Produce) -> Iterator[ProduceRequest.PartitionProduceData]:
    """Yield the partitions that are left to a thread or to further time slices."""
    for large in produce.large:
        yield large.data
    topics = produce.request.body.topic_data
    first = produce.next_partition
    for number in range(produce.next_topic, len(topics)):
        yield from topics[number].partition_data[first:]
        first = 0


def _transactional_partitions(body: ProduceRequest) -> dict[ProducerIdAndEpoch, dict[TopicPartition, int]]:
    """Return producer → partition → first sequence, from the first batch of each partition if it is transactional."""
    found: dict[ProducerIdAndEpoch, dict[TopicPartition, int]] = {}
    for topic in body.topic_data:
        for data in topic.partition_data:
            records = data.records
            if records and len(records) >= RECORD_BATCH_OVERHEAD:
                magic, attributes, producer_id, epoch, sequence = _PRODUCER(records)
                if magic == 2 and attributes & TRANSACTIONAL_MASK:
                    producer = ProducerIdAndEpoch(producer_id, epoch)
                    found.setdefault(producer, {})[TopicPartition(topic.name, data.index)] = sequence
    return found


def _refusal_to_begin(error: Errors, version: int) -> KafkaError:
    """Return the error that the client's version knows: after NOT_ENOUGH_REPLICAS older producers retry, without a
    search for a new leader."""
    if error in _TRY_AGAIN:
        return RefusalToBegin(
            Errors.NOT_ENOUGH_REPLICAS,
            f"Unable to verify the partition has been added to the transaction. Underlying error: {error.name}",
        )
    if error is Errors.TRANSACTION_ABORTABLE and version < _FIRST_WITH_ABORTABLE:
        error = Errors.INVALID_TXN_STATE
    if error is Errors.INVALID_TXN_STATE:
        return RefusalToBegin(error, "Partition was not added to the transaction")
    return KafkaError(error)


def _has_transactional_records(body: ProduceRequest) -> bool:
    """Return whether the first batch of any partition is transactional.

    Raise `KafkaError` CORRUPT_MESSAGE for the whole request, as in Kafka, if one of them has an invalid size or magic.
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
