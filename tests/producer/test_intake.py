from __future__ import annotations

from itertools import accumulate
from typing import Any

import pyarrow as pa
import pytest

from kafkapy.consumer.arrow import record_schema
from kafkapy.errors import KafkaConfigurationError, MessageSizeTooLargeError
from kafkapy.partitioner import Partitioner
from kafkapy.partitioner.abc import Cluster
from kafkapy.producer.arrow_send import ArrowSend, sends_of_arrow
from kafkapy.producer.bulk import BulkSend
from kafkapy.producer.config import ProducerConfig
from kafkapy.producer.future import FutureBatchMetadata
from kafkapy.producer.intake import check_headers
from kafkapy.protocol.errors import Errors
from kafkapy.record.compression import CompressionType
from kafkapy.record.legacy import LegacyRecordBatch
from tests.producer.producer_setup import Setup


def bulk(setup: Setup, *args: Any, **kwargs: Any) -> FutureBatchMetadata:
    view = setup.core.topic_view("t")
    assert view is not None
    sending = BulkSend(setup.intake, view, "t", *args, **kwargs)
    while not sending.append():
        setup.driver.advance(1)
    return sending.future()


def arrow(setup: Setup, table: pa.Table | pa.RecordBatch, partition: int | None = None) -> list[type]:
    """How the chunks of the table were sent."""
    view = setup.core.topic_view("t")
    assert view is not None
    sends = sends_of_arrow(setup.intake, view, "t", table, partition)
    for sending in sends:
        while not sending.append():
            setup.driver.advance(1)
    return [type(sending) for sending in sends]


@pytest.mark.parametrize("headers", [[("a", None), ("b", b"")], (("a", b"b"),)])
def test_headers_that_a_consumer_gives(headers: Any) -> None:
    check_headers(headers)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"value": None}, ValueError),
        ({"value": "text"}, TypeError),
        ({"value": b"v", "key": 5}, TypeError),
        ({"value": b"v", "headers": {"a": b"b"}}, TypeError),
        ({"value": b"v", "headers": [("a", "b")]}, TypeError),
        ({"value": b"v", "partition": 7}, ValueError),
        ({"value": b"v", "partition": -1}, ValueError),
        ({"value": b"v", "timestamp_ms": 1.5}, TypeError),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Setup().send(**arguments)


def test_serializers_of_every_kind() -> None:
    class Reverse:
        def serialize(self, topic: str, headers: Any, data: bytes) -> bytes:
            return data[::-1]

    setup = Setup(key_serializer=Reverse(), value_serializer=lambda text: text.encode())
    setup.send("wert", b"yek")
    setup.flush()
    assert (setup.log().values, setup.log().keys) == ([b"wert"], [b"key"])
    assert setup.intake.short_path == {}


def test_buffers_are_copied() -> None:
    setup = Setup(linger_ms=1000)
    value = bytearray(b"abc")
    setup.send(value)
    value[:] = b"xyz"
    setup.flush()
    assert setup.log().values == [b"abc"]


class Last(Partitioner):
    def partition(self, topic: Any, key: Any, key_bytes: Any, value: Any, value_bytes: Any, cluster: Cluster) -> int:
        assert cluster.topics() == {"t"}
        return max(cluster.partitions_for_topic(topic) or {0})


@pytest.mark.parametrize("partitioner", [Last(), lambda key, everything, available: max(everything)])
def test_partitioners_of_the_user(partitioner: Any) -> None:
    setup = Setup([0, 0, 0], partitioner=partitioner)
    futures = [setup.send(b"v", key=b"k"), setup.send(b"v")]
    setup.flush()
    assert [future.get(0).partition for future in futures] == [2, 2]
    future = bulk(setup, [b"a", b"b"])
    setup.flush()
    assert [(batch.partition, batch.record_count) for batch in future.get(0)] == [(2, 2)]


def test_many_records_at_once() -> None:
    setup = Setup([0] * 3)
    values = [b"%d" % i for i in range(1000)]
    keys = [b"k%d" % (i % 50) for i in range(1000)]
    future = bulk(setup, values, keys, timestamps=range(1000))
    setup.flush()
    assert sum(batch.record_count for batch in future.get(0)) == 1000
    one_by_one = Setup([0] * 3)
    for value, key in zip(values, keys, strict=True):
        one_by_one.send(value, key)
    one_by_one.flush()
    for partition in range(3):
        assert setup.log(partition).values == one_by_one.log(partition).values
        assert setup.log(partition).keys == one_by_one.log(partition).keys


def test_many_records_in_little_memory() -> None:
    setup = Setup(buffer_memory=20_000, batch_size=5_000)
    future = bulk(setup, [b"%05d" % i + bytes(95) for i in range(3000)])
    setup.flush()
    assert len(setup.log().values) == 3000
    assert future.succeeded()
    assert [batch.offset for batch in future.get(0)] == sorted(batch.offset for batch in future.get(0))
    assert setup.core.accumulator.available == 20_000


def test_columns_that_do_not_fit() -> None:
    setup = Setup()
    with pytest.raises(ValueError, match="keys has 1"):
        bulk(setup, [b"a", b"b"], [b"k"])
    with pytest.raises(ValueError, match="key or value"):
        bulk(setup, [b"a", None])
    with pytest.raises(ValueError, match="Unrecognized partition"):
        bulk(setup, [b"a"], partition=3)
    with pytest.raises(ValueError, match="negative"):
        bulk(setup, [b"a"], timestamps=[-1])
    assert bulk(setup, []).get(0) == []


def test_the_first_error_is_the_error_of_all() -> None:
    from kafkapy.errors import TopicAuthorizationFailedError

    setup = Setup([0, 0])
    setup.fault = lambda partition, _: Errors.TOPIC_AUTHORIZATION_FAILED if partition.partition else None
    future = bulk(setup, [b"a", b"b"], partitions=[0, 1])
    done: list[object] = []
    future.add_errback(done.append)
    setup.flush()
    with pytest.raises(TopicAuthorizationFailedError):
        future.get(0)
    assert [batch.partition for batch in future.batches] == [0]
    assert len(done) == 1


def test_arrow_columns() -> None:
    table = pa.table(
        {
            "value": pa.array(["a", None, "c"]),
            "key": pa.array([b"1", b"2", None], pa.binary()),
            "timestamp": pa.array([1, 2, 3], pa.timestamp("s")),
            "partition": pa.array([1, 0, 1], pa.int32()),
            "headers": pa.array(
                [[{"key": "h", "value": b"1"}], None, []],
                pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
            ),
        }
    )
    setup = Setup([0, 0])
    arrow(setup, table)
    setup.flush()
    assert (setup.log(0).values, setup.log(1).values) == ([None], [b"a", b"c"])
    assert setup.log(1).keys == [b"1", None]
    with pytest.raises(ValueError, match="columns"):
        arrow(setup, pa.table({"other": [1]}))


@pytest.mark.parametrize("text", [pa.string(), pa.string_view(), pa.binary()])
def test_arrow_columns_that_are_encoded_otherwise(text: pa.DataType) -> None:
    words = pa.array(["a", "b", None, "a"], text)
    encoded = words if text == pa.string_view() else words.dictionary_encode()
    partitions = pa.array([1, 0, 1, 1]).dictionary_encode()
    setup = Setup([0, 0])
    arrow(setup, pa.table({"value": encoded, "partition": partitions}))
    setup.flush()
    assert (setup.log(0).values, setup.log(1).values) == ([b"b"], [b"a", None, b"a"])


@pytest.mark.parametrize("keys", [[b"k%d" % (i % 50) for i in range(3000)], [None, b"a", b"bb"] * 1000])
def test_columns_go_where_objects_go(keys: list[bytes | None]) -> None:
    values = [b"%d" % i * (i % 40) for i in range(3000)]
    setup, one_by_one = Setup([0] * 3), Setup([0] * 3)
    assert arrow(setup, pa.table({"value": pa.array(values), "key": pa.array(keys)})) == [ArrowSend]
    for value, key in zip(values, keys, strict=True):
        one_by_one.send(value, key)
    for own in (setup, one_by_one):
        own.flush()
    for partition in range(3):
        pairs = [
            [pair for pair in zip(own.log(partition).keys, own.log(partition).values, strict=True) if pair[0]]
            for own in (setup, one_by_one)
        ]
        assert pairs[0] == pairs[1]
    assert sum(len(setup.log(partition).values) for partition in range(3)) == 3000


def test_columns_in_little_memory() -> None:
    setup = Setup(buffer_memory=20_000, batch_size=5_000)
    values = [b"%05d" % i + bytes(95) for i in range(3000)]
    assert arrow(setup, pa.table({"value": values})) == [ArrowSend]
    setup.flush()
    assert setup.log().values == values
    assert setup.core.accumulator.available == 20_000


def test_columns_of_a_batch_that_is_split() -> None:
    setup = Setup(compression_type="gzip")
    setup.fault = lambda _, batch: Errors.MESSAGE_TOO_LARGE if batch.record_count > 30 else None
    values, keys = [b"%d" % i for i in range(100)], [b"k%d" % i for i in range(100)]
    view = setup.core.topic_view("t")
    assert view is not None
    (sending,) = sends_of_arrow(setup.intake, view, "t", pa.table({"value": values, "key": keys}))
    sending.append()
    setup.flush()
    assert (setup.log().values, setup.log().keys) == (values, keys)
    written = sending.future().get(0)
    assert len(written) > 3
    assert [batch.offset for batch in written] == [0, *accumulate(batch.record_count for batch in written[:-1])]


def test_what_is_known_of_a_record_of_columns() -> None:
    setup = Setup()
    view = setup.core.topic_view("t")
    assert view is not None
    table = pa.table({"value": pa.array([b"a", None]), "key": pa.array([None, b"kk"]), "timestamp": [5, 7]})
    (sending,) = sends_of_arrow(setup.intake, view, "t", table)
    sending.append()
    setup.flush()
    (batch,) = sending.batches
    second = batch.metadata_of(1)
    assert second is not None
    assert (second.offset, second.timestamp) == (1, 7)
    assert (second.serialized_value_size, second.serialized_key_size) == (-1, 2)


def test_columns_for_brokers_of_old() -> None:
    setup = Setup()
    view = setup.core.topic_view("t")
    assert view is not None
    (sending,) = sends_of_arrow(setup.intake, view, "t", pa.table({"value": [b"a", b"b"], "timestamp": [5, 7]}))
    sending.append()
    old = LegacyRecordBatch(sending.batches[0].records(1, CompressionType.NONE, None))
    assert [(record.value, record.timestamp) for record in old.records()] == [(b"a", 5)]


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"partition": [0, 3]}, "Unrecognized partition 3"),
        ({"timestamp": [5, -1]}, "negative"),
        ({"value": [b"a", bytes(2 << 20)]}, "larger than the maximum request size"),
    ],
)
def test_columns_with_what_cannot_be_sent(columns: dict[str, list[Any]], sentence: str) -> None:
    with pytest.raises((ValueError, MessageSizeTooLargeError), match=sentence):
        arrow(Setup(), pa.table({"value": [b"a", b"b"]} | columns))


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        ({"value_serializer": lambda data: data.upper()}, {"value": [b"a"]}),
        ({"partitioner": Last()}, {"value": [b"a"]}),
        ({}, {"value": [b"a"], "headers": [[{"key": "h", "value": b"1"}]]}),
    ],
)
def test_columns_that_need_objects(options: dict[str, Any], columns: dict[str, list[Any]]) -> None:
    assert arrow(Setup([0, 0], **options), pa.table(columns)) == [BulkSend]


def test_a_table_that_a_consumer_read_is_sent_as_it_is() -> None:
    row = {"key": None, "value": None, "topic": "other", "partition": 1, "offset": 7}
    rows = [row | {"timestamp": 5, "timestampType": 0, "headers": [{"key": "h", "value": b"1"}]}]
    rows.append(row | {"value": b"v", "timestamp": 6, "timestampType": 0, "headers": None})
    setup = Setup([0, 0])
    arrow(setup, pa.Table.from_pylist(rows, record_schema()))
    setup.flush()
    assert (setup.log(1).values, setup.log(1).keys) == ([None, b"v"], [None, None])


def test_idempotence_gives_way_to_what_the_user_asked_for() -> None:
    assert ProducerConfig.from_options({}).enable_idempotence
    for options in (
        {"acks": 1},
        {"retries": 0},
        {"max_in_flight_requests_per_connection": 6},
        {"api_version": (0, 10)},
    ):
        assert not ProducerConfig.from_options(options).enable_idempotence
        with pytest.raises(KafkaConfigurationError, match=next(iter(options))):
            ProducerConfig.from_options({"enable_idempotence": True, **options})
        with pytest.raises(KafkaConfigurationError):
            ProducerConfig.from_options({"transactional_id": "x", **options})


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"unknown": 1}, ValueError),
        ({"compression_type": "brotli"}, ValueError),
        ({"acks": 2}, KafkaConfigurationError),
        ({"linger_ms": -1}, KafkaConfigurationError),
        ({"proxy_url": "socks5://x"}, KafkaConfigurationError),
        ({"transactional_id": "x", "enable_idempotence": False}, KafkaConfigurationError),
    ],
)
def test_bad_options(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        ProducerConfig.from_options(options)
