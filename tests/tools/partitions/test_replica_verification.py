"""kafka-replica-verification: replicas that agree, lag, and differ."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from kafkapy.admin.client import AdminClient
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages.fetch import FetchResponse
from kafkapy.protocol.messages.list_offsets import ListOffsetsResponse
from kafkapy.protocol.messages.metadata import MetadataResponse
from kafkapy.record.records_builder import MemoryRecordsBuilder
from kafkapy.tools.common.command_line import ToolError
from kafkapy.tools.partitions import replica_verification
from kafkapy.tools.partitions.replica_verification import (
    FetchedReplica,
    Mismatch,
    ReplicaReader,
    compare,
    initial_offsets,
    report,
    verify,
)
from tests.fake_broker import FakeBroker

T0 = TopicPartition("t", 0)


def batch(offset: int, *values: bytes) -> bytes:
    builder = MemoryRecordsBuilder(base_offset=offset)
    for value in values:
        builder.append(1000, None, value)
    return bytes(builder.build())


FIRST, SECOND, THIRD = batch(0, b"a", b"b"), batch(2, b"c"), batch(3, b"d", b"e")


def compared(*replicas: FetchedReplica, start: int = 0) -> tuple[list[str], int]:
    offsets = {T0: start}
    return list(compare(T0, dict(enumerate(replicas)), offsets)), offsets[T0]


class TestCompare:
    def test_equal(self) -> None:
        replica = FetchedReplica(FIRST + SECOND + THIRD, 5)
        assert compared(replica, replica, replica) == ([], 5)

    def test_only_up_to_the_high_watermark(self) -> None:
        """What lies above it may still be truncated: it is read again in the next round."""
        other = batch(3, b"x", b"y")
        assert compared(FetchedReplica(FIRST + THIRD, 3), FetchedReplica(FIRST + other, 3)) == ([], 2)

    def test_one_is_behind(self) -> None:
        assert compared(FetchedReplica(FIRST + SECOND, 3), FetchedReplica(FIRST, 3)) == ([], 2)
        assert compared(FetchedReplica(FIRST, 3), FetchedReplica()) == ([], 0)

    def test_a_cut_batch_is_left_for_the_next_round(self) -> None:
        replica = FetchedReplica(FIRST + SECOND[:-1], 3)
        assert compared(replica, replica) == ([], 2)

    def test_other_content(self) -> None:
        lines, offset = compared(FetchedReplica(FIRST + SECOND, 3), FetchedReplica(FIRST + batch(2, b"x"), 3))
        assert len(lines) == 1
        assert lines[0].startswith("partition t-0 has unmatched checksum at offset 2; replica 0's checksum ")
        assert offset == 3

    def test_other_offsets(self) -> None:
        with pytest.raises(Mismatch, match="partition t-0: replica 0's offset 1 doesn't match replica 1's offset 2"):
            compared(FetchedReplica(FIRST, 9), FetchedReplica(SECOND, 9))


def test_the_report_names_the_partition_that_is_furthest_behind() -> None:
    other = TopicPartition("t", 1)
    fetched = {T0: {0: FetchedReplica(b"", 10), 1: FetchedReplica(b"", 12)}, other: {0: FetchedReplica(b"", 7)}}
    assert report(fetched, {T0: 9, other: 1}) == "max lag is 6 for partition t-1 at offset 1 among 2 partitions"


class Replicas:
    """Two brokers with a replica each. They answer with what `answers` holds for them, None: not at all."""

    def __init__(self, first: Sequence[bytes | None], second: Sequence[bytes | None]) -> None:
        handlers = {ApiKey.METADATA: self.metadata, ApiKey.LIST_OFFSETS: self.list_offsets}
        self.answers = [list(first), list(second)]
        self.brokers = [FakeBroker({**handlers, ApiKey.FETCH: partial(self.fetch, broker)}) for broker in range(2)]
        self.topic_ids = b"i" * 16
        for broker in self.brokers:
            broker.ranges.pop(ApiKey.DESCRIBE_CLUSTER)

    def metadata(self, request: Any) -> MetadataResponse:
        struct = MetadataResponse.MetadataResponseBroker
        brokers = [struct(node_id=i, host="127.0.0.1", port=b.port) for i, b in enumerate(self.brokers)]
        partition = MetadataResponse.MetadataResponsePartition(
            partition_index=0, leader_id=0, replica_nodes=[0, 1], isr_nodes=[0, 1]
        )
        topic = MetadataResponse.MetadataResponseTopic(name="t", topic_id=self.topic_ids, partitions=[partition])
        return MetadataResponse(brokers=brokers, cluster_id="fake", controller_id=0, topics=[topic])

    def list_offsets(self, request: Any) -> ListOffsetsResponse:
        """No record is young enough; the end is at 2."""
        latest = request.topics[0].partitions[0].timestamp == -1
        found = ListOffsetsResponse.ListOffsetsPartitionResponse(partition_index=0, offset=2 if latest else -1)
        return ListOffsetsResponse(topics=[ListOffsetsResponse.ListOffsetsTopicResponse(name="t", partitions=[found])])

    def fetch(self, broker: int, request: Any) -> FetchResponse | None:
        answers = self.answers[broker]
        records = answers.pop(0) if answers else b""
        if records is None:
            return None
        topic = request.topics[0]
        partition = FetchResponse.PartitionData(partition_index=0, high_watermark=3, records=records)
        return FetchResponse(
            responses=[FetchResponse.FetchableTopicResponse(topic="t", topic_id=topic.topic_id, partitions=[partition])]
        )

    def admin(self) -> AdminClient:
        return AdminClient(self.brokers[0].address)

    def close(self) -> None:
        for broker in self.brokers:
            broker.close()


def rounds(replicas: Replicas, count: int, capsys: pytest.CaptureFixture[str]) -> tuple[list[str], dict[Any, int]]:
    """What is printed in so many rounds of `verify`, and how far they came."""
    with replicas.admin() as admin:
        reader = ReplicaReader(admin, list(admin.list_topics().values()), 1000, 1)
    offsets = {T0: 0}
    fetch, left = reader.fetch, list(range(count))

    def fetch_while_rounds_are_left(*arguments: Any) -> Any:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        return fetch(*arguments)

    reader.fetch = fetch_while_rounds_are_left  # type: ignore[method-assign, assignment]
    try:
        with ThreadPoolExecutor(2) as threads:
            verify(reader, threads, offsets, -1)
    except KeyboardInterrupt:
        pass
    finally:
        reader.close()
        replicas.close()
    return [line.partition(": ")[2] for line in capsys.readouterr().out.splitlines()], offsets


class TestVerify:
    def test_a_replica_that_catches_up(self, capsys: pytest.CaptureFixture[str]) -> None:
        replicas = Replicas([FIRST + SECOND, SECOND], [FIRST, SECOND])
        lines, offsets = rounds(replicas, 2, capsys)
        assert lines == [
            "max lag is 1 for partition t-0 at offset 2 among 1 partitions",
            "max lag is 0 for partition t-0 at offset 3 among 1 partitions",
        ]
        assert offsets == {T0: 3}

    def test_a_broker_that_goes_and_comes_back(self, capsys: pytest.CaptureFixture[str]) -> None:
        replicas = Replicas([FIRST, FIRST], [None, FIRST])
        _, offsets = rounds(replicas, 2, capsys)
        assert offsets == {T0: 2}

    def test_replicas_that_diverge(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(ToolError):
            rounds(Replicas([FIRST], [SECOND]), 1, capsys)
        assert "replica 0's offset 1 doesn't match replica 1's offset 2" in capsys.readouterr().out

    def test_asks_as_a_debugging_consumer(self, capsys: pytest.CaptureFixture[str]) -> None:
        replicas = Replicas([], [])
        rounds(replicas, 1, capsys)
        for broker in replicas.brokers:
            (request,) = broker.asked(ApiKey.FETCH)
            assert request.replica_state.replica_id == -2
            assert request.topics[0].topic_id == b"i" * 16


def test_where_it_begins() -> None:
    """At the end, if no record is as young as it shall be."""
    replicas = Replicas([], [])
    with replicas.admin() as admin:
        assert initial_offsets(admin, list(admin.list_topics().values()), 99_999) == {T0: 2}
    replicas.close()


def test_no_topic(capsys: pytest.CaptureFixture[str]) -> None:
    replicas = Replicas([], [])
    arguments = ["--broker-list", replicas.brokers[0].address, "--topics-include", "x"]
    assert replica_verification.main(arguments) == 1
    assert "No topics found." in capsys.readouterr().err
    replicas.close()


def test_a_broker_is_down_at_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeBroker() as broker:
        partition = MetadataResponse.MetadataResponsePartition(leader_id=0, replica_nodes=[0, 5], isr_nodes=[0])
        topic = MetadataResponse.MetadataResponseTopic(name="t", partitions=[partition])

        def metadata(request: Any) -> MetadataResponse:
            response = broker.metadata(request)
            response.topics = [topic]
            return response

        broker.handlers[ApiKey.METADATA] = metadata
        broker.ranges.pop(ApiKey.DESCRIBE_CLUSTER)
        assert replica_verification.main(["--broker-list", broker.address]) == 1
    assert capsys.readouterr().err == "All brokers must be up at the start; not up: 5\n"
