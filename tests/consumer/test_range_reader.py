"""Bulk reads over real sockets, from a broker that is made of functions."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from kafkapy.clients.config import ClientConfig
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.range_reader import OffsetRangeError, RangeConnections, read_range
from kafkapy.consumer.to_arrow import to_arrow
from kafkapy.errors import (
    CorruptRecordError,
    KafkaConnectionError,
    KafkaTimeoutError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.fetch import FetchResponse
from kafkapy.protocol.messages.list_offsets import ListOffsetsResponse
from kafkapy.protocol.messages.metadata import MetadataResponse
from kafkapy.record.record_batch import RecordBatch
from kafkapy.record.records_builder import MemoryRecordsBuilder
from tests.fake_broker import FakeBroker


def batch(base_offset: int, *values: bytes) -> bytes:
    builder = MemoryRecordsBuilder(base_offset=base_offset)
    for value in values:
        builder.append(1000, None, value)
    return builder.build()


class LogBroker(FakeBroker):
    """Leads partition 0 of topic `t`; a response holds one batch."""

    def __init__(self, *log: bytes) -> None:
        super().__init__({ApiKey.FETCH: self.fetch, ApiKey.LIST_OFFSETS: self.list_offsets})
        self.log = list(log)
        self.failures: list[Errors | None] = []
        """What the next fetches answer; None: the connection is cut."""
        self.start = 0

    @property
    def end(self) -> int:
        return RecordBatch(self.log[-1]).next_offset if self.log else self.start

    def metadata(self, request: Any) -> MetadataResponse:
        response = super().metadata(request)
        partition = MetadataResponse.MetadataResponsePartition(partition_index=0, leader_id=0, leader_epoch=5)
        topic = MetadataResponse.MetadataResponseTopic
        response.topics = [
            topic(name=t.name, partitions=[partition]) if t.name == "t" else topic(name=t.name, error_code=3)
            for t in request.topics
        ]
        return response

    def fetch(self, request: Any) -> Any:
        data = FetchResponse.PartitionData(partition_index=0, high_watermark=self.end, records=b"")
        data.aborted_transactions = []
        offset = request.topics[0].partitions[0].fetch_offset
        failure = self.failures.pop(0) if self.failures else Errors.NONE
        if failure is None:
            return None
        if failure is Errors.NONE and not self.start <= offset <= self.end:
            failure = Errors.OFFSET_OUT_OF_RANGE
        data.error_code = failure.code
        if failure is Errors.NONE:
            data.records = next((b for b in self.log if RecordBatch(b).next_offset > offset), b"")
        topic = FetchResponse.FetchableTopicResponse(topic="t", partitions=[data])
        return FetchResponse(responses=[topic])

    def list_offsets(self, request: Any) -> ListOffsetsResponse:
        offset = self.start if request.topics[0].partitions[0].timestamp == -2 else self.end
        entry = ListOffsetsResponse.ListOffsetsPartitionResponse(partition_index=0, offset=offset)
        topic = ListOffsetsResponse.ListOffsetsTopicResponse(name="t", partitions=[entry])
        return ListOffsetsResponse(topics=[topic])

    def config(self, **options: Any) -> ClientConfig:
        return ClientConfig(bootstrap_servers=self.address, retry_backoff_ms=1, retry_backoff_max_ms=2, **options)

    def read(self, start: int, end: int, **options: Any) -> list[tuple[int, bytes]]:
        batches = read_range(self.config(), "t", 0, start, end, **options)
        return [row for found in batches for row in rows(found)]


def rows(found: Any) -> list[tuple[int, bytes]]:
    return list(zip(found["offset"].to_pylist(), found["value"].to_pylist(), strict=True))


@pytest.fixture
def broker() -> Iterator[LogBroker]:
    with LogBroker(batch(0, b"0", b"1"), batch(2, b"2"), batch(5, b"5", b"6")) as broker:
        yield broker


ALL = [(0, b"0"), (1, b"1"), (2, b"2"), (5, b"5"), (6, b"6")]


def test_a_range_with_a_gap(broker: LogBroker) -> None:
    assert broker.read(0, 7) == ALL
    assert broker.read(1, 6) == ALL[1:4]
    assert broker.read(3, 5) == []
    assert broker.read(4, 4) == []


def test_reads_that_follow_one_another_share_a_connection(broker: LogBroker) -> None:
    with closing(RangeConnections()) as connections:
        assert broker.read(0, 3, connections=connections) == ALL[:3]
        unfinished = read_range(broker.config(), "t", 0, 0, 7, connections=connections)
        next(unfinished)
        unfinished.close()  # type: ignore[attr-defined]
        assert broker.read(0, 7, connections=connections) == ALL
        broker.failures = [Errors.NOT_LEADER_OR_FOLLOWER]
        assert broker.read(3, 7, connections=connections) == ALL[3:]
    # Who leads is asked at first, after a read that was given up, and after a failure.
    assert len(broker.asked(ApiKey.METADATA)) == 3


def test_the_next_fetch_is_under_way_while_records_are_used(broker: LogBroker) -> None:
    batches = read_range(broker.config(), "t", 0, 0, 3)
    assert rows(next(batches)) == ALL[:2]
    assert rows(next(batches)) == ALL[2:3]
    assert list(batches) == []
    asked = [request.topics[0].partitions[0].fetch_offset for request in broker.asked(ApiKey.FETCH)]
    assert asked == [0, 2]
    assert broker.asked(ApiKey.FETCH)[0].topics[0].partitions[0].current_leader_epoch == 5


def test_responses_larger_than_the_buffer() -> None:
    values = [bytes([i]) * 100_000 for i in range(35)]
    with LogBroker(batch(0, *values), batch(35, b"end")) as broker:
        assert [value for _, value in broker.read(0, 36)] == [*values, b"end"]


@pytest.mark.parametrize(
    "failure",
    [None, Errors.NOT_LEADER_OR_FOLLOWER, Errors.FENCED_LEADER_EPOCH, Errors.UNKNOWN_LEADER_EPOCH],
)
def test_failures_that_pass(broker: LogBroker, failure: Errors | None) -> None:
    broker.failures = [Errors.NONE, failure, failure]
    assert broker.read(0, 7) == ALL


def test_refusals_are_raised(broker: LogBroker) -> None:
    broker.failures = [Errors.TOPIC_AUTHORIZATION_FAILED]
    with pytest.raises(TopicAuthorizationFailedError):
        broker.read(0, 7)


def test_offsets_that_are_gone(broker: LogBroker) -> None:
    broker.start = 2
    with pytest.raises(OffsetRangeError) as caught:
        broker.read(1, 7)
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.partition, error.offset) == (TopicPartition("t", 0), 1)
    assert (error.log_start_offset, error.log_end_offset) == (2, 7)
    assert "Offset 1 of t-0 is out of range: the log holds offsets 2 to 7" in str(error)


def test_a_damaged_batch_comes_after_the_records_before(broker: LogBroker) -> None:
    damaged = bytearray(broker.log[1])
    damaged[-2] ^= 1
    broker.log[1] = bytes(damaged)
    batches = read_range(broker.config(), "t", 0, 0, 7)
    assert rows(next(batches)) == ALL[:2]
    with pytest.raises(CorruptRecordError, match="t-0 at offset 2 is invalid"):
        next(batches)
    assert len(broker.read(0, 7, check_crcs=False)) == 5


def test_an_end_that_never_comes(broker: LogBroker) -> None:
    with pytest.raises(KafkaTimeoutError, match="t-0 has no records at offset 7"):
        broker.read(5, 9, timeout_ms=500)


def test_no_broker_at_all() -> None:
    with LogBroker() as broker:
        config = broker.config()
    with pytest.raises(KafkaTimeoutError, match="could not be established"):
        list(read_range(config, "t", 0, 0, 7, timeout_ms=20))
    with pytest.raises(KafkaConnectionError):
        to_arrow(config, "t")


def test_a_broker_that_hangs_up_in_the_midst_of_a_frame(broker: LogBroker) -> None:
    with pytest.raises(KafkaTimeoutError, match="No progress in reading t-0 at offset 0"):
        broker.failures = [None] * 1000
        broker.read(0, 7, timeout_ms=20)


def test_bad_isolation_level(broker: LogBroker) -> None:
    with pytest.raises(ValueError, match="isolation_level"):
        broker.read(0, 7, isolation_level="serializable")


class TestToArrow:
    def test_a_whole_topic(self, broker: LogBroker) -> None:
        table = to_arrow(broker.config(), "t")
        assert rows(table) == ALL
        assert table.schema.names[-1] == "headers"

    def test_bounds(self, broker: LogBroker) -> None:
        assert rows(to_arrow(broker.config(), "t", 2, {0: 6})) == ALL[2:4]
        assert rows(to_arrow({"bootstrap_servers": broker.address}, "t", 6, 100, partitions=[0])) == ALL[4:]
        with pytest.raises(OffsetRangeError):
            to_arrow(broker.address, "t", 8)

    def test_what_is_not_there(self, broker: LogBroker) -> None:
        with pytest.raises(UnknownTopicOrPartitionError, match="Topic nope"):
            to_arrow(broker.address, "nope")
        with pytest.raises(UnknownTopicOrPartitionError, match="no partition 4"):
            to_arrow(broker.address, "t", partitions=[4])

    def test_an_empty_topic(self) -> None:
        with LogBroker() as broker:
            assert to_arrow(broker.address, "t").num_rows == 0


def test_all_of_an_old_broker(broker: LogBroker) -> None:
    """It tells the ends of the log in a list (ListOffsets 0)."""

    def list_offsets(request: Any) -> ListOffsetsResponse:
        offset = broker.start if request.topics[0].partitions[0].timestamp == -2 else broker.end
        entry = ListOffsetsResponse.ListOffsetsPartitionResponse(partition_index=0, old_style_offsets=[offset])
        return ListOffsetsResponse(topics=[ListOffsetsResponse.ListOffsetsTopicResponse(name="t", partitions=[entry])])

    broker.handlers[ApiKey.LIST_OFFSETS] = list_offsets
    found = to_arrow(broker.config(api_version=(0, 10, 0)), "t")
    assert found["offset"].to_pylist() == [0, 1, 2, 5, 6]
