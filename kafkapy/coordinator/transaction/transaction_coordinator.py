"""The coordinator of transactions (Kafka's `TransactionCoordinator` and `TransactionStateManager`).

Everything is on the reactor thread. A request becomes an event of its transactional id (`transaction.py`); `runtime/`
executes the effects, and a `MarkerSender` sends the markers. The module is independent of the network and the log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from typing import Any, Protocol

from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.common.scheduler import ScheduledTask
from kafkapy.common.topic_names import TRANSACTION_STATE_TOPIC
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.runtime.effects import Performer, Recipient
from kafkapy.coordinator.runtime.owned_topic import CoordinatorTopic, OwnedTopic
from kafkapy.coordinator.runtime.partition_log import PartitionLog
from kafkapy.coordinator.transaction.config import TransactionConfig
from kafkapy.coordinator.transaction.metadata import by_topic
from kafkapy.coordinator.transaction.replayed_transactions import ReplayedTransactions
from kafkapy.coordinator.transaction.transaction import Effects, Forget, InitProducerIdResult, SendMarkers, Transaction
from kafkapy.coordinator.transaction.transaction_state import DEAD, ONGOING, PREPARING, STATES
from kafkapy.protocol.errors import NONE, Errors, KafkaError
from kafkapy.protocol.messages.describe_transactions import DescribeTransactionsResponse
from kafkapy.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from kafkapy.record.compression import CompressionType
from kafkapy.runtime.chunks import chunks
from kafkapy.runtime.clock import Clock
from kafkapy.runtime.completion import Completion, spawn

log = logging.getLogger("kafkapy.coordinator.transaction.TransactionCoordinator")
store_log = logging.getLogger("kafkapy.coordinator.transaction.TransactionStateManager")

NewProducerId = Callable[[], Coroutine[Any, Any, int]]


class MarkerSender(Protocol):
    """Sends transaction markers to the leaders of their partitions."""

    def send(self, transaction: Transaction, order: SendMarkers, coordinator_epoch: int) -> None:
        """Send markers, and call `TransactionCoordinator.markers_written` as partitions complete. Markers left when
        the transaction `is_gone` are dropped."""
        ...


class TransactionCoordinator:
    """Checks that this broker coordinates the transactional id of a request, and passes the request to it.

    Invariant: `transactions` holds ids of partitions that this broker leads, none of them gone.
    """

    def __init__(
        self,
        config: TransactionConfig,
        partition_log: PartitionLog,
        clock: Clock,
    ) -> None:
        self._config = config
        self._clock = clock
        topic = CoordinatorTopic(
            TRANSACTION_STATE_TOPIC, config.topic_num_partitions, CompressionType.NONE, config.request_timeout_ms
        )
        self._topic: OwnedTopic[ReplayedTransactions] = OwnedTopic(topic, partition_log, self, clock, store_log)
        self._perform = Performer(self._topic, clock, log, self._ordered).perform
        self.transactions: dict[str, Transaction] = {}
        """The transactions of this coordinator, by id."""
        self._active = False
        self._tasks: list[ScheduledTask] = []
        self._markers: MarkerSender | None = None
        self._new_producer_id: NewProducerId | None = None

    def startup(
        self, new_producer_id: NewProducerId, markers: MarkerSender, topic_partition_count: int | None = None
    ) -> None:
        """Start; before it and after `shutdown`, requests fail with COORDINATOR_NOT_AVAILABLE.

        `topic_partition_count`: number of partitions of `__transaction_state`; None if it does not exist yet.
        """
        self._new_producer_id, self._markers = new_producer_id, markers
        self._topic.startup(topic_partition_count)
        self._every(self._config.abort_timed_out_interval_ms, "transaction-abort", self._abort_timed_out)
        self._every(self._config.remove_expired_interval_ms, "transactionalId-expiration", self._remove_expired)
        self._active = True

    def _every(self, period_ms: int, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._tasks.append(self._clock.schedule(name, lambda: spawn(work()), period_ms, period_ms))

    def shutdown(self) -> None:
        self._active = False
        for task in self._tasks:
            task.cancel()

    def partition_for(self, transactional_id: str) -> int:
        """Return the partition of `__transaction_state` whose leader coordinates the id."""
        return self._topic.partition_for(transactional_id)

    def _status(self, transactional_id: str | None) -> Errors:
        """Return NONE if this broker coordinates the id."""
        if not transactional_id:
            return Errors.INVALID_REQUEST
        if not self._active:
            return Errors.COORDINATOR_NOT_AVAILABLE
        return self._topic.status(transactional_id)

    # ------------------------------------------------------------------------------------------------ producers

    async def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: ProducerIdAndEpoch | None
    ) -> InitProducerIdResult:
        """Return the producer id and epoch for a producer's next transactions; `expected`: its current ones (KIP-360)."""
        error = self._status(transactional_id)
        if error is not Errors.INVALID_REQUEST and not 0 < timeout_ms <= self._config.max_timeout_ms:
            error = Errors.INVALID_TRANSACTION_TIMEOUT
        if error is not NONE:
            return InitProducerIdResult(error)
        transaction = self.transactions.get(transactional_id)
        new_id = -1
        if transaction is None or transaction.needs_producer_id(expected):
            assert self._new_producer_id is not None
            try:
                new_id = await self._new_producer_id()
            except KafkaError as refused:
                return InitProducerIdResult(refused.error)
            if (error := self._status(transactional_id)) is not NONE:
                return InitProducerIdResult(error)
            transaction = self.transactions.get(transactional_id)
        now = self._clock.milliseconds()
        if transaction is None:
            transaction = self.transactions[transactional_id] = Transaction.new(
                transactional_id, new_id, timeout_ms, now
            )
        answer: Completion[InitProducerIdResult] = Completion()
        self._perform(transaction, transaction.init_producer(expected, timeout_ms, new_id, answer.set_result, now))
        return await answer

    # ------------------------------------------------------------------------------------------------ partitions

    def add_partitions(
        self, transactional_id: str, producer: ProducerIdAndEpoch, partitions: Collection[TopicPartition]
    ) -> Completion[Errors]:
        """Add partitions; completes once they are in the log, or refused."""
        now = self._clock.milliseconds()
        return self._event(transactional_id, lambda found, to: found.add_partitions(producer, partitions, to, now))

    def is_open(self, transactional_id: str) -> bool:
        """Return whether this coordinator has the id in state Ongoing."""
        found = self.transactions.get(transactional_id)
        return found is not None and found.metadata.state is ONGOING

    def verify_partitions(
        self, transactional_id: str, producer: ProducerIdAndEpoch, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, Errors]:
        """Return which partitions are in the producer's open transaction."""
        error = self._status(transactional_id)
        found = self.transactions.get(transactional_id)
        if error is not NONE or found is None:
            return dict.fromkeys(partitions, Errors.INVALID_PRODUCER_ID_MAPPING if error is NONE else error)
        return found.verify(producer, partitions)

    def end_transaction(
        self, transactional_id: str, producer: ProducerIdAndEpoch, commit: bool, connection: int = 0
    ) -> Completion[Errors]:
        """End the transaction; completes once the outcome is in the log, or refused. `connection` as in `Transaction.end`."""
        now = self._clock.milliseconds()
        return self._event(transactional_id, lambda found, to: found.end(producer, commit, to, now, connection))

    def is_overtaken(self, transactional_id: str, producer: ProducerIdAndEpoch, connection: int) -> bool:
        """As `Transaction.is_overtaken`."""
        found = self.transactions.get(transactional_id)
        return found is not None and found.is_overtaken(producer, connection)

    def _event(self, transactional_id: str, event: Callable[[Transaction, Recipient], Effects]) -> Completion[Errors]:
        error = self._status(transactional_id)
        found = self.transactions.get(transactional_id)
        if error is not NONE or found is None:
            return Completion.of(Errors.INVALID_PRODUCER_ID_MAPPING if error is NONE else error)
        answer: Completion[Errors] = Completion()
        self._perform(found, event(found, answer.set_result))
        return answer

    def markers_written(self, transaction: Transaction, partitions: Iterable[TopicPartition]) -> None:
        """Process written markers; deleted partitions count as well."""
        self._perform(transaction, transaction.markers_written(partitions))

    def _ordered(self, transaction: Transaction, what: SendMarkers | Forget) -> None:
        if isinstance(what, SendMarkers):
            assert self._markers is not None
            self._markers.send(transaction, what, self._topic.epoch(transaction.key))
        elif self.transactions.get(transaction.key) is transaction:
            del self.transactions[transaction.key]

    # ------------------------------------------------------------------------------------------------ time

    async def _abort_timed_out(self) -> None:
        for chunk in chunks(list(self.transactions.values())):
            await self._clock.checkpoint()
            now = self._clock.milliseconds()
            for transaction in chunk:
                if not transaction.is_gone and transaction.is_timed_out(now):
                    log.info("Aborting the transaction of %s, whose time is over", transaction.transactional_id)
                    self._perform(transaction, transaction.time_out(now))

    async def _remove_expired(self) -> None:
        for chunk in chunks(list(self.transactions.values())):
            await self._clock.checkpoint()
            now = self._clock.milliseconds()
            for transaction in chunk:
                if not transaction.is_gone and transaction.is_expired(now, self._config.transactional_id_expiration_ms):
                    self._perform(transaction, transaction.expire())

    # ------------------------------------------------------------------------------------------------ administration

    def describe_transaction(self, transactional_id: str) -> DescribeTransactionsResponse.TransactionState:
        described = DescribeTransactionsResponse.TransactionState(transactional_id=transactional_id)
        error = self._status(transactional_id)
        found = self.transactions.get(transactional_id)
        if error is NONE and (found is None or _is_expiring(found)):
            error = Errors.TRANSACTIONAL_ID_NOT_FOUND
        if error is not NONE or found is None:
            described.error_code = error.code
            return described
        now = found.metadata
        described.transaction_state = now.state.value
        described.transaction_timeout_ms = now.timeout_ms
        described.transaction_start_time_ms = now.start_ms
        described.producer_id = now.producer_id
        described.producer_epoch = now.producer_epoch
        left = frozenset(found.unmarked) if now.state in PREPARING else now.partitions
        described.topics = [
            DescribeTransactionsResponse.TopicData(topic=topic.topic, partitions=topic.partition_ids)
            for topic in by_topic(left)
        ]
        return described

    async def list_transactions(self, request: ListTransactionsRequest) -> ListTransactionsResponse:
        """Return the transactions that match all given filters; the response also lists unknown states of the filter."""
        response = ListTransactionsResponse()
        if not self._active:
            response.error_code = Errors.COORDINATOR_NOT_AVAILABLE.code
            return response
        if self._topic.is_loading:
            response.error_code = Errors.COORDINATOR_LOAD_IN_PROGRESS.code
            return response
        known = {state.value for state in STATES}
        response.unknown_state_filters = [name for name in request.state_filters if name not in known]
        for chunk in chunks(list(self.transactions.values())):
            await self._clock.checkpoint()
            response.transaction_states += [
                ListTransactionsResponse.TransactionState(
                    transactional_id=found.transactional_id,
                    producer_id=found.metadata.producer_id,
                    transaction_state=found.metadata.state.value,
                )
                for found in chunk
                if self._is_listed(found, request)
            ]
        return response

    def _is_listed(self, found: Transaction, request: ListTransactionsRequest) -> bool:
        now = found.metadata
        if _is_expiring(found) or found.is_gone:
            return False
        if request.producer_id_filters and now.producer_id not in request.producer_id_filters:
            return False
        if request.state_filters and now.state.value not in request.state_filters:
            return False
        age = self._clock.milliseconds() - now.start_ms
        return request.duration_filter < 0 or age > request.duration_filter

    # ------------------------------------------------------------------------------------------------ the cluster

    def on_election(self, partition: int, leader_epoch: int) -> None:
        """Load the partition of `__transaction_state`, which this broker now leads."""
        self._topic.on_election(partition, leader_epoch)

    def on_resignation(self, partition: int, leader_epoch: int | None) -> None:
        """Unload the partition, which this broker no longer leads (None: the replica was removed, regardless of the epoch)."""
        self._topic.on_resignation(partition, leader_epoch)

    def handle_deleted_partitions(self, partitions: Sequence[TopicPartition]) -> None:
        """Do nothing: the `MarkerSender` detects deleted partitions itself."""

    # ------------------------------------------------------------------------------------------------ loading (`ContentStore`)

    def new_replayed(self) -> ReplayedTransactions:
        return ReplayedTransactions()

    def install(self, partition: int, replayed: ReplayedTransactions) -> Iterator[None]:
        for chunk in chunks(replayed.all_transactions()):
            for transaction in chunk:
                self.transactions[transaction.key] = transaction
                self._perform(transaction, transaction.resume(self._clock.milliseconds()))
            yield

    def installed(self, partition: TopicPartition, elapsed_ms: int) -> None:
        store_log.info("Finished loading transactions from %s in %d milliseconds.", partition, elapsed_ms)

    def load_failed(self, partition: TopicPartition, error: Exception) -> None:
        store_log.error("Error loading transactions from %s; trying again", partition, exc_info=error)

    def unload(self, partition: int) -> None:
        for transaction in [
            found for found in self.transactions.values() if self.partition_for(found.key) == partition
        ]:
            del self.transactions[transaction.key]
            self._perform(transaction, transaction.leave())


def _is_expiring(transaction: Transaction) -> bool:
    return transaction.pending is not None and transaction.pending.state is DEAD
