"""Asks a transaction's coordinator whether partitions belong to it (KIP-890; Kafka's `AddPartitionsToTxnManager`)."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kafkapy.common.metrics import Histogram
from kafkapy.common.partitions_by_topic import indexes_by_topic
from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.common.topic_names import TRANSACTION_STATE_TOPIC
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.transaction.transaction_coordinator import TransactionCoordinator
from kafkapy.log.producers.producer_state_manager import Verification
from kafkapy.protocol.errors import NONE, Errors, KafkaError
from kafkapy.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.inter_broker.broker_clients import BrokerClients
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.server.replication.replica_manager import ReplicaManager

VERSION = 5
FIRST_BATCHED = 4
_VERIFICATIONS_PER_FOLD = 256
"""Verifications between two calls of `Histogram.fold`, which empties the histogram's buffer."""

Question = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction


@dataclass(slots=True, eq=False)
class _Asked:
    question: Question
    answer: Completion[dict[TopicPartition, Errors]]


class TxnVerifier:
    """Verifies partitions with the transaction's coordinator; one request per coordinator at a time, which batches
    questions.

    Invariant: a broker in `_asked` has a request in flight; the questions there go into its next one.
    """

    def __init__(
        self,
        config: KafkaConfig,
        replica_manager: ReplicaManager,
        coordinator: TransactionCoordinator,
        cache: MetadataCache,
        brokers: BrokerClients,
    ) -> None:
        self._config = config
        self._replica_manager = replica_manager
        self._coordinator = coordinator
        self._cache = cache
        self._brokers = brokers
        self._asked: dict[int, list[_Asked]] = {}
        self.failures = 0
        """Partitions in which a transaction was not allowed to start."""
        self.verification_ms = Histogram()
        self._unfolded = 0

    def close(self) -> None:
        self._brokers.close()

    async def verify(
        self, transactional_id: str, producer: ProducerIdAndEpoch, partitions: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, Errors]:
        """Return the errors of partitions in which the producer's transaction may not start.

        The logs of the partitions are on this broker; the value for each is the sequence of the producer's first
        batch. Partitions where the transaction may start, or already has, are omitted. TRANSACTION_ABORTABLE: the
        partition was not added to the transaction.
        """
        begun = self._begin(producer, partitions)
        if not begun:
            return {}
        return self._verification_result(begun, await self._ask(transactional_id, producer, begun))

    def verify_here(
        self, transactional_id: str, producer: ProducerIdAndEpoch, partitions: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, Errors] | None:
        """As `verify`, but synchronous; None if the coordinator is another broker."""
        begun = self._begin(producer, partitions)
        if not begun:
            return {}
        state = self._cache.partition_state(TRANSACTION_STATE_TOPIC, self._coordinator.partition_for(transactional_id))
        if state is None or state.leader != self._config.broker_id:
            return None
        return self._verification_result(begun, self._ask_here(transactional_id, producer, begun))

    def _begin(
        self, producer: ProducerIdAndEpoch, partitions: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, Verification]:
        """Return the partitions to ask the coordinator about."""
        begun: dict[TopicPartition, Verification] = {}
        if not self._config.transaction_partition_verification_enable:
            self._skip_verification(producer, partitions)
            return begun
        for name, sequence in partitions.items():
            local = self._replica_manager.partition(name)
            if local is not None and local.log is not None:
                verification = local.log.producers.begin_verification(*producer, sequence)
                if verification is not None:
                    begun[name] = verification
        return begun

    def _verification_result(
        self, begun: Mapping[TopicPartition, Verification], errors: Mapping[TopicPartition, Errors]
    ) -> dict[TopicPartition, Errors]:
        self._unfolded += 1
        if self._unfolded >= _VERIFICATIONS_PER_FOLD:
            self._unfolded = 0
            self.verification_ms.fold()
        refused: dict[TopicPartition, Errors] = {}
        for name, verification in begun.items():
            error = errors.get(name, Errors.UNKNOWN_SERVER_ERROR)
            verification.holds = error is NONE
            if error is not NONE:
                self.failures += 1
                # Producers know this error: a log with a newer epoch returns it.
                refused[name] = Errors.INVALID_PRODUCER_EPOCH if error is Errors.PRODUCER_FENCED else error
        return refused

    def _skip_verification(self, producer: ProducerIdAndEpoch, partitions: Collection[TopicPartition]) -> None:
        for name in partitions:
            local = self._replica_manager.partition(name)
            if local is not None and local.log is not None:
                local.log.producers.verifications.pop(producer.producer_id, None)

    async def _ask(
        self, transactional_id: str, producer: ProducerIdAndEpoch, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, Errors]:
        state = self._cache.partition_state(TRANSACTION_STATE_TOPIC, self._coordinator.partition_for(transactional_id))
        if state is None:
            return dict.fromkeys(partitions, Errors.COORDINATOR_NOT_AVAILABLE)
        leader = state.leader
        if leader == self._config.broker_id:
            return self._ask_here(transactional_id, producer, partitions)
        if self._cache.alive_broker(leader, self._config.inter_broker_listener_name) is None:
            return dict.fromkeys(partitions, Errors.COORDINATOR_NOT_AVAILABLE)
        asked = _Asked(_question(transactional_id, producer, partitions), Completion())
        waiting = self._asked.get(leader)
        if waiting is not None:
            waiting.append(asked)
        else:
            self._asked[leader] = [asked]
            spawn(self._send_waiting(leader))
        begun = time.monotonic()
        answer = await asked.answer
        self.verification_ms.record((time.monotonic() - begun) * 1000)
        return answer

    def _ask_here(
        self, transactional_id: str, producer: ProducerIdAndEpoch, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, Errors]:
        self.verification_ms.record(0.0)
        return self._coordinator.verify_partitions(transactional_id, producer, partitions)

    async def _send_waiting(self, leader: int) -> None:
        while waiting := self._asked[leader]:
            # A transactional id may occur only once in a request.
            now = list({asked.question.transactional_id: asked for asked in reversed(waiting)}.values())
            self._asked[leader] = [asked for asked in waiting if asked not in now]
            await self._send(leader, now)
        del self._asked[leader]

    async def _send(self, leader: int, waiting: list[_Asked]) -> None:
        request = AddPartitionsToTxnRequest(transactions=[asked.question for asked in waiting])
        results: dict[str, dict[TopicPartition, Errors]] = {}
        failure = Errors.UNKNOWN_SERVER_ERROR
        try:
            response: AddPartitionsToTxnResponse = await self._brokers[leader].call(
                request, VERSION, min_version=FIRST_BATCHED
            )
        except KafkaError as error:
            failure = error.error if error.error is Errors.UNSUPPORTED_VERSION else Errors.NETWORK_EXCEPTION
        else:
            if response.error_code:
                failure = Errors.for_code(response.error_code)
            for result in response.results_by_transaction:
                results[result.transactional_id] = {
                    TopicPartition(topic.name, partition.partition_index): Errors.for_code(
                        partition.partition_error_code
                    )
                    for topic in result.topic_results
                    for partition in topic.results_by_partition
                }
        for asked in waiting:
            question = asked.question
            names = (TopicPartition(topic.name, index) for topic in question.topics for index in topic.partitions)
            found = results.get(question.transactional_id)
            if found is None and failure is Errors.UNSUPPORTED_VERSION:
                found = dict.fromkeys(names, NONE)  # an older broker, which doesn't support the request
            asked.answer.set_result(dict.fromkeys(names, failure) if found is None else found)


def _question(transactional_id: str, producer: ProducerIdAndEpoch, partitions: Collection[TopicPartition]) -> Question:
    return Question(
        transactional_id=transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        verify_only=True,
        topics=[
            AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=topic, partitions=indexes)
            for topic, indexes in indexes_by_topic(partitions).items()
        ],
    )
