"""Every way of reading, from a real broker, in every codec."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kafkapy.clients.blocking_client import BlockingClient
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.kafka_consumer import KafkaConsumer
from kafkapy.consumer.range_reader import OffsetRangeError, read_range
from kafkapy.consumer.to_arrow import to_arrow
from kafkapy.errors import OffsetOutOfRangeError
from kafkapy.protocol.messages.create_topics import CreateTopicsRequest
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.record.compression import CompressionType
from kafkapy.record.records_builder import MemoryRecordsBuilder
from tests.broker_process import BrokerProcess

pytestmark = pytest.mark.integration

COUNT = 3000
HEADERS = [(b"h", b"1"), (b"n", None)]


def rows(codec: CompressionType) -> list[tuple[bytes | None, bytes | None]]:
    return [
        (b"k%d" % i if i % 3 else None, None if i % 11 == 0 else b"%s %d" % (codec.text.encode(), i) * (i % 5))
        for i in range(COUNT)
    ]


@pytest.fixture(scope="module")
def broker(zookeeper: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker that has a topic of one partition for each codec, in batches of 100 records."""
    process = BrokerProcess(tmp_path_factory.mktemp("fetching"), f"{zookeeper}/fetching")
    process.start()
    host, _, port = process.address.partition(":")
    with BlockingClient(host, int(port)) as client:
        topic = CreateTopicsRequest.CreatableTopic
        topics = [topic(name=codec.text, num_partitions=1, replication_factor=1) for codec in CompressionType]
        client.call(CreateTopicsRequest(topics=topics, timeout_ms=10_000))
        for codec in CompressionType:
            for start in range(0, COUNT, 100):
                produce(client, codec, start)
    yield process.address
    process.stop()


def produce(client: BlockingClient, codec: CompressionType, start: int) -> None:
    builder = MemoryRecordsBuilder(compression_type=codec)
    for i, (key, value) in enumerate(rows(codec)[start : start + 100], start):
        builder.append(1_000_000 + i, key, value, HEADERS if i % 100 == 0 else ())
    partition = ProduceRequest.PartitionProduceData(index=0, records=builder.build())
    topic = ProduceRequest.TopicProduceData(name=codec.text, partition_data=[partition])
    response = client.call(ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic]))
    assert response.responses[0].partition_responses[0].error_code == 0


def consumer(broker: str, topic: str, **options: Any) -> KafkaConsumer:
    return KafkaConsumer(topic, bootstrap_servers=broker, group_id=None, auto_offset_reset="earliest", **options)


@pytest.mark.parametrize("codec", list(CompressionType))
def test_poll_and_poll_arrow_and_ranges_agree(broker: str, codec: CompressionType) -> None:
    records: list[Any] = []
    with consumer(broker, codec.text, max_partition_fetch_bytes=20_000) as reader:
        while len(records) < COUNT:
            for found in reader.poll(5000).values():
                records += found
    assert [(r.key, r.value) for r in records] == rows(codec)
    assert [r.offset for r in records] == list(range(COUNT))
    assert records[100].headers == [("h", b"1"), ("n", None)]
    assert (records[100].serialized_header_size, records[101].headers) == (3, [])
    assert records[7].timestamp == 1_000_007

    table = to_arrow(broker, codec.text)
    assert list(zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True)) == rows(codec)
    assert table["headers"][100].as_py() == [{"key": "h", "value": b"1"}, {"key": "n", "value": None}]

    count = 0
    with consumer(broker, codec.text) as reader:
        while count < COUNT:
            part = reader.poll_arrow(5000)
            assert part is not None
            assert part.equals(table.slice(count, part.num_rows))
            count += part.num_rows

    part = next(read_range(broker, codec.text, 0, 150, 160, include_headers=True, timestamp_unit="ms"))
    assert part.to_pylist() == table.slice(150, 10).to_pylist()


def test_offsets(broker: str) -> None:
    partition = TopicPartition("none", 0)
    with consumer(broker, "none") as reader:
        assert reader.beginning_offsets([partition]) == {partition: 0}
        assert reader.end_offsets([partition]) == {partition: COUNT}
        found = reader.offsets_for_times({partition: 1_000_500})[partition]
        assert found is not None
        assert (found.offset, found.timestamp) == (500, 1_000_500)
        assert reader.offsets_for_times({partition: 2_000_000}) == {partition: None}


def test_out_of_range(broker: str) -> None:
    partition = TopicPartition("none", 0)
    with pytest.raises(OffsetRangeError, match="offsets 0 to 3000"):
        list(read_range(broker, "none", 0, COUNT + 1, COUNT + 5))
    reader = KafkaConsumer(bootstrap_servers=broker, group_id=None, auto_offset_reset="none")
    with reader:
        reader.assign([partition])
        reader.seek(partition, COUNT + 10)
        with pytest.raises(OffsetOutOfRangeError):
            reader.poll(5000)
        reader.seek(partition, COUNT - 1)
        assert [r.offset for r in reader.poll(5000)[partition]] == [COUNT - 1]
