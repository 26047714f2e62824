from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kafkapy.consumer.arrow import record_schema
from kafkapy.errors import KafkaConfigurationError
from kafkapy.partitioner import Partitioner
from kafkapy.partitioner.abc import Cluster
from kafkapy.producer.bulk import BulkSend, columns_of_arrow
from kafkapy.producer.config import ProducerConfig
from kafkapy.producer.future import FutureBatchMetadata
from kafkapy.producer.intake import check_headers
from tests.producer.producer_setup import Setup


def bulk(setup: Setup, *args: Any, **kwargs: Any) -> FutureBatchMetadata:
    view = setup.core.topic_view("t")
    assert view is not None
    sending = BulkSend(setup.intake, view, "t", *args, **kwargs)
    while not sending.append():
        setup.driver.advance(1)
    return sending.future()


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
    from kafkapy.protocol.errors import Errors

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
    for columns in columns_of_arrow(table, None):
        bulk(setup, **columns)
    setup.flush()
    assert (setup.log(0).values, setup.log(1).values) == ([None], [b"a", b"c"])
    assert setup.log(1).keys == [b"1", None]
    with pytest.raises(ValueError, match="columns"):
        list(columns_of_arrow(pa.table({"other": [1]}), None))


@pytest.mark.parametrize("text", [pa.string(), pa.string_view(), pa.binary()])
def test_arrow_columns_that_are_encoded_otherwise(text: pa.DataType) -> None:
    words = pa.array(["a", "b", None, "a"], text)
    encoded = words if text == pa.string_view() else words.dictionary_encode()
    partitions = pa.array([1, 0, 1, 1]).dictionary_encode()
    setup = Setup([0, 0])
    for columns in columns_of_arrow(pa.table({"value": encoded, "partition": partitions}), None):
        bulk(setup, **columns)
    setup.flush()
    assert (setup.log(0).values, setup.log(1).values) == ([b"b"], [b"a", None, b"a"])


def test_a_table_that_a_consumer_read_is_sent_as_it_is() -> None:
    row = {"key": None, "value": None, "topic": "other", "partition": 1, "offset": 7}
    rows = [row | {"timestamp": 5, "timestampType": 0, "headers": [{"key": "h", "value": b"1"}]}]
    rows.append(row | {"value": b"v", "timestamp": 6, "timestampType": 0, "headers": None})
    setup = Setup([0, 0])
    for columns in columns_of_arrow(pa.Table.from_pylist(rows, record_schema()), None):
        bulk(setup, **columns)
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
