"""A transaction coordinator with a clock, a log and a sender of markers that a test moves by hand."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.common.topic_names import TRANSACTION_STATE_TOPIC
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.transaction.config import TransactionConfig
from kafkapy.coordinator.transaction.metadata import TransactionMetadata, read_key, read_value
from kafkapy.coordinator.transaction.transaction import InitProducerIdResult, SendMarkers, Transaction
from kafkapy.coordinator.transaction.transaction_coordinator import TransactionCoordinator
from kafkapy.protocol.errors import NONE, Errors, KafkaError
from kafkapy.protocol.messages.describe_transactions import DescribeTransactionsResponse
from kafkapy.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from kafkapy.runtime.clock import MockClock
from kafkapy.runtime.completion import Completion, spawn
from tests.coordinator.group.group_harness import FakeLog

TX = "tx"
CONFIG = TransactionConfig(request_timeout_ms=5_000)
TIMEOUT = 60_000
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class HeldMarkers:
    """Takes markers, and writes them when the test says so."""

    def __init__(self) -> None:
        self.held: list[tuple[Transaction, SendMarkers, int]] = []

    def send(self, transaction: Transaction, order: SendMarkers, coordinator_epoch: int) -> None:
        self.held.append((transaction, order, coordinator_epoch))


class HeldProducerIds:
    """Gives ids from 1000 on, at once or when the test says so."""

    def __init__(self) -> None:
        self.next = 1000
        self.error = NONE
        self.hold = False
        self.held: list[Completion[None]] = []

    async def __call__(self) -> int:
        if self.hold:
            waiting: Completion[None] = Completion()
            self.held.append(waiting)
            await waiting
        if self.error is not NONE:
            raise KafkaError(self.error)
        self.next += 1
        return self.next - 1

    def release(self) -> None:
        held, self.held = self.held, []
        for waiting in held:
            waiting.set_result(None)


class TransactionHarness:
    def __init__(
        self, log: FakeLog | None = None, config: TransactionConfig = CONFIG, clock: MockClock | None = None
    ) -> None:
        self.clock = clock or MockClock()
        self.log = log or FakeLog()
        self.markers = HeldMarkers()
        self.producer_ids = HeldProducerIds()
        self.coordinator = TransactionCoordinator(config, self.log, self.clock)
        self.coordinator.startup(self.producer_ids, self.markers, 50)
        self.epoch = 1
        for partition in range(50):
            self.coordinator.on_election(partition, self.epoch)
        self.advance(0)

    def advance(self, ms: int) -> None:
        self.clock.advance(ms)

    def resign(self) -> None:
        """Another broker leads all partitions from now on."""
        self.epoch += 1
        for partition in range(50):
            self.coordinator.on_resignation(partition, self.epoch)

    def elect(self) -> None:
        """What is to be read is read with the next `advance`."""
        self.epoch += 1
        for partition in range(50):
            self.coordinator.on_election(partition, self.epoch)

    def transaction(self, transactional_id: str = TX) -> Transaction:
        return self.coordinator.transactions[transactional_id]

    def state(self, transactional_id: str = TX) -> str:
        return self.transaction(transactional_id).metadata.state.value

    def partition(self, transactional_id: str = TX) -> TopicPartition:
        return TopicPartition(TRANSACTION_STATE_TOPIC, self.coordinator.partition_for(transactional_id))

    def history(self, transactional_id: str = TX) -> list[TransactionMetadata | None]:
        """What the log says of the id, in order; None is a tombstone."""
        records = self.log.records(self.partition(transactional_id))
        return [
            None if value is None else read_value(value)
            for key, value in records
            if key is not None and read_key(key) == transactional_id
        ]

    # ------------------------------------------------------------------------------------------------ requests

    def start_init(
        self, transactional_id: str = TX, *, timeout_ms: int = TIMEOUT, expected: ProducerIdAndEpoch | None = None
    ) -> Completion[InitProducerIdResult]:
        return spawn(self.coordinator.init_producer_id(transactional_id, timeout_ms, expected))

    def init(
        self, transactional_id: str = TX, *, timeout_ms: int = TIMEOUT, expected: ProducerIdAndEpoch | None = None
    ) -> InitProducerIdResult:
        return self.start_init(transactional_id, timeout_ms=timeout_ms, expected=expected).result()

    def producer(self, transactional_id: str = TX) -> ProducerIdAndEpoch:
        """A new one."""
        result = self.init(transactional_id)
        assert result.error is NONE
        return ProducerIdAndEpoch(result.producer_id, result.producer_epoch)

    def start_add(
        self, producer: ProducerIdAndEpoch, *partitions: TopicPartition, transactional_id: str = TX
    ) -> Completion[Errors]:
        return self.coordinator.add_partitions(transactional_id, producer, partitions or (T0,))

    def add(self, producer: ProducerIdAndEpoch, *partitions: TopicPartition, transactional_id: str = TX) -> Errors:
        return self.start_add(producer, *partitions, transactional_id=transactional_id).result()

    def start_end(
        self, producer: ProducerIdAndEpoch, commit: bool = True, transactional_id: str = TX
    ) -> Completion[Errors]:
        return self.coordinator.end_transaction(transactional_id, producer, commit)

    def end(self, producer: ProducerIdAndEpoch, commit: bool = True, transactional_id: str = TX) -> Errors:
        return self.start_end(producer, commit, transactional_id).result()

    def verify(
        self, producer: ProducerIdAndEpoch, partitions: Collection[TopicPartition] = (T0,), transactional_id: str = TX
    ) -> set[Errors]:
        return set(self.coordinator.verify_partitions(transactional_id, producer, partitions).values())

    def write_markers(self, *only: TopicPartition) -> None:
        """All that are held, or those of some partitions."""
        held, self.markers.held = self.markers.held, []
        for transaction, order, epoch in held:
            self.coordinator.markers_written(transaction, only or order.partitions)
            if transaction.unmarked and not transaction.is_gone:
                self.markers.held.append((transaction, order, epoch))

    def describe(self, transactional_id: str = TX) -> DescribeTransactionsResponse.TransactionState:
        return self.coordinator.describe_transaction(transactional_id)

    def list(
        self, states: Sequence[str] = (), producer_ids: Sequence[int] = (), duration_ms: int = -1
    ) -> ListTransactionsResponse:
        request = ListTransactionsRequest(
            state_filters=[*states], producer_id_filters=[*producer_ids], duration_filter=duration_ms
        )
        return spawn(self.coordinator.list_transactions(request)).result()
