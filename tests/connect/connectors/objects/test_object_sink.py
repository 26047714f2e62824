"""Sinks to object stores: names, ends of files, what is committed, and what a second attempt makes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.connect.connectors.objects.object_sink import ObjectSinkConnector, S3SinkConnector
from kafkapy.connect.connectors.objects.stores import ObjectStore
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.schema import INT32_SCHEMA, OPTIONAL_STRING_SCHEMA, STRING_SCHEMA, Schema, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import ConnectException, DataException, RetriableException
from kafkapy.connect.plugins import Plugins, class_name_of
from tests.connect.connectors.objects.sink_harness import SinkHarness, record

HOUR = 3_600_000
BY_HOUR = {
    "partitioner.class": "io.confluent.connect.storage.partitioner.HourlyPartitioner",
    "timestamp.extractor": "Record",
    "timezone": "UTC",
}


def test_a_file_ends_at_flush_size_and_only_then_offsets_are_committed(tmp_path: Path) -> None:
    sink = SinkHarness(tmp_path)
    sink.put(record(0, {"a": 1}), record(1, {"a": 2}))
    assert (sink.files(), sink.committed(2)) == ({}, None)
    sink.put(record(2, {"a": 3}), record(3, {"a": 4}))
    assert sink.files() == {"t/partition=0/t+0+0000000000.json": '{"a":1}\n{"a":2}\n{"a":3}\n'}
    assert sink.committed(4) == 3
    sink.put(record(4, 1), record(5, 1))
    assert sink.committed(9) == 9  # all is uploaded: also offsets without a record


def test_a_second_attempt_makes_the_same_objects(tmp_path: Path) -> None:
    records = [record(i, {"n": i}, timestamp=i * HOUR // 2) for i in range(7)]
    first = SinkHarness(tmp_path, {**BY_HOUR, "flush.size": "5"})
    first.put(*records[:6])
    first.task.close([TopicPartition("t", 0)])
    once = first.files()
    again = SinkHarness(tmp_path, {**BY_HOUR, "flush.size": "5"})
    again.put(*records[:4])
    again.put(*records[4:])
    assert again.files() == once
    assert len(once) == 3
    assert once["t/year=1970/month=01/day=01/hour=01/t+0+0000000002.json"] == '{"n":2}\n{"n":3}\n'


def test_a_failed_upload_is_repeated_without_repeating_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = SinkHarness(tmp_path)
    upload = ObjectStore.upload
    failures = iter([True, True])

    def fail(store: ObjectStore, path: str, name: str) -> None:
        if next(failures, False):
            raise RetriableException("no network")
        upload(store, path, name)

    monkeypatch.setattr(ObjectStore, "upload", fail)
    batch = [record(i, i) for i in range(5)]
    for _ in range(2):
        with pytest.raises(RetriableException):
            sink.put(*batch)
        assert sink.committed(0) is None
    sink.put(*batch)
    sink.put(record(5, 5))
    assert sink.files() == {
        "t/partition=0/t+0+0000000000.json": "0\n1\n2\n",
        "t/partition=0/t+0+0000000003.json": "3\n4\n5\n",
    }
    assert sink.timeouts[:2] == [5000, 5000]


def test_what_cannot_succeed_fails_the_task(tmp_path: Path) -> None:
    sink = SinkHarness(tmp_path)
    (tmp_path / "topics").write_text("no folder")
    with pytest.raises(ConnectException, match="cannot be uploaded") as raised:
        sink.put(*(record(i, i) for i in range(3)))
    assert not isinstance(raised.value, RetriableException)


def test_when_the_consumer_goes_back_records_come_once(tmp_path: Path) -> None:
    sink = SinkHarness(tmp_path)
    sink.put(record(0, 0), record(1, 1))
    sink.put(record(0, 0), record(1, 1), record(2, 2))
    assert sink.files() == {"t/partition=0/t+0+0000000000.json": "0\n1\n2\n"}


def test_records_far_apart_in_time_are_in_different_files(tmp_path: Path) -> None:
    sink = SinkHarness(tmp_path, {"flush.size": "99", "rotate.interval.ms": "1000", "timestamp.extractor": "Record"})
    sink.put(record(0, 0, timestamp=0), record(1, 1, timestamp=999), record(2, 2, timestamp=1000))
    assert sink.files() == {"t/partition=0/t+0+0000000000.json": "0\n1\n"}
    assert sink.committed(3) == 2


def test_late_records_at_the_edge_of_an_hour_make_no_small_files(tmp_path: Path) -> None:
    sink = SinkHarness(tmp_path, {**BY_HOUR, "flush.size": "100", "rotate.interval.ms": str(HOUR)})
    sink.put(*(record(i, i, timestamp=HOUR - 1 + i % 2) for i in range(100)))
    assert sorted(text.count("\n") for text in sink.files().values()) == [50, 50]


def test_open_files_are_bounded(tmp_path: Path) -> None:
    by_field = {"partitioner.class": "Field", "partition.field.name": "k", "max.open.files.per.partition": "2"}
    sink = SinkHarness(tmp_path, {**by_field, "flush.size": "99"})
    sink.put(*(record(i, {"k": f"a/{i}"}) for i in range(5)))
    assert list(sink.files()) == [f"t/k=a%2F{i}/t+0+000000000{i}.json" for i in range(4)]
    assert sink.committed(5) == 4


def test_a_quiet_partition_is_uploaded_and_a_second_attempt_ends_files_there(tmp_path: Path) -> None:
    configs = {"flush.size": "4", "rotate.idle.interval.ms": "5000"}
    sink = SinkHarness(tmp_path, configs)
    sink.put(record(0, 0), record(1, 1))
    assert sink.timeouts[-1] == 5000
    sink.now_ms = 5000
    sink.put()
    assert (list(sink.files()), sink.committed(2)) == (["t/partition=0/t+0+0000000000.json"], 2)
    sink.put(record(2, 2))
    sink.now_ms = 10_000
    sink.put()
    once = sink.files()
    again = SinkHarness(tmp_path, configs)  # neither offset was committed
    again.put(*(record(i, i) for i in range(7)))
    assert again.files() == {**once, "t/partition=0/t+0+0000000003.json": "3\n4\n5\n6\n"}


def test_a_schedule_ends_files_by_the_clock(tmp_path: Path) -> None:
    sink = SinkHarness(tmp_path, {"flush.size": "9", "rotate.schedule.interval.ms": "60000", "timezone": "UTC"})
    sink.now_ms = 90_000
    sink.put(record(0, 0))
    sink.now_ms = 119_999
    sink.put()
    assert sink.files() == {}
    sink.now_ms = 120_000
    sink.put()
    assert len(sink.files()) == 1


VERSION_1 = SchemaBuilder(Type.STRUCT).name("Row").version(1).field("a", INT32_SCHEMA).build()
VERSION_2 = (
    SchemaBuilder(Type.STRUCT)
    .name("Row")
    .version(2)
    .field("a", INT32_SCHEMA)
    .field("b", OPTIONAL_STRING_SCHEMA)
    .build()
)


def rows(*schemas: Schema) -> list[Any]:
    return [record(i, Struct(schema, {"a": i}), schema) for i, schema in enumerate(schemas)]


@pytest.mark.parametrize(
    ("rule", "files"),
    [
        ("NONE", ['{"a":0}\n', '{"a":1,"b":null}\n', '{"a":2}\n']),
        ("BACKWARD", ['{"a":0}\n', '{"a":1,"b":null}\n{"a":2,"b":null}\n']),
        ("FORWARD", ['{"a":0}\n{"a":1}\n{"a":2}\n']),
    ],
)
def test_schemas_end_files_or_are_projected(tmp_path: Path, rule: str, files: list[str]) -> None:
    sink = SinkHarness(tmp_path, {"schema.compatibility": rule, "rotate.idle.interval.ms": "1"})
    sink.put(*rows(VERSION_1, VERSION_2, VERSION_1))
    sink.now_ms = 1
    sink.put()
    assert list(sink.files().values()) == files


def test_tombstones_fail_or_are_skipped_or_stored_by_their_keys(tmp_path: Path) -> None:
    with pytest.raises(DataException, match="to ignore or write"):
        SinkHarness(tmp_path / "1").put(record(0))
    ignoring = SinkHarness(tmp_path / "2", {"behavior.on.null.values": "ignore"})
    ignoring.put(record(0))
    assert ignoring.committed(1) == 1
    configs = {"behavior.on.null.values": "write", "store.kafka.keys": "true", "keys.format.class": "Json"}
    with pytest.raises(ConfigException, match="are stored by their keys"):
        SinkHarness(tmp_path / "3", {"behavior.on.null.values": "write"})
    writing = SinkHarness(tmp_path / "3", configs)
    writing.put(record(0, key="a"), record(1, 5, key="b"), record(2, 6))
    assert writing.files() == {
        "t/partition=0/t+0+0000000001.json": "5\n6\n",
        "t/partition=0/t+0+0000000001.keys.json": '"b"\nnull\n',
        "t/tombstone/t+0+0000000000.keys.json": '"a"\n',
    }


def test_records_that_cannot_be_written_are_reported_and_the_others_written(tmp_path: Path) -> None:
    sink = SinkHarness(tmp_path, {"partitioner.class": "Field", "partition.field.name": "k"}, reports=True)
    sink.put(
        record(0, {"k": 1}), record(1, {"other": 1}), record(2, {"k": 1.5}), record(3, {"k": 1}), record(4, {"k": 1})
    )
    assert [each.kafka_offset for each, _ in sink.reported] == [1, 2]
    assert sink.files() == {"t/k=1/t+0+0000000000.json": '{"k":1}\n' * 3}


def test_topics_that_a_transform_joins_do_not_overwrite_each_other(tmp_path: Path) -> None:
    sink = SinkHarness(tmp_path, {"flush.size": "1"})
    for name in ("one", "two"):
        sink.put(record(0, name, STRING_SCHEMA, topic="all", original_topic=name))
    assert list(sink.files()) == ["all/partition=0/one+0+0000000000.json", "all/partition=0/two+0+0000000000.json"]


def test_headers_are_stored_beside_values(tmp_path: Path) -> None:
    sink = SinkHarness(tmp_path, {"flush.size": "1", "store.kafka.headers": "true", "headers.format.class": "Json"})
    with_header = record(0, 5)
    with_header.headers.add("h", 7)
    sink.put(with_header)
    text = sink.files()["t/partition=0/t+0+0000000000.headers.json"]
    assert json.loads(text) == {"headers": [{"key": "h", "value": "7"}]}


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ({"format.class": "org.example.Mine"}, "Expected one of Avro"),
        ({"partitioner.class": "org.example.Mine"}, "Expected Default"),
        ({"partitioner.class": "Field"}, "partition.field.name"),
        ({"partitioner.class": "TimeBased"}, "path.format"),
        ({"timestamp.extractor": "Mine"}, "Expected Wallclock"),
        ({"rotate.schedule.interval.ms": "5"}, "timezone"),
        ({**BY_HOUR, "timezone": "Nowhere/At"}, "time zone database"),
        ({"locale": "de"}, "Only English"),
        ({"flush.size": "0"}, "flush.size"),
    ],
)
def test_wrong_configs_are_refused_when_the_connector_starts(configs: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigException, match=message):
        ObjectSinkConnector().start({"store.url": "memory://x", "flush.size": "1", **configs})


def test_configs_without_effect_are_named(caplog: pytest.LogCaptureFixture) -> None:
    config = {"name": "a", "s3.bucket.name": "b", "flush.size": "1", "s3.wan.mode": "true", "errors.tolerance": "all"}
    S3SinkConnector().start(config)
    assert [each.getMessage() for each in caplog.records if "no effect" in each.message] == [
        "The config s3.wan.mode of connector a has no effect: it is not supported"
    ]


@pytest.mark.parametrize(
    "name",
    [
        "kafkapy.connect.ObjectSinkConnector",
        "io.confluent.connect.s3.S3SinkConnector",
        "io.confluent.connect.gcs.GcsSinkConnector",
        "io.confluent.connect.azure.blob.AzureBlobStorageSinkConnector",
        "io.confluent.connect.hdfs3.Hdfs3SinkConnector",
    ],
)
def test_java_names_find_connectors_and_tasks(name: str) -> None:
    plugins = Plugins()
    connector = plugins.new_connector(name)
    assert class_name_of(type(connector)) == name
    task = connector.task_class()
    assert plugins.find_class(class_name_of(task)) is task
