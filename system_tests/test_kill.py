"""kill -9 of the broker: what was acknowledged is there afterwards, wherever the blow fell.

The process dies, not the machine: what it has handed to the operating system stays.
"""

from __future__ import annotations

import random
import time

import pytest

from system_tests.checks import check_log
from system_tests.clients import AckedProducer, create_topic, read_topic
from system_tests.conftest import NewBroker, Note, Progress
from system_tests.services import SESSION_TIMEOUT_MS, KafkaService

SMALL_SEGMENTS = {"segment.bytes": 1 << 20, "index.interval.bytes": 1024}


@pytest.mark.timeout(900)
def test_acknowledged_records_survive_kills_under_load(
    broker: KafkaService, kills: int, note: Note, progress: Progress
) -> None:
    create_topic(broker.bootstrap, "acks-1", 2, SMALL_SEGMENTS)
    create_topic(broker.bootstrap, "acks-all", 2, SMALL_SEGMENTS)
    one = AckedProducer(
        broker.bootstrap, "acks-1", 2, acks=1, enable_idempotence="false", max_in_flight_requests_per_connection=1
    ).start()
    every = AckedProducer(broker.bootstrap, "acks-all", 2, compression_type="lz4").start()
    chance = random.Random(7)
    slowest = 0.0
    for kill in range(1, kills + 1):
        one.wait_for(2000)
        every.wait_for(2000)
        time.sleep(chance.random() / 2)
        slowest = max(slowest, broker.hard_bounce())
        progress(f"kill {kill} of {kills}: {one.acknowledged + every.acknowledged:,} records acknowledged")
    one.wait_for(500)
    every.wait_for(500)
    one.stop()
    every.stop()

    assert not one.failures and not every.failures, (one.failures + every.failures)[0]
    check_log(one, read_topic(broker.bootstrap, "acks-1", 2), exactly_once=False)
    check_log(every, read_topic(broker.bootstrap, "acks-all", 2), exactly_once=True)
    note("kills", kills)
    note("records acknowledged", f"{one.acknowledged + every.acknowledged:,}")
    note("slowest restart", f"{slowest:.1f} s, of which up to {SESSION_TIMEOUT_MS / 1000:g} s wait for ZooKeeper")


@pytest.mark.parametrize("compression", ["none", pytest.param("zstd", marks=pytest.mark.long)])
def test_torn_batch_is_cut_off(new_broker: NewBroker, compression: str, note: Note) -> None:
    """The last write reached the file in part, and indexes hold what never got into the log."""
    broker = new_broker({"zookeeper.session.timeout.ms": 1000})
    broker.start()
    create_topic(broker.bootstrap, "torn", configs={"index.interval.bytes": 1024})
    producer = AckedProducer(broker.bootstrap, "torn", compression_type=compression)
    producer.send(3000)
    broker.hard_kill()
    segment = max(broker.partition_dir("torn").glob("*.log"))
    whole = segment.read_bytes()
    first_batch = whole[: 12 + int.from_bytes(whole[8:12], "big")]
    torn = producer.sent[0].to_bytes(8, "big") + first_batch[8 : len(first_batch) * 2 // 3]
    with open(segment, "ab") as file:
        file.write(torn)
    with open(segment.with_suffix(".index"), "r+b") as index:
        index.seek(4096)
        index.write(b"\x7f" * 64)

    seconds = broker.start()
    assert segment.stat().st_size == len(whole)
    check_log(producer, read_topic(broker.bootstrap, "torn"), exactly_once=True)
    producer.send(100)
    check_log(producer, read_topic(broker.bootstrap, "torn"), exactly_once=True)
    note("restart", f"{seconds:.1f} s")


@pytest.mark.long
def test_restart_waits_for_the_session_of_the_killed_broker(new_broker: NewBroker, note: Note) -> None:
    """Apache Kafka's broker gives up here (NodeExists); ours waits for the end that is certain to come."""
    broker = new_broker({"zookeeper.session.timeout.ms": 4000})
    broker.start()
    create_topic(broker.bootstrap, "waits")
    epoch = broker.wait_until_registered()
    seconds = broker.hard_bounce()
    assert "waiting up to" in broker.text()
    assert broker.wait_until_registered(after_epoch=epoch) > epoch
    producer = AckedProducer(broker.bootstrap, "waits")
    producer.send(10)
    check_log(producer, read_topic(broker.bootstrap, "waits"), exactly_once=True)
    note("restart", f"{seconds:.1f} s")
