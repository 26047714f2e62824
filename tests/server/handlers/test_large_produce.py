"""Produce requests that others must not wait for: what is done in other turns and in threads, and what that may not change."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log_config import LogConfig
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.api_versions import ApiVersionsRequest
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.record.batches import batches
from kafkapy.record.compression import CompressionType
from kafkapy.record.record_batch import RecordBatch
from kafkapy.runtime.completion import Completion
from kafkapy.server.handlers.produce import LEAST_PARTITIONS
from kafkapy.server.metrics.sources import request_stats
from tests.server.broker_core import BROKER_ID, TOPIC, BrokerCore, Client, MakeCore, batch, topic_id_of
from tests.server.handlers.test_produce import answer, answers, error, produce

VERSION = 9
PARTITION = TopicPartition(TOPIC, 0)
LARGE = batch(*[bytes(1000)] * 3000)
BOMB = batch(*[bytes(1000)] * 5000, compression_type=CompressionType.ZSTD)


@pytest.fixture
def core(make_core: MakeCore) -> BrokerCore:
    core = make_core()
    core.create_topic(max_message_bytes=str(1 << 24))
    core.records.holds = True
    return core


@pytest.fixture
def client(core: BrokerCore) -> Client:
    return core.connect()


def counts(core: BrokerCore, topic: str = TOPIC) -> list[int]:
    """Records of the partition's batches."""
    return [found.record_count or 0 for found in stored(core, topic)]


def stored(core: BrokerCore, topic: str = TOPIC) -> list[RecordBatch]:
    (path,) = (core.directory / "logs" / f"{topic}-0").glob("*.log")
    return [found for found in batches(path.read_bytes()) if isinstance(found, RecordBatch)]


def run_all(core: BrokerCore) -> None:
    while core.records.held:
        core.records.work()


@pytest.mark.parametrize("records", [LARGE, BOMB], ids=["large", "a bomb"])
def test_others_go_on_while_a_large_request_is_in_a_thread(core: BrokerCore, client: Client, records: bytes) -> None:
    client.send(produce((TOPIC, 0, records)), VERSION)
    client.send(produce((TOPIC, 0, batch(b"after"))), VERSION)
    assert answer(core.connect().call(produce((TOPIC, 0, batch(b"other"))), VERSION)).base_offset == 0
    assert client.response() is None
    run_all(core)
    assert answer(client.response()).base_offset == 1
    assert answer(client.response()).base_offset == 1 + max(counts(core))
    assert [len(list(found.records())) for found in stored(core)] == counts(core)
    assert core.partition().leader_log().high_watermark == sum(counts(core))


def test_memory_of_the_connection_may_be_used_again_meanwhile(core: BrokerCore, client: Client) -> None:
    client.send(produce((TOPIC, 0, BOMB)), VERSION)
    core.connect().call(produce((TOPIC, 0, batch(b"x" * 100_000))), VERSION)
    run_all(core)
    assert answer(client.response()).error_code == 0
    assert {bytes(record.value or b"") for record in stored(core)[1].records()} == {bytes(1000)}


def test_partitions_of_a_request_share_its_memory_until_all_are_written(core: BrokerCore, client: Client) -> None:
    """What was made anew for one of them is let go before the next is looked at."""
    core.create_topic("anew", max_message_bytes=str(1 << 24), compression_type="lz4")
    core.create_topic("anew-too", max_message_bytes=str(1 << 24), compression_type="snappy")
    contents = {"anew": b"a" * 1000, "anew-too": b"b" * 1000, TOPIC: b"c" * 1000}
    data = [(topic, 0, batch(*[value] * 3000)) for topic, value in contents.items()]
    client.send(produce(*data), VERSION)
    run_all(core)
    assert [each.error_code for each in answers(client.response()).values()] == [0, 0, 0]
    for topic, value in contents.items():
        (found,) = stored(core, topic)
        found.ensure_valid()
        assert {bytes(record.value or b"") for record in found.records()} == {value}


def test_writing_a_large_batch_is_for_a_thread_and_others_append_behind_it(core: BrokerCore, client: Client) -> None:
    client.send(produce((TOPIC, 0, LARGE)), VERSION)
    core.records.work()
    assert counts(core) == [], "only validated"
    other = core.connect()
    other.send(produce((TOPIC, 0, batch(b"other"))), VERSION)
    assert other.response() is None, "nobody waits for the log's lock"
    run_all(core)
    assert answer(client.response()).base_offset == 0
    assert answer(other.response()).base_offset == 3000


@pytest.mark.parametrize("steps", [0, 1])
def test_who_leads_is_looked_at_again(core: BrokerCore, client: Client, steps: int) -> None:
    core.brokers.append(1)
    client.send(produce((TOPIC, 0, LARGE)), VERSION)
    for _ in range(steps):
        core.records.work()
    core.leader_and_isr(TOPIC, [0], topic_id_of(TOPIC), 1, 1, [1, 0], [0, 1])
    run_all(core)
    assert error(client.response()) is Errors.NOT_LEADER_OR_FOLLOWER
    assert counts(core) == []


@pytest.mark.parametrize("steps", [0, 1])
def test_a_new_epoch_of_the_same_leader(core: BrokerCore, client: Client, steps: int) -> None:
    """What was on its way into the log may not get behind the beginning of the epoch."""
    client.send(produce((TOPIC, 0, LARGE)), VERSION)
    for _ in range(steps):
        core.records.work()
    core.leader_and_isr(TOPIC, [0], topic_id_of(TOPIC), BROKER_ID, 1, [BROKER_ID], [BROKER_ID])
    run_all(core)
    got = error(client.response())
    assert got is (Errors.NOT_LEADER_OR_FOLLOWER if steps else Errors.NONE)
    assert [found.partition_leader_epoch for found in stored(core)] == ([] if steps else [1])


def test_too_few_in_sync_meanwhile(core: BrokerCore, client: Client) -> None:
    core.brokers.append(1)
    core.create_topic("r", replicas=(0, 1), min_insync_replicas="2", max_message_bytes=str(1 << 24))
    client.send(produce(("r", 0, LARGE), acks=-1), VERSION)
    core.leader_and_isr("r", [0], topic_id_of("r"), 0, 1, [0], [0, 1])
    run_all(core)
    assert error(client.response()) is Errors.NOT_ENOUGH_REPLICAS


def test_acks_all_waits_for_the_followers_in_the_end(core: BrokerCore, client: Client) -> None:
    core.brokers.append(1)
    core.create_topic("r", replicas=(0, 1), max_message_bytes=str(1 << 24))
    client.send(produce(("r", 0, LARGE), acks=-1, timeout_ms=500), VERSION)
    run_all(core)
    assert counts(core, "r") == [3000]
    assert client.response() is None
    core.advance(1000)
    assert error(client.response()) is Errors.REQUEST_TIMED_OUT


def test_the_config_that_holds_in_the_end_counts(core: BrokerCore, client: Client) -> None:
    client.send(produce((TOPIC, 0, BOMB)), VERSION)
    log = core.partition().leader_log()
    work, done = core.records.held.pop(0)
    result = work()
    log.update_config(LogConfig({"compression.type": "gzip", "max.message.bytes": 1 << 24}))
    done.set_result(result)
    run_all(core)
    assert answer(client.response()).error_code == 0
    (found,) = stored(core)
    assert (found.compression_type, found.record_count) == (CompressionType.GZIP, 5000)


def test_errors_are_those_of_small_requests(core: BrokerCore, client: Client) -> None:
    spoilt = bytearray(LARGE)
    spoilt[-1] ^= 1
    client.send(produce((TOPIC, 0, bytes(spoilt)), (TOPIC, 1, LARGE), ("nowhere", 0, LARGE)), VERSION)
    run_all(core)
    got = {name: Errors.for_code(one.error_code) for name, one in answers(client.response()).items()}
    assert got == {
        (TOPIC, 0): Errors.CORRUPT_MESSAGE,
        (TOPIC, 1): Errors.UNKNOWN_TOPIC_OR_PARTITION,
        ("nowhere", 0): Errors.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_a_producer_may_send_a_large_batch_again(core: BrokerCore, client: Client) -> None:
    large = batch(*[bytes(1000)] * 3000, producer=(7, 0, 0))
    offsets = []
    for _ in range(2):
        client.send(produce((TOPIC, 0, large)), VERSION)
        run_all(core)
        offsets.append(answer(client.response()).base_offset)
    assert offsets == [0, 0]
    assert counts(core) == [3000]


def test_large_and_small_partitions_of_one_request(core: BrokerCore, client: Client) -> None:
    core.create_topic("u", partitions=2, max_message_bytes=str(1 << 24))
    client.send(produce((TOPIC, 0, LARGE), ("u", 0, batch(b"a", b"b")), ("u", 1, LARGE)), VERSION)
    assert counts(core, "u") == [2]
    run_all(core)
    got = answers(client.response())
    assert {name: one.base_offset for name, one in got.items()} == {(TOPIC, 0): 0, ("u", 0): 0, ("u", 1): 0}
    assert [one.index for topic in [got] for one in topic.values()] == [0, 0, 1]


def test_acks_0_of_a_large_request(core: BrokerCore, client: Client) -> None:
    client.send(produce((TOPIC, 0, LARGE), acks=0), VERSION)
    client.send(ApiVersionsRequest(), 0)
    run_all(core)
    assert client.response() is not None
    spoilt = bytearray(LARGE)
    spoilt[-1] ^= 1
    client.send(produce((TOPIC, 0, bytes(spoilt)), acks=0), VERSION)
    assert not client.closed
    run_all(core)
    assert client.closed


def test_a_client_that_has_gone_has_still_written(core: BrokerCore, client: Client) -> None:
    client.send(produce((TOPIC, 0, LARGE)), VERSION)
    client.channel.connectionLost()
    run_all(core)
    assert counts(core) == [3000]


def test_answers_before_it_do_not_let_others_overtake(core: BrokerCore, client: Client) -> None:
    core.brokers.append(1)
    core.create_topic("r", replicas=(0, 1))
    client.send(produce(("r", 0, batch(b"first")), acks=-1, timeout_ms=500), VERSION)
    client.send(produce((TOPIC, 0, LARGE)), VERSION)
    client.send(produce((TOPIC, 0, batch(b"last"))), VERSION)
    core.advance(1000)
    assert error(client.response()) is Errors.REQUEST_TIMED_OUT
    assert (client.response(), counts(core)) == (None, [])
    run_all(core)
    assert [answer(client.response()).base_offset for _ in range(2)] == [0, 3000]


def test_memory_of_the_pool_is_kept_until_the_records_are_written(make_core: MakeCore) -> None:
    core = make_core(queued_max_request_bytes="4000000", socket_request_max_bytes="4000000")
    core.create_topic(max_message_bytes=str(1 << 24))
    core.records.holds = True
    first, second = core.connect(), core.connect()
    first.send(produce((TOPIC, 0, LARGE)), VERSION)
    second.send(produce((TOPIC, 0, LARGE)), VERSION)
    pool = core.sockets.memory_pool
    assert pool is not None
    assert pool.available < 4_000_000 - 2 * len(LARGE)
    run_all(core)
    assert answer(first.response()).error_code == answer(second.response()).error_code == 0
    assert pool.available == 4_000_000


def test_a_request_of_very_many_partitions_takes_several_turns(
    make_core: MakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = make_core()
    many = LEAST_PARTITIONS * 3
    core.create_topic(partitions=many)
    client, other = core.connect(), core.connect()
    turn: Completion[None] = Completion()
    monkeypatch.setattr(core.time, "should_yield", lambda extra_seconds=0.0: not turn.done)
    monkeypatch.setattr(core.time, "yield_now", lambda: turn)
    client.send(produce(*[(TOPIC, index, batch(b"%d" % index)) for index in range(many)]), VERSION)
    assert client.response() is None
    assert answer(other.call(produce((TOPIC, many - 1, batch(b"other"))), VERSION)).base_offset == 0
    turn.set_result(None)
    offsets = {index: one.base_offset for (_, index), one in answers(client.response()).items()}
    assert offsets == {index: int(index == many - 1) for index in range(many)}


def test_a_request_goes_on_for_a_little_longer_than_a_turn(
    make_core: MakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = make_core()
    many = LEAST_PARTITIONS * 2
    core.create_topic(partitions=many)
    monkeypatch.setattr(core.time, "should_yield", lambda extra_seconds=0.0: not extra_seconds)
    client = core.connect()
    client.send(produce(*[(TOPIC, index, batch()) for index in range(many)]), VERSION)
    assert len(answers(client.response())) == many
    assert not core.time.yields


def test_a_segment_begins_in_a_thread(make_core: MakeCore) -> None:
    """Its files are made there. What comes meanwhile finds no room either."""
    core = make_core()
    core.create_topic(segment_bytes="300")
    core.records.holds = True
    first, second = core.connect(), core.connect()
    assert answer(first.call(produce((TOPIC, 0, batch(b"a" * 200))), VERSION)).base_offset == 0
    first.send(produce((TOPIC, 0, batch(b"b" * 200))), VERSION)
    second.send(produce((TOPIC, 0, batch(b"c"))), VERSION)
    assert (first.response(), second.response()) == (None, None)
    assert len(core.partition().leader_log().log_segments) == 1
    core.records.work()
    assert answer(first.response()).base_offset == 1, "it went there once"
    run_all(core)
    assert answer(second.response()).base_offset == 2
    assert len(core.partition().leader_log().log_segments) == 3


# -- flush.messages


@pytest.fixture
def synced(make_core: MakeCore) -> BrokerCore:
    core = make_core()
    core.create_topic(flush_messages="1")
    core.time.holds = True
    return core


@pytest.mark.parametrize("acks", [1, -1])
def test_an_answer_waits_for_the_fsync_and_what_came_meanwhile_shares_the_next(synced: BrokerCore, acks: int) -> None:
    log = synced.partition().leader_log()
    clients = [synced.connect() for _ in range(4)]
    for client in clients:
        client.send(produce((TOPIC, 0, batch()), acks=acks), VERSION)
    assert (len(synced.time.held), log.log_end_offset, log.high_watermark) == (1, 4, 0)
    assert [client.response() for client in clients] == [None] * 4
    work, done = synced.time.held.pop(0)
    work()
    synced.connect().send(produce((TOPIC, 0, batch()), acks=acks), VERSION)
    done.set_result(None)
    assert (len(synced.time.held), log.recovery_point, log.high_watermark) == (1, 4, 1), "the first was under way"
    assert answer(clients[0].response()).base_offset == 0
    synced.time.work()
    assert (len(synced.time.held), log.recovery_point, log.high_watermark) == (0, 5, 5)
    assert [answer(client.response()).base_offset for client in clients[1:]] == [1, 2, 3]


def test_requests_of_one_connection_share_fsyncs_and_keep_their_order(synced: BrokerCore) -> None:
    client = synced.connect()
    for _ in range(3):
        client.send(produce((TOPIC, 0, batch())), VERSION)
    client.send(ApiVersionsRequest(), 0)
    synced.time.work()
    assert answer(client.response()).base_offset == 0
    assert client.response() is None
    synced.time.work()
    assert [answer(client.response()).base_offset for _ in range(2)] == [1, 2]
    assert client.response().api_keys
    assert not synced.time.held


def test_a_disk_that_fails(synced: BrokerCore) -> None:
    client = synced.connect()
    client.send(produce((TOPIC, 0, batch())), VERSION)
    _, done = synced.time.held.pop(0)
    done.set_exception(KafkaError(Errors.KAFKA_STORAGE_ERROR, "the disk is gone"))
    assert error(client.response()) is Errors.KAFKA_STORAGE_ERROR
    assert synced.partition().leader_log().high_watermark == 0


def test_without_threads_nothing_waits(make_core: MakeCore) -> None:
    core = make_core()
    core.create_topic(flush_messages="2")
    client = core.connect()
    for offset, recovery_point in ((0, 0), (1, 2), (2, 2), (3, 4)):
        assert answer(client.call(produce((TOPIC, 0, batch())), VERSION)).base_offset == offset
        assert core.partition().leader_log().recovery_point == recovery_point
        assert core.partition().leader_log().high_watermark == offset + 1


def very_many(**fields: Any) -> ProduceRequest:
    """So many partitions that the request is decoded in a thread; the first one exists."""
    data = [(TOPIC, 0, batch(b"a"))] + [(TOPIC, index, batch(b"x")) for index in range(1, 14_000)]
    return produce(*data, **fields)


@pytest.mark.parametrize("version", [2, 7, VERSION, 11])
def test_very_many_partitions(core: BrokerCore, version: int) -> None:
    core.sockets.request_stats = request_stats()
    client = core.connect()
    client.send(very_many(), version)
    assert len(core.records.held) == 1
    run_all(core)
    got = answers(client.response())
    assert len(got) == 14_000
    assert got.pop((TOPIC, 0)).error_code == 0
    assert {each.error_code for each in got.values()} == {Errors.UNKNOWN_TOPIC_OR_PARTITION.code}
    assert core.sockets.request_stats.clients[ApiKey.PRODUCE].errors == {3: 13_999}
    assert counts(core) == [1]


def test_very_many_partitions_of_a_client_that_does_not_wait(core: BrokerCore) -> None:
    client = core.connect()
    client.send(very_many(acks=0), VERSION)
    client.channel.connectionLost()
    run_all(core)
    assert counts(core) == [1]
    assert client.response() is None
