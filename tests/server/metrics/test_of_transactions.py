"""What the metrics tell of transactions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kafkapy.common.metrics import Histogram
from kafkapy.coordinator.transaction.transaction_state import COMPLETE_COMMIT, EMPTY, ONGOING, PREPARE_COMMIT
from kafkapy.server.metrics.exposition import pieces
from kafkapy.server.metrics.of_transactions import TRANSACTION_METRICS
from tests.scraped_page import Page


def transaction(state: Any, *, is_end_repeated: bool = False) -> Any:
    return SimpleNamespace(metadata=SimpleNamespace(state=state), is_end_repeated=is_end_repeated)


def page(transactions: list[Any]) -> Page:
    times = Histogram()
    times.record(2)
    times.record(3)
    sources: Any = SimpleNamespace(
        transaction_coordinator=SimpleNamespace(transactions=dict(enumerate(transactions))),
        marker_channels=SimpleNamespace(queued=lambda: {1: 3, 2: 4}, waiting_for_leaders=5),
        verifier=SimpleNamespace(verification_ms=times, failures=7),
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
    assert page([transaction(PREPARE_COMMIT), transaction(EMPTY)]).value(name) == 0
    assert page([transaction(PREPARE_COMMIT), transaction(PREPARE_COMMIT, is_end_repeated=True)]).value(name) == 1


def test_verifications() -> None:
    made = page([])
    assert made.value("kafka_server_addpartitionstotxnmanager_verificationfailurerate_total") == 7
    assert made.value("kafka_server_addpartitionstotxnmanager_verificationtimems_count") == 2
    assert made.value("kafka_server_addpartitionstotxnmanager_verificationtimems_sum") == 5


def test_markers_and_late_transactions() -> None:
    made = page([])
    assert made.value("kafkapy_transaction_markers_queued", broker="2") == 4
    unknown = "kafka_coordinator_transaction_transactionmarkerchannelmanager_unknowndestinationqueuesize"
    assert made.value(unknown) == 5
    assert made.value("kafka_server_replicamanager_partitionswithlatetransactionscount") == 6
