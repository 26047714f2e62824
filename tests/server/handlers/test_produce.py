"""Produce, from the frame to the log and back."""

from __future__ import annotations

import gc

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.network.request import Request
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkapy.record.batches import batches
from kafkapy.record.legacy import LegacyRecordBatch
from kafkapy.record.record_batch import RecordBatch
from tests.server.broker_core import TOPIC, BrokerCore, Client, MakeCore, batch, topic_id_of

NEWEST = 11
PARTITION = TopicPartition(TOPIC, 0)
Answer = ProduceResponse.PartitionProduceResponse


def produce(
    *batches_of_partitions: tuple[str, int, bytes | None],
    acks: int = 1,
    timeout_ms: int = 1000,
    transactional_id: str | None = None,
) -> ProduceRequest:
    """A request that writes each (topic, partition, records)."""
    topics: dict[str, list[ProduceRequest.PartitionProduceData]] = {}
    for topic, index, records in batches_of_partitions:
        topics.setdefault(topic, []).append(ProduceRequest.PartitionProduceData(index=index, records=records))
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[ProduceRequest.TopicProduceData(name=t, partition_data=data) for t, data in topics.items()],
    )


def answers(response: ProduceResponse) -> dict[tuple[str, int], Answer]:
    return {(topic.name, p.index): p for topic in response.responses for p in topic.partition_responses}


def answer(response: ProduceResponse) -> Answer:
    (only,) = answers(response).values()
    return only


def error(response: ProduceResponse) -> Errors:
    return Errors.for_code(answer(response).error_code)


def stored(core: BrokerCore, topic: str = TOPIC) -> list[tuple[int, bytes]]:
    """(offset, value) of all records in the partition's one file."""
    log = core.partition(topic).log
    assert log is not None
    (path,) = [path for path in (core.directory / "logs" / f"{topic}-0").iterdir() if path.suffix == ".log"]
    return [(r.offset, bytes(r.value or b"")) for b in batches(path.read_bytes()) for r in b.records()]


# -- what is written


@pytest.mark.parametrize("version", range(NEWEST + 1))
def test_each_version_appends_and_is_answered_with_the_offset(core: BrokerCore, client: Client, version: int) -> None:
    magic = 0 if version < 2 else 1 if version == 2 else 2
    for expected in (0, 2):
        got = answer(client.call(produce((TOPIC, 0, batch(b"a", b"b", magic=magic))), version))
        assert (got.error_code, got.base_offset) == (0, expected)
    if version >= 5:
        assert got.log_start_offset == 0
    if version >= 2:
        assert got.log_append_time_ms == -1
    assert stored(core) == [(0, b"a"), (1, b"b"), (2, b"a"), (3, b"b")]


def test_old_message_sets_are_converted_to_one_batch(core: BrokerCore, client: Client) -> None:
    old = batch(b"a", magic=1) + batch(b"b", magic=1)
    assert isinstance(next(iter(batches(old))), LegacyRecordBatch)
    assert answer(client.call(produce((TOPIC, 0, old)), 2)).base_offset == 0
    (only,) = batches((core.directory / "logs" / "t-0" / "00000000000000000000.log").read_bytes())
    assert isinstance(only, RecordBatch)
    assert only.partition_leader_epoch == 0
    assert [(r.offset, bytes(r.value or b"")) for r in only.records()] == [(0, b"a"), (1, b"b")]


def test_log_append_time_is_answered(make_core: MakeCore) -> None:
    core = make_core()
    core.create_topic(message_timestamp_type="LogAppendTime")
    got = answer(core.connect().call(produce((TOPIC, 0, batch())), NEWEST))
    assert got.log_append_time_ms == core.time.milliseconds()


def test_each_partition_has_its_own_fate(core: BrokerCore, client: Client) -> None:
    core.create_topic("u", 2)
    corrupt = bytearray(batch(b"x"))
    corrupt[-1] ^= 1
    response = client.call(
        produce(
            (TOPIC, 0, batch()), (TOPIC, 9, batch()), ("u", 0, bytes(corrupt)), ("u", 1, batch()), ("?", 0, batch())
        ),
        NEWEST,
    )
    errors = {partition: Errors.for_code(got.error_code) for partition, got in answers(response).items()}
    assert errors == {
        (TOPIC, 0): Errors.NONE,
        (TOPIC, 9): Errors.UNKNOWN_TOPIC_OR_PARTITION,
        ("u", 0): Errors.CORRUPT_MESSAGE,
        ("u", 1): Errors.NONE,
        ("?", 0): Errors.UNKNOWN_TOPIC_OR_PARTITION,
    }
    failed = answers(response)[("u", 0)]
    assert (failed.base_offset, failed.log_append_time_ms, failed.log_start_offset) == (-1, -1, -1)


def test_bad_records_are_named_one_by_one(make_core: MakeCore) -> None:
    core = make_core()
    core.create_topic(cleanup_policy="compact")
    got = answer(core.connect().call(produce((TOPIC, 0, batch(b"a", b"b", key=None))), NEWEST))
    assert Errors.for_code(got.error_code) is Errors.INVALID_RECORD
    assert [e.batch_index for e in got.record_errors] == [0, 1]
    assert got.error_message
    assert got.log_start_offset == 0


def test_two_batches_in_a_partition_are_refused(client: Client) -> None:
    got = answer(client.call(produce((TOPIC, 0, batch() + batch())), 3))
    assert Errors.for_code(got.error_code) is Errors.INVALID_RECORD
    assert (got.error_message, got.log_start_offset) == (None, -1)


def test_a_batch_that_is_too_large(make_core: MakeCore) -> None:
    core = make_core()
    core.create_topic(max_message_bytes="100")
    assert error(core.connect().call(produce((TOPIC, 0, batch(b"x" * 100))), NEWEST)) is Errors.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("version", [9, 10])
def test_a_follower_refuses_and_names_the_leader_from_version_10_on(make_core: MakeCore, version: int) -> None:
    core = make_core(others=(1,))
    core.create_topic(replicas=[0, 1], leader=1, epoch=3)
    core.update_metadata("elsewhere", [0], b"x" * 16, 1, 5, [1], [1])
    response = core.connect().call(produce((TOPIC, 0, batch()), ("elsewhere", 0, batch())), version)
    for got, epoch in zip(answers(response).values(), (3, 5), strict=True):
        assert Errors.for_code(got.error_code) is Errors.NOT_LEADER_OR_FOLLOWER
        if version >= 10:
            assert got.current_leader is not None
            assert (got.current_leader.leader_id, got.current_leader.leader_epoch) == (1, epoch)
        else:
            assert got.current_leader is None
    nodes = [(node.node_id, node.host, node.port) for node in response.node_endpoints]
    assert nodes == ([(1, "host-1", 9093)] if version >= 10 else [])


def test_a_leader_that_is_not_known(make_core: MakeCore) -> None:
    core = make_core()
    core.create_topic(replicas=[0, 1], isr=[0], leader=-1)
    response = core.connect().call(produce((TOPIC, 0, batch())), NEWEST)
    assert error(response) is Errors.NOT_LEADER_OR_FOLLOWER
    named = answer(response).current_leader
    assert named is not None
    assert named.leader_id == -1
    assert response.node_endpoints == []


# -- acks


@pytest.mark.parametrize("acks", [2, -2, 32767])
def test_other_acks_are_refused(core: BrokerCore, client: Client, acks: int) -> None:
    got = answers(client.call(produce((TOPIC, 0, batch()), ("?", 0, batch()), acks=acks), NEWEST))
    assert Errors.for_code(got[(TOPIC, 0)].error_code) is Errors.INVALID_REQUIRED_ACKS
    assert Errors.for_code(got[("?", 0)].error_code) is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert core.partition().leader_log().log_end_offset == 0


def test_other_acks_are_no_matter_where_there_is_no_partition(client: Client) -> None:
    response = client.call(produce((TOPIC, 9, batch()), acks=2), NEWEST)
    assert error(response) is Errors.UNKNOWN_TOPIC_OR_PARTITION


def test_acks_0_is_not_answered(core: BrokerCore, client: Client) -> None:
    client.send(produce((TOPIC, 0, batch(b"a")), acks=0), NEWEST)
    assert client.response() is None
    assert not client.closed
    assert answer(client.call(produce((TOPIC, 0, batch(b"b"))), NEWEST)).base_offset == 1


def test_acks_0_and_an_error_close_the_connection(core: BrokerCore, client: Client) -> None:
    client.send(produce((TOPIC, 0, batch(b"a")), (TOPIC, 1, batch(b"a")), acks=0), NEWEST)
    assert client.response() is None
    assert client.closed
    assert stored(core) == [(0, b"a")]


def test_acks_all_alone_is_answered_at_once(client: Client) -> None:
    assert error(client.call(produce((TOPIC, 0, batch()), acks=-1), NEWEST)) is Errors.NONE


def test_acks_all_times_out_if_a_follower_in_sync_never_fetches(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    core.create_topic(replicas=[0, 1])
    client = core.connect()
    client.send(produce((TOPIC, 0, batch(b"a")), acks=-1, timeout_ms=500), NEWEST)
    core.advance(499)
    assert client.response() is None
    core.advance(10)
    got = answer(client.response())
    assert (Errors.for_code(got.error_code), got.base_offset) == (Errors.REQUEST_TIMED_OUT, 0)
    assert stored(core) == [(0, b"a")]
    assert core.partition().leader_log().high_watermark == 0


def test_acks_all_is_answered_when_the_isr_shrinks_to_the_leader(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    topic_id = core.create_topic(replicas=[0, 1])
    client = core.connect()
    client.send(produce((TOPIC, 0, batch()), acks=-1), NEWEST)
    core.leader_and_isr(TOPIC, [0], topic_id, 0, 1, [0], [0, 1])
    assert error(client.response()) is Errors.NONE


def test_acks_all_and_an_isr_that_shrinks_too_far(make_core: MakeCore) -> None:
    core = make_core(others=(1, 2))
    topic_id = core.create_topic(replicas=[0, 1, 2], isr=[0, 1, 2], min_insync_replicas="2")
    client = core.connect()
    client.send(produce((TOPIC, 0, batch()), acks=-1, timeout_ms=500), NEWEST)
    core.leader_and_isr(TOPIC, [0], topic_id, 0, 1, [0], [0, 1, 2])
    assert client.response() is None, "below min.insync.replicas the high watermark stays"
    core.advance(510)
    assert error(client.response()) is Errors.REQUEST_TIMED_OUT


def test_acks_all_is_answered_when_the_leadership_goes(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    topic_id = core.create_topic(replicas=[0, 1])
    client = core.connect()
    client.send(produce((TOPIC, 0, batch()), acks=-1), NEWEST)
    core.leader_and_isr(TOPIC, [0], topic_id, 1, 1, [1], [0, 1])
    assert error(client.response()) is Errors.NOT_LEADER_OR_FOLLOWER


def test_all_requests_of_a_connection_that_wait_are_answered_when_a_leadership_goes(make_core: MakeCore) -> None:
    """Else the producer might send newer batches to the new leader than the last five, which a log knows again."""
    core = make_core(others=(1,))
    core.create_topic(partitions=2, replicas=[0, 1])
    client = core.connect()
    for indexes in ((0,), (1,), (0, 1)):
        client.send(produce(*((TOPIC, index, batch()) for index in indexes), acks=-1), NEWEST)
    assert client.response() is None
    core.leader_and_isr(TOPIC, [0], topic_id_of(TOPIC), 1, 1, [0, 1], [0, 1])
    moved, late = Errors.NOT_LEADER_OR_FOLLOWER, Errors.REQUEST_TIMED_OUT
    for expected in ({0: moved}, {1: late}, {0: moved, 1: late}):
        found = answers(client.response())
        assert {index: Errors.for_code(a.error_code) for (_, index), a in found.items()} == expected


@pytest.mark.parametrize("followers", [0, 1])
def test_an_answered_request_leaves_nothing_to_the_garbage_collector(make_core: MakeCore, followers: int) -> None:
    """It would come by for all that were answered since, and hold up those that are not."""
    core = make_core(others=(1,))
    topic_id = core.create_topic(replicas=[0, 1], isr=[0, 1][: 1 + followers])
    client = core.connect()
    gc.collect()
    gc.disable()
    try:
        client.send(produce((TOPIC, 0, batch()), acks=-1), NEWEST)
        if followers:
            core.leader_and_isr(TOPIC, [0], topic_id, 0, 1, [0], [0, 1])
        assert error(client.response()) is Errors.NONE
        core.sockets.time_slice.meter.request = None  # as when a turn of the reactor ends
        left = [kept for kept in gc.get_objects() if isinstance(kept, Request) and kept.api_key is ApiKey.PRODUCE]
        assert left == []
    finally:
        gc.enable()


def test_not_enough_replicas_only_for_acks_all(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    core.create_topic(replicas=[0, 1], isr=[0], min_insync_replicas="2")
    client = core.connect()
    got = answer(client.call(produce((TOPIC, 0, batch()), acks=-1), NEWEST))
    assert Errors.for_code(got.error_code) is Errors.NOT_ENOUGH_REPLICAS
    assert got.log_start_offset == 0
    assert error(client.call(produce((TOPIC, 0, batch()), acks=1), NEWEST)) is Errors.NONE


def test_min_insync_replicas_above_the_replication_factor_means_all_replicas(make_core: MakeCore) -> None:
    core = make_core()
    core.create_topic(min_insync_replicas="3")
    assert error(core.connect().call(produce((TOPIC, 0, batch()), acks=-1), NEWEST)) is Errors.NONE


# -- idempotence


def idempotent(sequence: int, *values: bytes, epoch: int = 0) -> tuple[str, int, bytes]:
    return TOPIC, 0, batch(*(values or (b"v",)), producer=(5, epoch, sequence))


def test_a_repeated_batch_is_answered_as_before_and_not_stored_again(core: BrokerCore, client: Client) -> None:
    for sequence in range(5):
        client.call(produce(idempotent(sequence)), NEWEST)
    for sequence in (0, 4):
        got = answer(client.call(produce(idempotent(sequence), acks=-1), NEWEST))
        assert (got.error_code, got.base_offset) == (0, sequence)
    assert core.partition().leader_log().log_end_offset == 5


def test_a_batch_older_than_the_last_five_is_out_of_order(client: Client) -> None:
    for sequence in range(6):
        client.call(produce(idempotent(sequence)), NEWEST)
    assert error(client.call(produce(idempotent(0)), NEWEST)) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_gap_and_an_old_epoch_are_refused(client: Client) -> None:
    client.call(produce(idempotent(0, epoch=1)), NEWEST)
    got = answer(client.call(produce(idempotent(2, epoch=1)), NEWEST))
    assert Errors.for_code(got.error_code) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert got.log_start_offset == 0
    assert error(client.call(produce(idempotent(1, epoch=0)), NEWEST)) is Errors.INVALID_PRODUCER_EPOCH


# -- who may write where


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state"])
def test_internal_topics_are_written_by_the_admin_client_only(core: BrokerCore, topic: str) -> None:
    client = core.connect()
    assert error(client.call(produce((topic, 0, batch())), NEWEST)) is Errors.UNKNOWN_TOPIC_OR_PARTITION
    core.create_topic(topic)
    assert error(client.call(produce((topic, 0, batch())), NEWEST)) is Errors.INVALID_TOPIC_EXCEPTION
    assert error(core.connect("__admin_client").call(produce((topic, 0, batch())), NEWEST)) is Errors.NONE


@pytest.mark.parametrize(
    ("transactional_id", "expected"),
    [(None, Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED), ("x", Errors.NOT_ENOUGH_REPLICAS)],
)
def test_transactional_batches_that_no_coordinator_knows_are_refused(
    core: BrokerCore, client: Client, transactional_id: str | None, expected: Errors
) -> None:
    records = batch(producer=(5, 0, 0), is_transactional=True)
    request = produce((TOPIC, 0, records), acks=-1, transactional_id=transactional_id)
    assert error(client.call(request, NEWEST)) is expected
    assert core.partition().leader_log().log_end_offset == 0


def test_an_unknown_magic_fails_the_whole_request(core: BrokerCore, client: Client) -> None:
    broken = bytearray(batch())
    broken[16] = 9
    response = client.call(produce((TOPIC, 0, batch()), (TOPIC, 1, bytes(broken))), NEWEST)
    answers = [answer for topic in response.responses for answer in topic.partition_responses]
    assert {(answer.error_code, answer.error_message) for answer in answers} == {
        (Errors.CORRUPT_MESSAGE.code, "Invalid magic found in record: 9")
    }
    assert core.partition().leader_log().log_end_offset == 0


@pytest.mark.parametrize("version", [1, NEWEST])
def test_an_impossible_size_fails_the_whole_request(core: BrokerCore, client: Client, version: int) -> None:
    core.create_topic("u")
    broken = bytearray(batch())
    broken[8:12] = (13).to_bytes(4, "big")
    response = client.call(produce((TOPIC, 0, batch()), ("u", 0, bytes(broken)), ("?", 0, batch())), version)
    assert {got.error_code for got in answers(response).values()} == {Errors.CORRUPT_MESSAGE.code}
    assert core.partition().leader_log().log_end_offset == 0


@pytest.mark.parametrize("length", [14, 20, 48])
def test_a_size_too_small_for_a_batch_fails_its_partition_alone(core: BrokerCore, client: Client, length: int) -> None:
    """A record of an older format might be as small, so it is found in the log only, and not explained."""
    core.create_topic("u")
    broken = bytearray(batch())
    broken[8:12] = length.to_bytes(4, "big")
    got = answers(client.call(produce((TOPIC, 0, batch()), ("u", 0, bytes(broken))), NEWEST))
    assert (got[TOPIC, 0].error_code, core.partition().leader_log().log_end_offset) == (0, 1)
    assert (got["u", 0].error_code, got["u", 0].error_message) == (Errors.CORRUPT_MESSAGE.code, None)


def test_an_old_request_with_no_whole_message_appends_nothing(core: BrokerCore, client: Client) -> None:
    for records in (b"", batch(b"a", magic=1)[:-1]):
        got = answer(client.call(produce((TOPIC, 0, records)), 2))
        assert (got.error_code, got.base_offset) == (0, -1)
    assert core.partition().leader_log().log_end_offset == 0
    assert core.replicas.topic_stats.clients[TOPIC].messages_in == 0


def test_no_records_at_all(client: Client) -> None:
    assert error(client.call(produce((TOPIC, 0, b"")), NEWEST)) is Errors.INVALID_RECORD
    assert error(client.call(produce((TOPIC, 0, None)), NEWEST)) is Errors.UNKNOWN_SERVER_ERROR, "as in Kafka"
