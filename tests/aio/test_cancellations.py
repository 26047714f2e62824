"""Random cancellations with a real broker. The full count: `python -m system_tests.cancellations`."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path

import pytest

from system_tests import cancellations
from tests.broker_process import BrokerProcess

pytestmark = pytest.mark.integration


def test_no_record_is_lost_and_none_comes_twice(zookeeper: str, tmp_path: Path) -> None:
    of_transactions = {
        "transaction_state_log_replication_factor": "1",
        "transaction_state_log_min_isr": "1",
        "transaction_state_log_num_partitions": "1",
    }
    broker = BrokerProcess(tmp_path, f"{zookeeper}/{uuid.uuid4().hex[:12]}", **of_transactions)
    broker.start()
    outcome = asyncio.run(cancellations.run(broker.address, cancellations=1500, seed=1))
    assert outcome.cancellations >= 1500
    assert outcome.records > 100
    assert outcome.rebalances > 0
    assert outcome.committed > 10
    assert broker.stop() == 0
