"""Of transactions that hang the operator hears once, and how to end them."""

from __future__ import annotations

import logging

import pytest

from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from kafkapy.server.coordinators.late_transactions import CHECK_INTERVAL_MS, LATE_TRANSACTION_BUFFER_MS
from tests.server.broker_core import TOPIC, BrokerCore, MakeCore, batch

MAX_TIMEOUT_MS = 600_000


@pytest.fixture
def core(make_core: MakeCore) -> BrokerCore:
    """It verifies nothing, so transactions may begin that no coordinator knows."""
    core = make_core(transaction_partition_verification_enable="false", transaction_max_timeout_ms=str(MAX_TIMEOUT_MS))
    core.create_topic()
    core.transactions.late.startup()
    return core


def begin(core: BrokerCore, producer_id: int) -> None:
    records = batch(producer=(producer_id, 3, 0), is_transactional=True, timestamp=core.time.milliseconds())
    data = ProduceRequest.PartitionProduceData(index=0, records=records)
    topic = ProduceRequest.TopicProduceData(name=TOPIC, partition_data=[data])
    request = ProduceRequest(transactional_id="x", acks=-1, timeout_ms=1000, topic_data=[topic])
    (answered,) = core.connect().call(request, 9).responses
    assert answered.partition_responses[0].error_code == 0


def end(core: BrokerCore, producer_id: int) -> None:
    topic = WriteTxnMarkersRequest.WritableTxnMarkerTopic(name=TOPIC, partition_indexes=[0])
    marker = WriteTxnMarkersRequest.WritableTxnMarker(producer_id=producer_id, producer_epoch=3, topics=[topic])
    (answered,) = core.connect().call(WriteTxnMarkersRequest(markers=[marker]), 1).markers
    assert answered.topics[0].partitions[0].error_code == 0


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "kafkapy.server.LateTransactions"]


def test_each_is_told_once_until_it_ends(core: BrokerCore, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    late = core.transactions.late
    begin(core, 5)
    begin(core, 6)
    core.advance(MAX_TIMEOUT_MS + LATE_TRANSACTION_BUFFER_MS)
    assert (late.partition_count, warnings(caplog)) == (0, [])
    core.advance(CHECK_INTERVAL_MS)
    assert late.partition_count == 1
    first, second = warnings(caplog)
    assert "hangs in t-0: producer 5 (epoch 3) began it at offset 0" in first
    assert first.endswith("abort --topic t --partition 0 --start-offset 0")
    assert second.endswith("abort --topic t --partition 0 --start-offset 1")
    core.advance(3 * CHECK_INTERVAL_MS)
    assert len(warnings(caplog)) == 2
    end(core, 5)
    core.advance(CHECK_INTERVAL_MS)
    assert late.partition_count == 1
    end(core, 6)
    core.advance(CHECK_INTERVAL_MS)
    assert late.partition_count == 0


def test_one_that_is_written_to_is_not_late(core: BrokerCore) -> None:
    begin(core, 5)
    core.advance(MAX_TIMEOUT_MS)
    partition = core.partition()
    partition.leader_log().producers.producers[5].last_timestamp = core.time.milliseconds()
    core.advance(LATE_TRANSACTION_BUFFER_MS + CHECK_INTERVAL_MS)
    assert core.transactions.late.partition_count == 0


def test_only_the_leader_tells(core: BrokerCore) -> None:
    begin(core, 5)
    core.partition().is_leader = False
    core.advance(MAX_TIMEOUT_MS + LATE_TRANSACTION_BUFFER_MS + CHECK_INTERVAL_MS)
    assert core.transactions.late.partition_count == 0


def test_it_ends_with_the_broker(core: BrokerCore) -> None:
    begin(core, 5)
    core.transactions.late.shutdown()
    core.advance(MAX_TIMEOUT_MS + LATE_TRANSACTION_BUFFER_MS + CHECK_INTERVAL_MS)
    assert core.transactions.late.partition_count == 0
