"""DeleteRecords, DescribeLogDirs and DescribeProducers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.delete_records import DeleteRecordsRequest
from kafkapy.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kafkapy.protocol.messages.describe_producers import DescribeProducersRequest
from tests.server.broker_core import TOPIC, BrokerCore, Client, MakeCore, batch

HIGH_WATERMARK = -1


# -- DeleteRecords


def delete_records(offset: int, topic: str = TOPIC, index: int = 0, timeout_ms: int = 500) -> DeleteRecordsRequest:
    wanted = DeleteRecordsRequest.DeleteRecordsPartition(partition_index=index, offset=offset)
    return DeleteRecordsRequest(
        timeout_ms=timeout_ms,
        topics=[DeleteRecordsRequest.DeleteRecordsTopic(name=topic, partitions=[wanted])],
    )


def outcome(response: Any) -> tuple[Errors, int]:
    """(error, low watermark) of the only partition."""
    ((result,),) = [topic.partitions for topic in response.topics]
    return Errors.for_code(result.error_code), result.low_watermark


@pytest.mark.parametrize("version", range(3))
def test_the_log_start_moves_up_to_an_offset_or_to_the_high_watermark(
    core: BrokerCore, client: Client, version: int
) -> None:
    core.append(b"a", b"b", b"c")
    assert outcome(client.call(delete_records(1), version)) == (Errors.NONE, 1)
    assert outcome(client.call(delete_records(0), version)) == (Errors.NONE, 1), "never back"
    assert outcome(client.call(delete_records(HIGH_WATERMARK), version)) == (Errors.NONE, 3)
    assert core.partition().leader_log().log_start_offset == 3


@pytest.mark.parametrize("offset", [2, -2])
def test_offsets_out_of_range(core: BrokerCore, client: Client, offset: int) -> None:
    core.append(b"a")
    assert outcome(client.call(delete_records(offset), 2)) == (Errors.OFFSET_OUT_OF_RANGE, -1)


def test_partitions_that_can_not_be_deleted_from(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    core.create_topic("compacted", cleanup_policy="compact")
    core.create_topic("both", cleanup_policy="compact,delete")
    core.create_topic("followed", replicas=[0, 1], leader=1)
    core.create_topic("__consumer_offsets")
    client = core.connect()
    for topic, expected in (
        ("?", Errors.UNKNOWN_TOPIC_OR_PARTITION),
        ("compacted", Errors.POLICY_VIOLATION),
        ("both", Errors.NONE),
        ("followed", Errors.NOT_LEADER_OR_FOLLOWER),
        ("__consumer_offsets", Errors.INVALID_TOPIC_EXCEPTION),
    ):
        assert outcome(client.call(delete_records(0, topic), 2))[0] is expected, topic


def test_waits_for_the_live_replicas(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    topic_id = core.create_topic(replicas=[0, 1], isr=[0])
    core.append(b"a", b"b")
    client = core.connect()
    client.send(delete_records(1, timeout_ms=500), 2)
    core.advance(499)
    assert client.response() is None
    core.advance(10)
    assert outcome(client.response()) == (Errors.REQUEST_TIMED_OUT, -1)
    core.brokers = [0]
    core.update_metadata(TOPIC, [0], topic_id, 0, 0, [0], [0, 1])
    assert outcome(client.call(delete_records(1), 2)) == (Errors.NONE, 1)


def test_partitions_that_are_done_are_not_asked_again(
    core: BrokerCore, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of them would be asked in one turn."""
    monkeypatch.setattr("kafkapy.server.handlers.records._DelayedDeleteRecords", None)
    core.append(b"a", b"b")
    assert outcome(client.call(delete_records(1), 2)) == (Errors.NONE, 1)


def test_the_end_of_leadership_ends_the_wait(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    topic_id = core.create_topic(replicas=[0, 1], isr=[0])
    core.append(b"a")
    client = core.connect()
    client.send(delete_records(1), 2)
    core.leader_and_isr(TOPIC, [0], topic_id, 1, 1, [1], [0, 1])
    assert outcome(client.response()) == (Errors.NOT_LEADER_OR_FOLLOWER, -1)


# -- DescribeLogDirs


def sizes(response: Any) -> dict[tuple[str, int], tuple[int, int]]:
    """(topic, partition) → (bytes, lag) of the only directory."""
    (directory,) = response.results
    assert directory.error_code == 0
    return {
        (topic.name, p.partition_index): (p.partition_size, p.offset_lag)
        for topic in directory.topics
        for p in topic.partitions
    }


@pytest.mark.parametrize("version", range(5))
def test_sizes_of_all_partitions_or_of_some(core: BrokerCore, client: Client, version: int) -> None:
    core.create_topic("u", 2)
    core.append(b"a")
    size = len(batch(b"a"))
    response = client.call(DescribeLogDirsRequest(topics=None), version)
    assert sizes(response) == {(TOPIC, 0): (size, 0), ("u", 0): (0, 0), ("u", 1): (0, 0)}
    (directory,) = response.results
    assert directory.log_dir == str(core.directory / "logs")
    if version >= 4:
        assert 0 < directory.usable_bytes <= directory.total_bytes
    some = [DescribeLogDirsRequest.DescribableLogDirTopic(topic="u", partitions=[1, 7])]
    assert sizes(client.call(DescribeLogDirsRequest(topics=some), version)) == {("u", 1): (0, 0)}
    assert sizes(client.call(DescribeLogDirsRequest(topics=[]), version)) == {}


@pytest.mark.parametrize("configured", ["logs", "{}/logs/", "{}/../{}/logs"])
def test_directories_have_their_absolute_path(
    configured: str, make_core: MakeCore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    core = make_core(log_dirs=configured.format(tmp_path, tmp_path.name))
    core.create_topic()
    (directory,) = core.connect().call(DescribeLogDirsRequest(topics=None), 4).results
    assert (directory.log_dir, [topic.name for topic in directory.topics]) == (str(tmp_path / "logs"), [TOPIC])


def test_the_lag_of_a_log_that_no_partition_uses_is_not_known(core: BrokerCore, client: Client) -> None:
    core.replicas.remove_partition(TopicPartition(TOPIC, 0))
    assert sizes(client.call(DescribeLogDirsRequest(topics=None), 4)) == {(TOPIC, 0): (0, -1)}


def test_a_failed_directory(core: BrokerCore, client: Client) -> None:
    core.log_manager.handle_log_dir_failure(core.config.log_dirs[0], "test", OSError())
    (directory,) = client.call(DescribeLogDirsRequest(topics=None), 4).results
    assert Errors.for_code(directory.error_code) is Errors.KAFKA_STORAGE_ERROR
    assert (directory.topics, directory.total_bytes, directory.usable_bytes) == ([], -1, -1)


# -- DescribeProducers


def test_active_producers(core: BrokerCore, client: Client) -> None:
    for sequence in (0, 2):
        data = bytearray(batch(b"a", b"b", producer=(5, 1, sequence), timestamp=1234))
        core.replicas.append_to_local_log(TopicPartition(TOPIC, 0), data, 1)
    request = DescribeProducersRequest(
        topics=[
            DescribeProducersRequest.TopicRequest(name=TOPIC, partition_indexes=[0, 9]),
            DescribeProducersRequest.TopicRequest(name="a b", partition_indexes=[0]),
            DescribeProducersRequest.TopicRequest(name="nobody-knows", partition_indexes=[0]),
        ]
    )
    response = client.call(request, 0)
    found, unknown = response.topics[0].partitions
    (producer,) = found.active_producers
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (5, 1, 3)
    assert (producer.last_timestamp, producer.coordinator_epoch, producer.current_txn_start_offset) == (1234, -1, -1)
    assert (unknown.error_code, unknown.error_message) == (Errors.UNKNOWN_TOPIC_OR_PARTITION.code, None)
    invalid, unheard_of = (topic.partitions[0] for topic in response.topics[1:])
    assert Errors.for_code(invalid.error_code) is Errors.INVALID_TOPIC_EXCEPTION
    assert "Topic name is invalid: 'a b' contains" in invalid.error_message
    assert Errors.for_code(unheard_of.error_code) is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert unheard_of.error_message == Errors.UNKNOWN_TOPIC_OR_PARTITION.message


def test_who_names_many_partitions_keeps_nobody_waiting(make_core: MakeCore) -> None:
    core = make_core()
    core.create_topic("many", partitions=60)
    client = core.connect()
    now = iter(range(10_000))
    core.time.monotonic_ms = lambda: next(now)  # each look takes a millisecond
    before = core.time.yields
    partitions = [DeleteRecordsRequest.DeleteRecordsPartition(partition_index=p, offset=0) for p in range(60)]
    topics = [DeleteRecordsRequest.DeleteRecordsTopic(name="many", partitions=partitions)]
    client.call(DeleteRecordsRequest(timeout_ms=500, topics=topics), 2)
    assert core.time.yields - before >= 9
    before = core.time.yields
    client.call(DescribeLogDirsRequest(topics=None), 4)
    assert core.time.yields - before >= 9
