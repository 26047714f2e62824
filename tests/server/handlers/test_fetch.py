"""Fetch, from the frame to the log and back: waiting, limits, sessions, epochs, old versions."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.common.uuid import ZERO_UUID
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkapy.record.batches import batches
from kafkapy.record.legacy import LegacyRecordBatch
from kafkapy.record.record_batch import RecordBatch
from tests.server.broker_core import TOPIC, BrokerCore, Client, MakeCore, batch

NEWEST = 17
LAST_WITH_NAMES = 12
FOLLOWER = 1
Partition = FetchResponse.PartitionData


def wanted(index: int = 0, offset: int = 0, *, max_bytes: int = 1 << 20, **fields: Any) -> FetchRequest.FetchPartition:
    return FetchRequest.FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=max_bytes, **fields)


def fetch(
    *topics: tuple[str | bytes, list[FetchRequest.FetchPartition]],
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    **fields: Any,
) -> FetchRequest:
    """A request for (topic name, partitions), or (topic id, partitions) for v13 and later."""
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        topics=[
            FetchRequest.FetchTopic(topic_id=topic, partitions=partitions)
            if isinstance(topic, bytes)
            else FetchRequest.FetchTopic(topic=topic, partitions=partitions)
            for topic, partitions in topics
        ],
        **fields,
    )


def from_offset(offset: int, **fields: Any) -> FetchRequest:
    return fetch((TOPIC, [wanted(0, offset)]), **fields)


def found(response: FetchResponse) -> dict[tuple[str, int], Partition]:
    return {(topic.topic, p.partition_index): p for topic in response.responses for p in topic.partitions}


def only(response: FetchResponse) -> Partition:
    (partition,) = found(response).values()
    return partition


def error(partition: Partition) -> Errors:
    return Errors.for_code(partition.error_code)


def values(partition: Partition) -> list[bytes]:
    return [bytes(r.value or b"") for b in batches(partition.records or b"") for r in b.records()]


# -- what is answered


@pytest.mark.parametrize("version", range(4, LAST_WITH_NAMES + 1))
def test_by_name(core: BrokerCore, client: Client, version: int) -> None:
    core.append(b"a", b"b")
    core.append(b"c")
    got = only(client.call(from_offset(0), version))
    assert (error(got), got.high_watermark, got.last_stable_offset) == (Errors.NONE, 3, 3)
    assert got.log_start_offset == (0 if version >= 5 else -1)
    assert values(got) == [b"a", b"b", b"c"]
    assert got.aborted_transactions is None


@pytest.mark.parametrize("version", range(13, NEWEST + 1))
def test_by_id(core: BrokerCore, client: Client, version: int) -> None:
    core.append(b"a")
    response = client.call(fetch((core.cache.topic_id(TOPIC), [wanted()])), version)
    assert response.responses[0].topic_id == core.cache.topic_id(TOPIC)
    assert values(only(response)) == [b"a"]


def test_reads_from_the_batch_that_holds_the_offset(core: BrokerCore, client: Client) -> None:
    core.append(b"a", b"b", b"c")
    core.append(b"d")
    assert values(only(client.call(from_offset(2), 12))) == [b"a", b"b", b"c", b"d"]
    assert values(only(client.call(from_offset(3), 12))) == [b"d"]


def test_read_committed_has_a_list_of_aborted_transactions(core: BrokerCore, client: Client) -> None:
    core.append(b"a")
    assert only(client.call(from_offset(0, isolation_level=1), 12)).aborted_transactions == []


def test_between_high_watermark_and_log_end_there_is_nothing(make_core: MakeCore) -> None:
    core = make_core(others=(FOLLOWER,))
    core.create_topic(replicas=[0, FOLLOWER])
    core.append(b"a", b"b")
    for offset in (0, 1, 2):
        got = only(core.connect().call(from_offset(offset), 12))
        assert (error(got), got.high_watermark, values(got)) == (Errors.NONE, 0, [])


def test_a_follower_reads_up_to_the_log_end(make_core: MakeCore) -> None:
    core = make_core(others=(FOLLOWER,))
    core.create_topic(replicas=[0, FOLLOWER])
    core.append(b"a", b"b")
    client = core.connect()
    assert values(only(client.call(from_offset(0, replica_id=FOLLOWER), 12))) == [b"a", b"b"]
    by_state = fetch((core.cache.topic_id(TOPIC), [wanted()]), max_wait_ms=0)
    by_state.replica_state = FetchRequest.ReplicaState(replica_id=FOLLOWER)
    assert values(only(client.call(by_state, NEWEST))) == [b"a", b"b"]


# -- errors


@pytest.mark.parametrize("offset", [-1, 3, 1 << 40])
def test_out_of_range(core: BrokerCore, client: Client, offset: int) -> None:
    core.append(b"a", b"b")
    got = only(client.call(from_offset(offset, max_wait_ms=1000), 12))
    assert error(got) is Errors.OFFSET_OUT_OF_RANGE
    assert (got.high_watermark, got.last_stable_offset, got.log_start_offset) == (-1, -1, -1)
    assert values(got) == []


def test_below_the_log_start_is_out_of_range(core: BrokerCore, client: Client) -> None:
    core.append(b"a", b"b")
    core.partition().delete_records(1)
    assert error(only(client.call(from_offset(0), 12))) is Errors.OFFSET_OUT_OF_RANGE
    assert error(only(client.call(from_offset(1), 12))) is Errors.NONE


def test_unknown_names_ids_and_partitions(core: BrokerCore, client: Client) -> None:
    response = client.call(fetch(("?", [wanted()]), (TOPIC, [wanted(7)])), 12)
    assert {error(p) for p in found(response).values()} == {Errors.UNKNOWN_TOPIC_OR_PARTITION}
    assert error(only(client.call(fetch((b"?" * 16, [wanted()])), NEWEST))) is Errors.UNKNOWN_TOPIC_ID


def test_the_id_of_another_life_of_the_topic(core: BrokerCore, client: Client) -> None:
    core.update_metadata(TOPIC, [0], b"n" * 16, 0, 0, [0], [0])
    assert error(only(client.call(fetch((b"n" * 16, [wanted()])), NEWEST))) is Errors.INCONSISTENT_TOPIC_ID


def test_leader_epochs(make_core: MakeCore) -> None:
    core = make_core()
    core.create_topic(epoch=5)
    client = core.connect()
    for epoch, expected in (
        (4, Errors.FENCED_LEADER_EPOCH),
        (5, Errors.NONE),
        (6, Errors.UNKNOWN_LEADER_EPOCH),
        (-1, Errors.NONE),
    ):
        assert error(only(client.call(fetch((TOPIC, [wanted(current_leader_epoch=epoch)])), 12))) is expected


def test_a_follower_refuses_and_names_the_leader(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    topic_id = core.create_topic(replicas=[0, 1], leader=1, epoch=3)
    request = fetch((topic_id, [wanted(current_leader_epoch=2)]))
    response = core.connect().call(request, 16)
    got = only(response)
    assert error(got) is Errors.FENCED_LEADER_EPOCH
    assert got.current_leader is not None
    assert (got.current_leader.leader_id, got.current_leader.leader_epoch) == (1, 3)
    assert [(n.node_id, n.host, n.port) for n in response.node_endpoints] == [(1, "host-1", 9093)]
    assert only(core.connect().call(request, 15)).current_leader is None


def test_consumers_that_know_of_it_may_read_from_a_follower(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    core.create_topic(replicas=[0, 1], leader=1)
    assert error(only(core.connect().call(from_offset(0), 10))) is Errors.NOT_LEADER_OR_FOLLOWER
    assert error(only(core.connect().call(from_offset(0), 11))) is Errors.NONE


def test_an_offline_partition_is_told_to_old_clients_as_not_leader(core: BrokerCore, client: Client) -> None:
    core.replicas.mark_offline([core.partition().topic_partition])
    assert error(only(client.call(from_offset(0), 6))) is Errors.KAFKA_STORAGE_ERROR
    assert error(only(client.call(from_offset(0), 5))) is Errors.NOT_LEADER_OR_FOLLOWER


def epochs(core: BrokerCore) -> None:
    """Epoch 0: offsets 0 and 1; epoch 3: offset 2; epoch 5: nothing."""
    topic_id = core.create_topic()
    core.append(b"a", b"b")
    core.leader_and_isr(TOPIC, [0], topic_id, 0, 3, [0], [0])
    core.append(b"c")
    core.leader_and_isr(TOPIC, [0], topic_id, 0, 5, [0], [0])


@pytest.mark.parametrize(
    ("offset", "epoch", "diverging"),
    [
        (2, 0, None),
        (3, 0, (0, 2)),
        (3, 1, (0, 2)),
        (2, 1, (0, 2)),
        (3, 3, None),
        (4, 3, (3, 3)),
        (3, 4, (3, 3)),
        (3, 5, None),
    ],
)
def test_a_reader_whose_log_diverges_is_told_where(
    make_core: MakeCore, offset: int, epoch: int, diverging: tuple[int, int] | None
) -> None:
    core = make_core()
    epochs(core)
    client = core.connect()
    got = only(client.call(fetch((TOPIC, [wanted(0, offset, last_fetched_epoch=epoch)])), 12))
    assert error(got) is Errors.NONE
    if diverging is None:
        assert got.diverging_epoch is None
    else:
        assert got.diverging_epoch is not None
        assert (got.diverging_epoch.epoch, got.diverging_epoch.end_offset) == diverging
        assert (values(got), got.high_watermark) == ([], 3)


def test_an_epoch_that_nobody_knows_is_out_of_range(make_core: MakeCore) -> None:
    core = make_core()
    epochs(core)
    got = only(core.connect().call(fetch((TOPIC, [wanted(0, 3, last_fetched_epoch=6)])), 12))
    assert error(got) is Errors.OFFSET_OUT_OF_RANGE


# -- waiting


def test_waits_for_the_first_byte(core: BrokerCore, client: Client) -> None:
    client.send(from_offset(0, max_wait_ms=500), 12)
    core.advance(499)
    assert client.response() is None
    core.append(b"a")
    assert values(only(client.response())) == [b"a"]


def test_answers_with_what_there_is_when_the_time_is_up(core: BrokerCore, client: Client) -> None:
    core.append(b"a")
    client.send(from_offset(0, max_wait_ms=500, min_bytes=1000), 12)
    core.append(b"b")
    core.advance(499)
    assert client.response() is None
    core.advance(10)
    assert values(only(client.response())) == [b"a", b"b"]


@pytest.mark.parametrize("fields", [{"min_bytes": 0}, {"max_wait_ms": 0}])
def test_does_not_wait_if_nothing_is_to_be_waited_for(client: Client, fields: dict[str, int]) -> None:
    request = from_offset(0, **{"max_wait_ms": 500, **fields})
    assert values(only(client.call(request, 12))) == []


def test_min_bytes_counts_all_partitions(core: BrokerCore, client: Client) -> None:
    core.create_topic("u", 2)
    size = len(batch(b"a"))
    client.send(fetch(("u", [wanted(0), wanted(1)]), max_wait_ms=500, min_bytes=2 * size), 12)
    core.append(b"a", topic="u", index=0)
    assert client.response() is None
    core.append(b"b", topic="u", index=1)
    assert {p: values(got) for p, got in found(client.response()).items()} == {("u", 0): [b"a"], ("u", 1): [b"b"]}


def test_min_bytes_counts_a_partition_up_to_its_limit(core: BrokerCore, client: Client) -> None:
    client.send(fetch((TOPIC, [wanted(max_bytes=10)]), max_wait_ms=500, min_bytes=100), 12)
    core.append(b"a" * 1000)
    assert client.response() is None
    core.advance(510)
    assert values(only(client.response())) == [b"a" * 1000]


def test_min_bytes_above_max_bytes_is_enough_at_max_bytes(core: BrokerCore, client: Client) -> None:
    core.append(b"a" * 200)
    request = from_offset(0, max_wait_ms=500, min_bytes=1000, max_bytes=100)
    assert values(only(client.call(request, 12))) == [b"a" * 200]


def test_a_roll_ends_the_wait(make_core: MakeCore) -> None:
    core = make_core()
    core.create_topic(segment_bytes="200")
    core.append(b"a" * 20)
    client = core.connect()
    client.send(from_offset(1, max_wait_ms=500, min_bytes=1000), 12)
    core.append(b"b" * 100)
    assert values(only(client.response())) == [b"b" * 100]


def test_a_follower_is_woken_by_an_append_that_is_not_committed(make_core: MakeCore) -> None:
    core = make_core(others=(FOLLOWER,))
    core.create_topic(replicas=[0, FOLLOWER])
    consumer, follower = core.connect(), core.connect()
    consumer.send(from_offset(0, max_wait_ms=500), 12)
    follower.send(from_offset(0, max_wait_ms=500, replica_id=FOLLOWER), 12)
    core.append(b"a")
    assert values(only(follower.response())) == [b"a"]
    assert consumer.response() is None


def test_consumers_are_woken_when_the_isr_shrinks_to_the_leader(make_core: MakeCore) -> None:
    core = make_core(others=(FOLLOWER,))
    topic_id = core.create_topic(replicas=[0, FOLLOWER])
    core.append(b"a")
    client = core.connect()
    client.send(from_offset(0, max_wait_ms=500), 12)
    core.leader_and_isr(TOPIC, [0], topic_id, 0, 1, [0], [0, FOLLOWER])
    assert values(only(client.response())) == [b"a"]


def test_a_fetch_that_waits_is_answered_when_the_leader_goes(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    topic_id = core.create_topic(replicas=[0, 1])
    client = core.connect()
    client.send(from_offset(0, max_wait_ms=500), 10)
    core.leader_and_isr(TOPIC, [0], topic_id, 1, 1, [1], [0, 1])
    assert error(only(client.response())) is Errors.NOT_LEADER_OR_FOLLOWER


def test_a_newer_epoch_fences_a_fetch_that_waits(core: BrokerCore, client: Client) -> None:
    client.send(fetch((TOPIC, [wanted(current_leader_epoch=0)]), max_wait_ms=500), 12)
    core.leader_and_isr(TOPIC, [0], core.cache.topic_id(TOPIC), 0, 1, [0], [0])
    assert error(only(client.response())) is Errors.FENCED_LEADER_EPOCH


def test_an_error_of_the_log_ends_the_wait_but_an_unknown_partition_does_not(core: BrokerCore, client: Client) -> None:
    client.send(fetch((TOPIC, [wanted()]), ("?", [wanted()]), max_wait_ms=500), 12)
    assert client.response() is None
    core.append(b"a")
    response = found(client.response())
    assert values(response[(TOPIC, 0)]) == [b"a"]
    assert error(response[("?", 0)]) is Errors.UNKNOWN_TOPIC_OR_PARTITION
    core.create_topic("u")
    both = found(client.call(fetch((TOPIC, [wanted(0, 99)]), ("u", [wanted()]), max_wait_ms=500), 12))
    assert error(both[(TOPIC, 0)]) is Errors.OFFSET_OUT_OF_RANGE


def test_nothing_but_unknown_partitions_is_answered_at_once(client: Client) -> None:
    response = client.call(fetch(("?", [wanted()]), max_wait_ms=500), 12)
    assert error(only(response)) is Errors.UNKNOWN_TOPIC_OR_PARTITION


def test_a_client_that_has_gone_is_not_answered(core: BrokerCore, client: Client) -> None:
    client.send(from_offset(0, max_wait_ms=500), 12)
    client.channel.connectionLost()
    core.append(b"a")
    core.advance(510)
    assert client.response() is None


# -- limits


def test_the_first_batch_comes_whole_however_small_the_limits(core: BrokerCore, client: Client) -> None:
    core.append(b"a" * 500)
    core.append(b"b")
    request = fetch((TOPIC, [wanted(max_bytes=1)]), max_bytes=1)
    assert values(only(client.call(request, 12))) == [b"a" * 500]


def test_the_second_partition_gets_what_is_left_and_no_beginning_of_a_batch(core: BrokerCore, client: Client) -> None:
    core.create_topic("u")
    core.append(b"a" * 500)
    core.append(b"b" * 500, topic="u")
    size = len(batch(b"a" * 500))
    for limit, second in ((size, []), (2 * size - 1, []), (2 * size, [b"b" * 500])):
        response = found(client.call(fetch((TOPIC, [wanted()]), ("u", [wanted()]), max_bytes=limit), 12))
        assert values(response[(TOPIC, 0)]) == [b"a" * 500]
        assert values(response[("u", 0)]) == second
        assert len(response[("u", 0)].records or b"") == (size if second else 0)


def test_an_empty_partition_does_not_use_up_the_first_batch_rule(core: BrokerCore, client: Client) -> None:
    core.create_topic("u")
    core.append(b"b" * 500, topic="u")
    request = fetch((TOPIC, [wanted()]), ("u", [wanted(max_bytes=1)]))
    assert values(found(client.call(request, 12))[("u", 0)]) == [b"b" * 500]


def test_later_batches_may_be_cut(core: BrokerCore, client: Client) -> None:
    core.append(b"a" * 500)
    core.append(b"b" * 500)
    limit = len(batch(b"a" * 500)) + 100
    got = only(client.call(fetch((TOPIC, [wanted(max_bytes=limit)])), 12))
    assert values(got) == [b"a" * 500]
    assert len(got.records or b"") == limit


def test_the_broker_has_a_limit_of_its_own(make_core: MakeCore) -> None:
    core = make_core(fetch_max_bytes="1024")
    core.create_topic()
    for _ in range(4):
        core.append(b"a" * 500)
    assert len(only(core.connect().call(from_offset(0), 12)).records or b"") == 1024


def test_a_negative_limit_is_an_error(core: BrokerCore, client: Client) -> None:
    core.append(b"a")
    assert error(only(client.call(fetch((TOPIC, [wanted(max_bytes=-1)])), 12))) is Errors.UNKNOWN_SERVER_ERROR


# -- sessions


def test_a_session_answers_only_what_has_changed(core: BrokerCore, client: Client) -> None:
    core.create_topic("u")
    ids = [core.cache.topic_id(name) for name in (TOPIC, "u")]
    full = client.call(fetch((ids[0], [wanted()]), (ids[1], [wanted()]), session_epoch=0), NEWEST)
    assert full.session_id > 0
    assert [topic.topic_id for topic in full.responses] == ids
    core.append(b"a", topic="u")
    news = client.call(fetch(session_id=full.session_id, session_epoch=1), NEWEST)
    assert [topic.topic_id for topic in news.responses] == [ids[1]]
    assert values(only(news)) == [b"a"]
    client.send(fetch(session_id=full.session_id, session_epoch=2, max_wait_ms=500), NEWEST)
    assert values(only(client.response())) == [b"a"], "the offset was not moved on"
    moved = fetch((ids[1], [wanted(0, 1)]), session_id=full.session_id, session_epoch=3, max_wait_ms=500)
    client.send(moved, NEWEST)
    assert client.response() is None
    core.advance(510)
    assert client.response().responses == []


def test_errors_of_sessions(core: BrokerCore, client: Client) -> None:
    topic_id = core.cache.topic_id(TOPIC)
    session_id = client.call(fetch((topic_id, [wanted()]), session_epoch=0), NEWEST).session_id
    for request, version, expected in (
        (fetch(session_id=session_id + 1, session_epoch=1), NEWEST, Errors.FETCH_SESSION_ID_NOT_FOUND),
        (fetch(session_id=session_id, session_epoch=2), NEWEST, Errors.INVALID_FETCH_SESSION_EPOCH),
        (fetch(session_id=session_id, session_epoch=1), 12, Errors.FETCH_SESSION_TOPIC_ID_ERROR),
    ):
        response = client.call(request, version)
        assert (response.error_code, response.session_id, response.responses) == (expected.code, 0, [])
    closed = client.call(fetch(session_id=session_id, session_epoch=-1), NEWEST)
    assert (closed.error_code, closed.session_id) == (0, 0)
    gone = client.call(fetch(session_id=session_id, session_epoch=1), NEWEST)
    assert gone.error_code == Errors.FETCH_SESSION_ID_NOT_FOUND.code


def test_an_id_that_becomes_known_is_served_within_the_session(core: BrokerCore, client: Client) -> None:
    new = b"new-topic".ljust(16, b"\2")
    full = client.call(fetch((new, [wanted()]), session_epoch=0), NEWEST)
    assert error(only(full)) is Errors.UNKNOWN_TOPIC_ID
    core.create_topic("u", topic_id=new)
    core.append(b"a", topic="u")
    got = only(client.call(fetch(session_id=full.session_id, session_epoch=1), NEWEST))
    assert (error(got), values(got)) == (Errors.NONE, [b"a"])


def test_a_topic_is_forgotten_by_id_even_after_its_deletion(core: BrokerCore, client: Client) -> None:
    core.create_topic("u")
    ids = [core.cache.topic_id(name) for name in (TOPIC, "u")]
    full = client.call(fetch((ids[0], [wanted()]), (ids[1], [wanted()]), session_epoch=0), NEWEST)
    core.update_metadata("u", [0], ids[1], -2, -2, [], [0])
    forget = FetchRequest.ForgottenTopic(topic_id=ids[1], partitions=[0])
    after = client.call(
        fetch(session_id=full.session_id, session_epoch=1, forgotten_topics_data=[forget], min_bytes=0), NEWEST
    )
    assert after.responses == []


# -- old versions


@pytest.mark.parametrize("version", range(4))
def test_old_clients_get_old_messages(core: BrokerCore, client: Client, version: int) -> None:
    core.append(b"a", b"b")
    core.append(b"c")
    got = only(client.call(from_offset(1), version))
    data = bytes(got.records or b"")
    messages = [b for b in batches(data) if isinstance(b, LegacyRecordBatch)]
    assert {b.magic for b in messages} == {0 if version < 2 else 1}
    assert [(r.offset, bytes(r.value or b"")) for b in messages for r in b.records()] == [(1, b"b"), (2, b"c")]
    assert (error(got), got.high_watermark) == (Errors.NONE, 3)


@pytest.mark.parametrize("version", [2, 3])
def test_limits_are_hard_up_to_version_2(core: BrokerCore, client: Client, version: int) -> None:
    core.append(b"a" * 100)
    got = only(client.call(fetch((TOPIC, [wanted(max_bytes=50)])), version))
    assert values(got) == ([] if version == 2 else [b"a" * 100])


def test_conversion_may_be_switched_off(make_core: MakeCore) -> None:
    core = make_core()
    core.create_topic(message_downconversion_enable="false")
    core.append(b"a")
    client = core.connect()
    assert error(only(client.call(from_offset(0), 3))) is Errors.UNSUPPORTED_VERSION
    assert values(only(client.call(from_offset(0), 4))) == [b"a"]


def test_zstd_topics_need_version_10(make_core: MakeCore) -> None:
    core = make_core()
    core.create_topic(compression_type="zstd")
    core.append(b"a")
    client = core.connect()
    refused = only(client.call(from_offset(0), 9))
    assert (error(refused), refused.records) == (Errors.UNSUPPORTED_COMPRESSION_TYPE, None)
    got = only(client.call(from_offset(0), 10))
    (stored,) = batches(got.records or b"")
    assert isinstance(stored, RecordBatch)
    assert values(got) == [b"a"]


def test_the_zero_id_is_no_topic(client: Client) -> None:
    assert error(only(client.call(fetch((ZERO_UUID, [wanted()])), NEWEST))) is Errors.UNKNOWN_TOPIC_ID
