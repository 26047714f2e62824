"""What the metrics tell of transactions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kafkapy.coordinator.transaction.transaction_state import COMPLETE_COMMIT, EMPTY, ONGOING, PREPARE_COMMIT
from kafkapy.server.metrics.exposition import pieces
from kafkapy.server.metrics.of_transactions import TRANSACTION_METRICS
from tests.scraped_page import Page


def transaction(state: Any, unmarked: int = 0, pending: object = None) -> Any:
    return SimpleNamespace(metadata=SimpleNamespace(state=state), unmarked=set(range(unmarked)), pending=pending)


def page(transactions: list[Any]) -> Page:
    sources: Any = SimpleNamespace(
        transaction_coordinator=SimpleNamespace(transactions=dict(enumerate(transactions))),
        marker_channels=SimpleNamespace(queued=lambda: {1: 3, 2: 4}, waiting_for_leaders=5),
        late_transactions=SimpleNamespace(partition_count=6),
    )
    return Page(b"".join(pieces(TRANSACTION_METRICS, sources)).decode())


def test_transactional_ids_by_state() -> None:
    made = page(
        [transaction(EMPTY)] * 1500 + [transaction(ONGOING), transaction(ONGOING), transaction(COMPLETE_COMMIT)]
    )
    of_state = {state: made.value("kafkapy_transactional_ids", state=state) for state in ("Empty", "Ongoing", "Dead")}
    assert of_state == {"Empty": 1500, "Ongoing": 2, "Dead": 0}


def test_writes_of_the_end_that_are_repeated() -> None:
    name = "kafka_coordinator_transaction_transactionmarkerchannelmanager_logappendretryqueuesize"
    writing, sending = transaction(PREPARE_COMMIT, pending=object()), transaction(PREPARE_COMMIT, unmarked=1)
    assert page([writing, sending, transaction(EMPTY)]).value(name) == 0
    assert page([writing, sending, transaction(PREPARE_COMMIT)]).value(name) == 1


def test_markers_and_late_transactions() -> None:
    made = page([])
    assert made.value("kafkapy_transaction_markers_queued", broker="2") == 4
    unknown = "kafka_coordinator_transaction_transactionmarkerchannelmanager_unknowndestinationqueuesize"
    assert made.value(unknown) == 5
    assert made.value("kafka_server_replicamanager_partitionswithlatetransactionscount") == 6
