"""kill -9 of the broker: what was acknowledged is there afterwards, wherever the blow fell.

The process dies, not the machine: what it has handed to the operating system stays.
"""

from __future__ import annotations

import random
import time

import pytest

from system_tests.checks import check_compacted, check_log
from system_tests.clients import AckedProducer, create_topic, delete_topic, read_topic, topics
from system_tests.conftest import NewBroker, Note, Progress
from system_tests.services import SESSION_TIMEOUT_MS, KafkaService, wait_until

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
    broker = new_broker({"zookeeper.session.timeout.ms": 4000, "kafkapy.watchdog.enable": "false"})
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


@pytest.mark.long
def test_killed_while_starting(broker: KafkaService, note: Note) -> None:
    """A recovery that does not come to its end is done again."""
    create_topic(broker.bootstrap, "often", 20, SMALL_SEGMENTS)
    producer = AckedProducer(broker.bootstrap, "often", 20)
    producer.send(40_000)
    chance = random.Random(3)
    for _ in range(6):
        broker.hard_kill()
        broker.start(wait=False)
        time.sleep(0.3 + 1.5 * chance.random())
    broker.wait_until_serving()
    producer.send(2000)
    check_log(producer, read_topic(broker.bootstrap, "often", 20), exactly_once=True)
    note("kills", 6)


@pytest.mark.long
def test_topics_come_and_go_through_kills(broker: KafkaService, note: Note) -> None:
    """A deletion is finished after the kill; a name that comes again is a new topic."""
    for number in range(5):
        create_topic(broker.bootstrap, f"kept-{number}", 3)
        create_topic(broker.bootstrap, "again", 3)
        producer = AckedProducer(broker.bootstrap, "again", 3)
        producer.send(30 * (number + 1))
        check_log(producer, read_topic(broker.bootstrap, "again", 3), exactly_once=True)
        delete_topic(broker.bootstrap, "again")
        broker.hard_bounce()
        wait_until(lambda: "again" not in topics(broker.bootstrap), 30, "the topic is gone")
    kept = {f"kept-{number}" for number in range(5)}
    assert topics(broker.bootstrap) - {"__consumer_offsets"} == kept
    broker.clean_bounce()
    assert topics(broker.bootstrap) - {"__consumer_offsets"} == kept
    directories = {path.name.rpartition("-")[0] for path in broker.data.iterdir() if path.is_dir()}
    assert {name for name in directories if not name.startswith(("again-", "__"))} == kept


@pytest.mark.long
def test_kills_while_the_log_is_compacted(new_broker: NewBroker, note: Note) -> None:
    """Segments that were about to be swapped are swapped or dropped: each key keeps its last value."""
    keys = 500
    broker = new_broker({"log.cleaner.backoff.ms": 50, "log.initial.task.delay.ms": 100})
    broker.start()
    configs = {"cleanup.policy": "compact", "segment.bytes": 1 << 18, "min.cleanable.dirty.ratio": 0.01}
    create_topic(broker.bootstrap, "compacted", configs=configs)
    producer = AckedProducer(
        broker.bootstrap, "compacted", keys=keys, records_per_second=20_000, batch_size=50_000
    ).start()
    chance = random.Random(5)
    for _ in range(8):
        producer.wait_for(10_000)
        time.sleep(chance.random() / 2)
        broker.hard_bounce()
    producer.wait_for(1000)
    producer.stop()
    assert not producer.failures, producer.failures[0]
    found = read_topic(broker.bootstrap, "compacted")[0]
    check_compacted(producer, found, keys)
    assert len(found) < producer.sent[0] / 2, "nothing was compacted"
    note("records sent", f"{producer.sent[0]:,}")
    note("left", f"{len(found):,}")
